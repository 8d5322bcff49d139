import { clockSkew } from './clock-skew.ts';
import { frozenDatabase, halfOpen, slowDatabase } from './databases.ts';
import { diskFull } from './disk-full.ts';
import { noContextId, replicas } from './replicas.ts';

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

/** Every scenario by the name that `npm run faults -- --only` takes. None needs special rights. */
export const scenarios: Readonly<Record<string, Scenario>> = {
  replicas,
  'no-context-id': noContextId,
  'clock-skew': clockSkew,
  'frozen-database': frozenDatabase,
  'slow-database': slowDatabase,
  'half-open': halfOpen,
  'disk-full': diskFull,
};
