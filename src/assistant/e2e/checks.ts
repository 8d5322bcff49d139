import type { Position, Problem } from '../../config/index.ts';
import type { JsonObject, JsonValue } from '../../protocol/index.ts';
import type { TrackerEvent } from '../conversation.ts';
import type { Flow } from '../model.ts';
import { isEqual } from '../templates/value.ts';
import { objectOf } from '../tracker/events.ts';
import type { Judge } from './judge.ts';

interface Expected {
  readonly kind: 'bot' | 'slot' | 'action' | 'flow';
  readonly position: Position;
  readonly title: string;
  readonly uses?: readonly NameUse[];
  readonly matches: (event: TrackerEvent) => boolean;
}

/** Expects an event. */
export function happened(expected: Expected): Check {
  const { title, position, uses = [], matches } = expected;
  return {
    title,
    position,
    uses,
    judge: (turn, from) => {
      const at = turn.events.findIndex((event, index) => index >= from && matches(event));
      if (at >= 0) return { isTrue: true, at };
      const isOutOfOrder = turn.events.some(matches);
      return failed(isOutOfOrder ? `${title}, in this order` : title, expected.kind, turn);
    },
  };
}

/** Expects that an event is absent. */
export function didNotHappen(expected: Expected): Check {
  const { title, position, uses = [], matches } = expected;
  return {
    title,
    position,
    uses,
    judge: (turn) =>
      turn.events.some(matches) ? failed(title, expected.kind, turn) : { isTrue: true },
  };
}

/** Combines several checks: all must be true, or any. */
export function together(
  operator: 'all' | 'any',
  checks: readonly Check[],
  about: Pick<Check, 'title' | 'position'>,
): Check {
  return {
    ...about,
    uses: checks.flatMap((check) => check.uses),
    judge: async (turn, from) => {
      const verdicts = await Promise.all(checks.map(async (check) => check.judge(turn, from)));
      const isTrue =
        operator === 'all'
          ? verdicts.every((verdict) => verdict.isTrue)
          : verdicts.some((verdict) => verdict.isTrue);
      if (!isTrue) {
        const wrong = verdicts.find((verdict) => !verdict.isTrue);
        return wrong ?? { isTrue: false, expected: about.title, found: [] };
      }
      const at = verdicts.flatMap((verdict) => (verdict.isTrue ? [verdict.at ?? -1] : []));
      return { isTrue: true, at: Math.max(-1, ...at) };
    },
  };
}

/** Expects that a slot was set, or was not set: to a given value, or to any. */
export function slotCheck(
  kind: 'slot_was_set' | 'slot_was_not_set',
  { name, value, position }: NamedSlot,
  { mayBeEmpty = false }: { readonly mayBeEmpty?: boolean } = {},
): Check {
  // Without an expected value, any value matches. A cleared slot counts only as "was set", and only in
  // assertions.
  const anyOf = (actual: JsonValue | undefined): boolean =>
    actual !== null || (kind === 'slot_was_set' && mayBeEmpty);
  const shown = value === undefined ? '' : ` = ${JSON.stringify(value)}`;
  const make = kind === 'slot_was_set' ? happened : didNotHappen;
  return make({
    kind: 'slot',
    position,
    title: `${kind} ${name}${shown}`,
    uses: [
      { kind: 'slot', name, ...(kind === 'slot_was_set' && value !== undefined && { value }) },
    ],
    matches: (event) =>
      event.event === 'slot' &&
      event['name'] === name &&
      (value === undefined ? anyOf(event['value']) : isSameValue(event['value'], value)),
  });
}

export interface NamedSlot {
  readonly name: string;
  /** Undefined for any. */
  readonly value: JsonValue | undefined;
  readonly position: Position;
}

function failed(expected: string, kind: Expected['kind'], turn: TestTurn): Verdict {
  const lines = { bot: botLine, slot: slotLine, action: actionLine, flow: flowLine } as const;
  const isOfKind = ({ event }: TrackerEvent) => event === kind || event.startsWith(`${kind}_`);
  const found = turn.events.filter(isOfKind).map((event) => lines[kind](event));
  return { isTrue: false, expected, found };
}

/** A list of names as a title. */
export function listed(names: readonly JsonValue[]): string {
  return names.map(text).join(', ');
}

/** Events in the wording of tests, one line each. */

function flowLine(event: TrackerEvent): string {
  const { event: kind, flow_id: flow, step_id: step } = event as JsonObject;
  return step === undefined
    ? `${text(kind)} ${text(flow)}`
    : `${text(kind)} ${text(flow)} at ${text(step)}`;
}

function slotLine({ name, value }: TrackerEvent): string {
  return `${text(name)} = ${JSON.stringify(value)}`;
}

export function botLine(event: TrackerEvent): string {
  const name = utterOf(event);
  const titles = buttonsOf(event).map((button) => `[${text(button['title'])}]`);
  const said = [JSON.stringify(event['text'] ?? null), ...titles].join(' ');
  return name === undefined ? said : `${name}: ${said}`;
}

function actionLine({ name }: TrackerEvent): string {
  return text(name);
}

/** The name of the response, if the message is one. */
export function utterOf(event: TrackerEvent): string | undefined {
  const name = objectOf(event, 'metadata')['utter_action'];
  return typeof name === 'string' ? name : undefined;
}

export function buttonsOf(event: TrackerEvent): readonly JsonObject[] {
  const buttons = objectOf(event, 'data')['buttons'];
  return Array.isArray(buttons) ? (buttons as readonly JsonObject[]) : [];
}

export function text(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null);
}

/**
 * Whether a slot has the expected value. YAML can parse the value to another type, so simple values are
 * compared as text.
 */
function isSameValue(actual: JsonValue | undefined, expected: JsonValue): boolean {
  if (isPlain(actual) && isPlain(expected)) {
    if (typeof actual === typeof expected) return actual === expected;
    const plain = (value: string | number | boolean) => String(value).trim().toLowerCase();
    return actual !== null && expected !== null && plain(actual) === plain(expected);
  }
  return isEqual(actual, expected);
}

function isPlain(value: JsonValue | undefined): value is string | number | boolean | null {
  return typeof value !== 'object' || value === null;
}

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
  readonly steps: readonly UserStep[];
  /** Results of stubbed actions, keyed by action name. */
  readonly stubs: ReadonlyMap<string, JsonObject>;
  /** The judge of generated messages; undefined when no conftest.yml configures one. */
  readonly judge: JudgeName | undefined;
  /** Errors in the test itself: it fails without running. @default none */
  readonly errors?: readonly Problem[];
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
  /** The assertions must match events in their order. */
  readonly isOrdered: boolean;
  readonly checks: readonly Check[];
}

/** An expectation of a turn. */
export interface Check {
  /** `bot_uttered utter_balance` */
  readonly title: string;
  readonly position: Position;
  /** Names that must exist in the project. */
  readonly uses: readonly NameUse[];
  /** Looks at the events from index `from` on. */
  judge(turn: TestTurn, from: number): Verdict | Promise<Verdict>;
}

export interface NameUse {
  readonly kind: 'slot' | 'flow' | 'response' | 'action';
  readonly name: string;
  /** The value that the slot must have been set to, if the test names one. */
  readonly value?: JsonValue;
}

/** The events of one message, for checks. */
export interface TestTurn {
  readonly events: readonly TrackerEvent[];
  readonly flows: ReadonlyMap<string, Flow>;
  readonly judge: Judge | undefined;
}

/** `at`: the index of the event that matched, if there is one. */
export type Verdict =
  | { readonly isTrue: true; readonly at?: number }
  | { readonly isTrue: false; readonly expected: string; readonly found: readonly string[] };

export interface CheckFailure {
  /** The kind of expectation, such as `bot_uttered`; `error` for a turn that failed, or `invalid test`. */
  readonly kind: string;
  readonly check: Pick<Check, 'title' | 'position'>;
  readonly expected: string;
  /** The actual events, one line each. */
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
  /** The step that failed. */
  readonly failedAt: UserStep | undefined;
  /** The events of the whole conversation. */
  readonly events: readonly TrackerEvent[];
  readonly durationMs: number;
}
