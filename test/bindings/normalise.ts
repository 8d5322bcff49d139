/**
 * Makes values of different runs comparable: ids become their place in the order in which they first
 * appear, times become `time`, and what protobuf cannot tell from absence, an empty list, is left out.
 */
export function normalise(value: unknown): unknown {
  const names = new Map<string, string>();
  const nameOf = (id: string): string => {
    const known = names.get(id) ?? `id ${names.size + 1}`;
    names.set(id, known);
    return known;
  };
  const visit = (item: unknown): unknown => {
    if (typeof item === 'string') return isUuid.test(item) ? nameOf(item) : timeless(item);
    if (Array.isArray(item)) return item.map(visit);
    if (typeof item !== 'object' || item === null) return item;
    const entries = Object.entries(item)
      .filter(
        ([, member]) => member !== undefined && !(Array.isArray(member) && member.length === 0),
      )
      .toSorted(([one], [other]) => (one < other ? -1 : 1));
    return Object.fromEntries(entries.map(([name, member]) => [name, visit(member)]));
  };
  return visit(value);
}

const isUuid = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/;

function timeless(text: string): string {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text) ? 'time' : text;
}
