/** The index that a key selects in a list of `count` items; undefined for other keys. */
export function moved(
  key: string,
  selected: number,
  count: number,
  page: number,
): number | undefined {
  if (count === 0) return undefined;
  const within = (index: number): number => Math.min(Math.max(index, 0), count - 1);
  switch (key) {
    case 'ArrowDown':
      return within(selected + 1);
    case 'ArrowUp':
      return within(selected - 1);
    case 'PageDown':
      return within(selected + page);
    case 'PageUp':
      return within(selected - page);
    case 'Home':
      return 0;
    case 'End':
      return count - 1;
    default:
      return undefined;
  }
}
