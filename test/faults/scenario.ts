/** What a scenario did and found. */
export interface ScenarioResult {
  /** Faults that were injected, by kind. */
  readonly injected: Readonly<Record<string, number>>;
  /** What was checked, by kind: messages, streams, restarts. */
  readonly checked: Readonly<Record<string, number>>;
  /** One line for each promise that was broken; empty after a good run. */
  readonly violations: readonly string[];
}

export interface ScenarioOptions {
  /** Decides the faults, their order and their times. */
  readonly seed: number;
  /** How long faults are injected; starting, settling and checking come on top. */
  readonly milliseconds: number;
  /** Takes progress lines. */
  readonly report: (line: string) => void;
}

/** Injects one class of faults into real processes and checks what the product promises. */
export type Scenario = (options: ScenarioOptions) => Promise<ScenarioResult>;
