/** Something that must never be, and was. */
export interface Violation {
  /** The rule that was broken; the same for every way of breaking it. */
  readonly invariant: string;
  readonly detail: string;
  /** Milliseconds since the world began. */
  readonly at: number;
}

/** Says that a rule was broken. The first one counts, and ends the world. */
export type Report = (invariant: string, detail: string) => void;
