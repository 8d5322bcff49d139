/** What tells the series of one metric apart. Never a value that callers choose without bound. */
export type Labels = Readonly<Record<string, string>>;

/** Label sets that one metric may have; beyond them a series `other` takes the rest. */
const maxSeries = 1_000;
const others: Labels = { other: 'true' };

export interface Point<T> {
  readonly labels: Labels;
  value: T;
}

/** The values of one metric by their labels, bounded in number. */
export class Series<T> {
  readonly #points = new Map<string, Point<T>>();

  find(labels: Labels, initial: () => T): Point<T> {
    const key = keyOf(labels);
    const known = this.#points.get(key);
    if (known !== undefined) return known;
    if (this.#points.size >= maxSeries && labels !== others) return this.find(others, initial);
    const made: Point<T> = { labels, value: initial() };
    this.#points.set(key, made);
    return made;
  }

  get points(): readonly Readonly<Point<T>>[] {
    return [...this.#points.values()];
  }
}

function keyOf(labels: Labels): string {
  let key = '';
  for (const name in labels) key += `${name}\0${labels[name]}\0`;
  return key;
}
