import * as fc from 'fast-check';
import type { ActionRunner } from '../actions/runner.ts';
import type { Command } from '../conversation.ts';
import type { GeneratorInput } from '../commands/generator.ts';
import type { CallHandler } from '../executor/call-handler.ts';
import type { EventDraft } from '../tracker/events.ts';
import { project, type TestProject } from './project.ts';

/** Arbitrary flows, and arbitrary messages to an assistant with these flows. */

const slotNames = ['s0', 's1', 's2', 's3'];
const flowNames = ['f0', 'f1', 'f2', 'f3'];

const anySlot = fc.constantFrom(...slotNames);
const anyFlow = fc.constantFrom(...flowNames);

const collectStep = fc.record({
  collect: anySlot,
  ask_before_filling: fc.boolean(),
  force_slot_filling: fc.integer({ min: 0, max: 9 }).map((dice) => dice === 0),
});

const takingBack = ['action_back', 'action_rewind', 'action_undo'];

const plainStep = fc.oneof(
  { weight: 5, arbitrary: collectStep },
  { weight: 1, arbitrary: rejecting() },
  { weight: 2, arbitrary: fc.record({ action: fc.constantFrom('utter_hello', 'action_ok') }) },
  { weight: 1, arbitrary: fc.constant({ action: 'action_break' }) },
  { weight: 1, arbitrary: fc.record({ action: fc.constantFrom(...takingBack) }) },
  { weight: 1, arbitrary: anySlot.map((slot) => ({ set_slots: [{ [slot]: 8 }] })) },
  { weight: 1, arbitrary: fc.constantFrom('f2', 'f3').map((call) => ({ call })) },
  { weight: 1, arbitrary: fc.constantFrom('g0', 'g1').map((call) => ({ call })) },
  { weight: 1, arbitrary: anySlot.map(branching) },
);

function rejecting(): fc.Arbitrary<object> {
  return anySlot.map((slot) => ({
    collect: slot,
    rejections: [{ if: `slots.${slot} > 5`, utter: 'utter_no' }],
  }));
}

function branching(slot: string): object {
  return {
    noop: true,
    next: [
      // oxlint-disable-next-line unicorn/no-thenable -- a word of the flow language
      { if: `slots.${slot} > 3`, then: [{ action: 'utter_hello', next: 'END' }] },
      { else: [{ collect: slot, next: 'last' }] },
    ],
  };
}

const anySteps = fc.record({
  steps: fc.array(plainStep, { minLength: 1, maxLength: 5 }),
  link: fc.option(anyFlow, { nil: undefined, freq: 4 }),
  persists: fc.boolean(),
  completes: fc.boolean(),
});

type AnySteps = typeof anySteps extends fc.Arbitrary<infer Value> ? Value : never;

function flowOf({ steps, link, persists, completes }: AnySteps): object {
  const last =
    link === undefined
      ? { id: 'last', action: 'utter_bye' }
      : { id: 'last', noop: true, next: [{ link }] };
  const collected = steps.flatMap((step) => ('collect' in step ? [step.collect] : []));
  return {
    description: 'any flow',
    run_pattern_completed: completes,
    persisted_slots: persists ? collected.slice(0, 1) : [],
    steps: [...steps, last],
  };
}

const domainText = JSON.stringify({
  slots: {
    ...Object.fromEntries(slotNames.map((name) => [name, { type: 'float' }])),
    s3: {
      type: 'float',
      validation: { rejections: [{ if: 'slots.s3 > 7', utter: 'utter_no' }] },
    },
    set_by_action: { type: 'float', mappings: [{ type: 'controlled' }] },
  },
  actions: ['action_ok', 'action_break', 'action_rewind', 'action_undo'],
  responses: {
    ...Object.fromEntries(slotNames.map((name) => [`utter_ask_${name}`, [{ text: `${name}?` }]])),
    utter_hello: [{ text: 'hello' }],
    utter_bye: [{ text: 'bye' }],
    utter_no: [{ text: 'no' }],
  },
  session_config: { carry_over_slots_to_new_session: false },
});

export const anyProject: fc.Arbitrary<TestProject> = fc
  .tuple(...flowNames.map(() => anySteps))
  .map((flows) =>
    project({
      domain: domainText,
      flows: JSON.stringify({
        flows: Object.fromEntries(flows.map((steps, at) => [flowNames[at], flowOf(steps)])),
      }),
    }),
  );

const anyValue = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 9 }) },
  { weight: 1, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: fc.constant('nonsense') },
);

const patternSlots = ['continue_conversation', 'continue_interrupted_flow_confirmation'];

const anyCommand: fc.Arbitrary<Command> = fc.oneof(
  { weight: 8, arbitrary: setSlot(anySlot, anyValue) },
  { weight: 3, arbitrary: setSlot(fc.constantFrom(...patternSlots), fc.boolean()) },
  { weight: 1, arbitrary: setSlot(fc.constant('interrupted_flow_to_continue'), anyFlow) },
  { weight: 6, arbitrary: anyFlow.map((flow): Command => ({ command: 'start flow', flow })) },
  { weight: 1, arbitrary: fc.constant<Command>({ command: 'start flow', flow: 'unknown' }) },
  { weight: 2, arbitrary: fc.constant<Command>({ command: 'cancel flow' }) },
  {
    weight: 1,
    arbitrary: fc.array(anyFlow).map((options): Command => ({ command: 'clarify', options })),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom<Command>(
      { command: 'chitchat' },
      { command: 'knowledge answer' },
      { command: 'skip question' },
      { command: 'human handoff' },
      { command: 'repeat bot messages' },
      { command: 'continue agent' },
      { command: 'restart agent', agent: 'g0' },
      { command: 'cannot handle', reason: 'x' },
      { command: 'error', errorType: 'x', info: {} },
    ),
  },
);

function setSlot(
  name: fc.Arbitrary<string>,
  value: fc.Arbitrary<string | number | boolean | null>,
): fc.Arbitrary<Command> {
  return fc
    .tuple(name, value)
    .map(([slot, one]): Command => ({ command: 'set slot', name: slot, value: one, by: 'llm' }));
}

export interface AnyMessage {
  readonly text: string;
  readonly commands: readonly Command[];
  /** Whether the message also answers the open question, or starts a flow if there is none. */
  readonly answers: boolean;
  readonly flow: string;
  /** Slots that an orchestrator sends along. */
  readonly slots?: Readonly<Record<string, string | number | null>>;
}

const anySlots = fc.oneof(
  { weight: 3, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: fc.dictionary(anySlot, anyValue, { maxKeys: 2 }) },
);

const payloads = ['', '/restart', '/session_start', '/silence_timeout', '/session_end'];

const anyWords: fc.Arbitrary<Omit<AnyMessage, 'slots'>> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      text: fc.constant('answer'),
      commands: fc.constant([]),
      answers: fc.constant(true),
      flow: anyFlow,
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      text: fc.constant('something'),
      commands: fc.array(anyCommand, { minLength: 1, maxLength: 3 }),
      answers: fc.boolean(),
      flow: anyFlow,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      text: fc.constantFrom(...payloads, '/SetSlots(s0=3)'),
      commands: fc.constant([]),
      answers: fc.constant(false),
      flow: anyFlow,
    }),
  },
);

export const anyMessage: fc.Arbitrary<AnyMessage> = fc
  .tuple(anyWords, anySlots)
  .map(([words, slots]) => (slots === undefined ? words : { ...words, slots }));

/** Reads an arbitrary message: its commands, and an answer to the open question. */
export function readAnyMessage(
  { commands, answers, flow }: AnyMessage,
  { activeCollect }: GeneratorInput,
): readonly Command[] {
  if (!answers) return commands;
  if (activeCollect === undefined) return [...commands, { command: 'start flow', flow }];
  const { name, type } = activeCollect.slot;
  const value = type === 'bool' ? true : 4;
  return [...commands, { command: 'set slot', name, value, by: 'llm' }];
}

export const anyActions: ActionRunner = {
  has: () => true,
  run: ({ name }) => {
    if (name === 'action_break') return Promise.reject(new Error('broken'));
    const slot = { event: 'slot', name: 'set_by_action', value: 1 };
    const events: EventDraft[] = [slot];
    if (name === 'action_rewind') events.push({ event: 'rewind' });
    if (name === 'action_undo') events.push({ event: 'undo' });
    return Promise.resolve({ messages: [{ text: 'ok' }], events });
  },
};

/** Agents g0 and g1, which ask, complete or fail in a fixed rotation. */
export function anyAgents(): CallHandler {
  let count = 0;
  return {
    kind: 'agent',
    handles: ({ target }) => target === 'g0' || target === 'g1',
    run: () => {
      count += 1;
      if (count % 7 === 0) return Promise.resolve({ status: 'failed', reason: 'out of order' });
      return Promise.resolve({
        status: count % 3 === 0 ? 'completed' : 'input-required',
        messages: [{ text: `agent ${count}` }],
        events: [],
        metadata: { count },
      });
    },
  };
}
