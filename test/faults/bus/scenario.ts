/** The shape of a fault scenario: see `test/faults`. */
export interface ScenarioResult {
  readonly injected: Readonly<Record<string, number>>;
  readonly checked: Readonly<Record<string, number>>;
  readonly violations: readonly string[];
}

export interface ScenarioOptions {
  readonly seed: number;
  readonly milliseconds: number;
  readonly report: (line: string) => void;
}

/** Counts by kind. */
export class Counts {
  readonly values: Record<string, number> = {};

  add(kind: string, by = 1): void {
    this.values[kind] = (this.values[kind] ?? 0) + by;
  }

  get total(): number {
    return Object.values(this.values).reduce((sum, count) => sum + count, 0);
  }
}
