import type { Position } from '../../config/index.ts';
import type { JsonObject, JsonValue } from '../../protocol/index.ts';
import type { TrackerEvent } from '../conversation.ts';
import type { Flow } from '../model.ts';
import type { Judge } from './judge.ts';

/**
 * An end-to-end test: a conversation with expectations.
 * @example
 * const { cases } = await findTests('tests', '.', process.env);
 * const quick = cases.filter((test: TestCase) => test.judge === undefined); // no model judges
 */
export interface TestCase {
  readonly name: string;
  readonly position: Position;
  /** Slots that are set before the first message. */
  readonly slots: Readonly<Record<string, JsonValue>>;
  /** The assertions of a step must come true in their order. */
  readonly isOrdered: boolean;
  readonly steps: readonly UserStep[];
  /** What actions answer instead of running, by name. */
  readonly stubs: ReadonlyMap<string, JsonObject>;
  /** The judge of generated messages; undefined when no conftest.yml configures one. */
  readonly judge: JudgeName | undefined;
}

/** The model group of a judge, and where it is named. */
export interface JudgeName {
  readonly modelGroup: string;
  readonly position: Position;
}

/** A message, and the expectations of its turn. */
export interface UserStep {
  readonly text: string;
  readonly position: Position;
  readonly metadata: JsonObject;
  readonly checks: readonly Check[];
}

/** An expectation of a turn. */
export interface Check {
  /** `bot_uttered utter_balance` */
  readonly title: string;
  readonly position: Position;
  /** What it speaks of, to be found in the project. */
  readonly uses: readonly NameUse[];
  /** Looks at the events from index `from` on. */
  judge(turn: TestTurn, from: number): Verdict | Promise<Verdict>;
}

export interface NameUse {
  readonly kind: 'slot' | 'flow' | 'response' | 'action';
  readonly name: string;
}

/** The result of one message. */
export interface TestTurn {
  readonly events: readonly TrackerEvent[];
  readonly flows: ReadonlyMap<string, Flow>;
  readonly judge: Judge | undefined;
}

/** `at`: the event that made it true, where it was one. */
export type Verdict =
  | { readonly isTrue: true; readonly at?: number }
  | { readonly isTrue: false; readonly expected: string; readonly found: readonly string[] };

export interface CheckFailure {
  readonly check: Pick<Check, 'title' | 'position'>;
  readonly expected: string;
  /** What there was instead, one thing a line. */
  readonly found: readonly string[];
}

/**
 * The result of one test.
 * @example
 * const onResult = ({ test, failures }: CaseResult) =>
 *   console.log(failures.length === 0 ? 'passed' : 'failed', test.name);
 */
export interface CaseResult {
  readonly test: TestCase;
  /** Empty when the test passed. */
  readonly failures: readonly CheckFailure[];
  /** The step at which it ended, when it failed. */
  readonly failedAt: UserStep | undefined;
  readonly durationMs: number;
}
