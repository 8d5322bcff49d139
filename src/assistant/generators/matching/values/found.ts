import { overlaps, type Span } from '../../words/index.ts';

/** A value and where it stands in the message. */
export interface Found<T> extends Span {
  readonly value: T;
}

/** Those that share no character with what is taken already. */
export function free<T>(found: readonly Found<T>[], taken: readonly Span[]): Found<T>[] {
  return found.filter((one) => !taken.some((span) => overlaps(one, span)));
}
