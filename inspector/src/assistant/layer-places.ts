import type { Layered } from './layers.ts';

/** The last rounds go down only, so that a step stands right below the one that leads to it. */
const rounds = 16;
const lastRounds = 2;
/** A bend gives way to steps. */
const bendWeight = 0.05;

/** The middle of each step from left to right: near those it is tied to, without touching neighbours. */
export function placesIn(
  { layers, pieces, isBend }: Pick<Layered, 'layers' | 'pieces' | 'isBend'>,
  widthOf: (id: string) => number,
  gap: number,
): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  const weightOf = (id: string): number => (isBend(id) ? bendWeight : 1);
  for (const layer of layers) {
    settle(
      layer.map((id) => ({ id, wanted: 0, weight: 1 })),
      places,
      widthOf,
      gap,
    );
  }
  for (let round = 0; round < rounds; round += 1) {
    const isDown = round % 2 === 0 || round >= rounds - lastRounds;
    for (const layer of isDown ? layers : layers.toReversed()) {
      const wishes = layer.map((id) => {
        const tied = pieces.filter(({ from, to }) => (isDown ? to : from) === id);
        const weights = tied.map(({ from, to }) => weightOf(isDown ? from : to));
        const total = weights.reduce((sum, weight) => sum + weight, 0);
        const sum = tied.reduce(
          (whole, { from, to }, index) =>
            whole + (places.get(isDown ? from : to) ?? 0) * (weights[index] ?? 0),
          0,
        );
        const wanted = total === 0 ? (places.get(id) ?? 0) : sum / total;
        return { id, wanted, weight: weightOf(id) };
      });
      settle(wishes, places, widthOf, gap);
    }
  }
  const left = Math.min(...Array.from(places, ([id, place]) => place - widthOf(id) / 2));
  for (const [id, place] of places) places.set(id, place - left);
  return places;
}

interface Wish {
  readonly id: string;
  readonly wanted: number;
  readonly weight: number;
}

/**
 * Gives each its place as near to its wish as the distances allow, by least squares: neighbours that
 * would touch are joined to a group, which stands at the mean of its wishes.
 */
function settle(
  wishes: readonly Wish[],
  places: Map<string, number>,
  widthOf: (id: string) => number,
  gap: number,
): void {
  const groups: { mean: number; weight: number; members: { id: string; offset: number }[] }[] = [];
  let offset = 0;
  for (const [index, { id, wanted, weight }] of wishes.entries()) {
    const before = wishes[index - 1];
    if (before !== undefined) offset += (widthOf(before.id) + widthOf(id)) / 2 + gap;
    groups.push({ mean: wanted - offset, weight, members: [{ id, offset }] });
    for (;;) {
      const last = groups.at(-1);
      const previous = groups.at(-2);
      if (last === undefined || previous === undefined || previous.mean <= last.mean) break;
      groups.pop();
      const total = previous.weight + last.weight;
      previous.mean = (previous.mean * previous.weight + last.mean * last.weight) / total;
      previous.weight = total;
      previous.members.push(...last.members);
    }
  }
  for (const { mean, members } of groups) {
    for (const member of members) places.set(member.id, mean + member.offset);
  }
}
