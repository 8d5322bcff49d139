import type { JsonObject, JsonValue } from '../../../protocol/index.ts';
import type { GeneratorInput } from '../../commands/generator.ts';
import type { StackFrame } from '../../conversation.ts';
import { builtinSlots } from '../../domain/slot.ts';
import type { CollectStep, Domain, Flow, Slot, Step } from '../../model.ts';

/** A bank project with all kinds of slots and flows, for the tests of generators. */

const position = { file: 'bank.yml', line: 1, column: 1 };

export function slot(name: string, type: Slot['type'] = 'text', fields: Partial<Slot> = {}): Slot {
  return {
    name,
    type,
    initialValue: null,
    mappings: [{ type: 'from_llm', allow_nlu_correction: false }],
    builtin: false,
    ...fields,
  };
}

type Question = string | (Partial<CollectStep> & { readonly slot: string });

export function flow(
  id: string,
  description: string,
  questions: readonly Question[] = [],
  fields: Partial<Flow> & { readonly calls?: readonly string[] } = {},
): Flow {
  const steps = new Map<string, Step>();
  for (const question of questions) {
    const given = typeof question === 'string' ? { slot: question } : question;
    const stepId = `${steps.size}_collect_${given.slot}`;
    steps.set(stepId, {
      kind: 'collect',
      id: stepId,
      utter: `utter_ask_${given.slot}`,
      askBeforeFilling: false,
      rejections: [],
      resetAfterFlowEnds: true,
      forceSlotFilling: false,
      next: { branches: [] },
      position,
      ...given,
    });
  }
  for (const target of fields.calls ?? []) {
    const stepId = `${steps.size}_call_${target}`;
    steps.set(stepId, { kind: 'call', id: stepId, target, next: { branches: [] }, position });
  }
  return {
    id,
    name: id.replaceAll('_', ' '),
    description,
    nluTrigger: [],
    alwaysIncludeInPrompt: false,
    runPatternCompleted: true,
    persistedSlots: [],
    steps,
    first: [...steps.keys()][0] ?? 'END',
    examples: [],
    isPattern: id.startsWith('pattern_'),
    position,
    ...fields,
  };
}

const accounts = ['checking', 'savings'];

const slots: readonly Slot[] = [
  slot('recipient'),
  slot('amount', 'float'),
  slot('confirm', 'bool'),
  slot('account_type', 'categorical', { values: accounts }),
  slot('from_account', 'categorical', { values: accounts }),
  slot('to_account', 'categorical', { values: accounts }),
  slot('card_type', 'categorical', { values: ['credit', 'debit', 'virtual card'] }),
  slot('appointment_date'),
  slot('appointment_time'),
  slot('topic'),
  slot('contact_name'),
  slot('feedback'),
  slot('email'),
  slot('phone_number'),
  slot('iban'),
  slot('destination'),
  slot('departure_date'),
  slot('num_adults', 'float'),
  slot('num_children', 'float'),
  slot('order_id', 'text', {
    validation: {
      rejections: [{ if: 'not slots.order_id matches "^[A-Z]{2}-\\d{4}$"', utter: 'utter_bad' }],
      refillUtter: 'utter_ask_order_id',
    },
  }),
  slot('tier', 'text', { mappings: [{ type: 'controlled' }] }),
];

const bankFlows: readonly Flow[] = [
  flow(
    'transfer_money',
    'Send money to friends and family.',
    [
      { slot: 'recipient', description: 'the person to send money to' },
      { slot: 'amount', description: 'how much money to send' },
      'confirm',
    ],
    { examples: ['wire some cash', 'I need to pay someone'] },
  ),
  flow('check_balance', 'Check the balance of an account.', ['account_type'], {
    examples: ['how much money do I have'],
  }),
  flow('move_money', 'Shift funds between own accounts.', ['from_account', 'to_account', 'amount']),
  flow('freeze_card', 'Block or freeze a card.', ['card_type']),
  flow('replace_card', 'Get a replacement for a broken card.', ['card_type']),
  flow('book_appointment', 'Book an appointment with an advisor.', [
    'appointment_date',
    'appointment_time',
    { slot: 'topic', description: 'what it is about' },
  ]),
  flow('add_contact', 'Add a contact to the list.', ['contact_name', 'phone_number', 'email']),
  flow('remove_contact', 'Remove a contact from the list.', ['contact_name']),
  flow('list_contacts', 'Show the list of contacts.'),
  flow('give_feedback', 'Leave feedback about the service.', ['feedback']),
  flow('plan_trip', 'Plan a holiday trip.', [
    'destination',
    'departure_date',
    'num_adults',
    'num_children',
  ]),
  flow('track_order', 'Find out where an order is.', ['order_id']),
  flow('close_account', 'Close a bank account for good.', [], { if: 'slots.tier = "gold"' }),
  flow('authenticate', 'Check who the user is.', ['iban'], { if: 'False' }),
  flow('pattern_completed', '', ['continue_conversation']),
  flow('pattern_continue_interrupted', '', [
    'continue_interrupted_flow_confirmation',
    'interrupted_flow_to_continue',
  ]),
  flow('pattern_customer_satisfaction', '', ['csat_score']),
  flow('pattern_correction', '', ['confirm_correction']),
];

export const bank: ReadonlyMap<string, Flow> = new Map(bankFlows.map((one) => [one.id, one]));

export const bankDomain: Domain = {
  slots: new Map([...builtinSlots, ...slots.map((one) => [one.name, one] as const)]),
  responses: new Map(),
  actions: new Map(),
  intents: [],
  entities: [],
  session: {
    sessionExpirationTime: 60,
    carryOverSlotsToNewSession: true,
    startSessionAfterExpiry: true,
  },
  raw: {},
};

export interface Situation {
  readonly text: string;
  /** The active user flow. */
  readonly active?: string;
  /** The slot that was asked for, of the active flow or of `pattern`. */
  readonly asked?: string;
  /** The pattern that asks. */
  readonly pattern?: string;
  /** The context of the pattern's conditions. */
  readonly context?: JsonObject;
  /** The question of the active flow below a pattern on the stack. */
  readonly pending?: string;
  readonly slots?: Readonly<Record<string, JsonValue>>;
  readonly flows?: ReadonlyMap<string, Flow>;
  readonly domain?: Domain;
  readonly more?: Partial<GeneratorInput>;
}

/** A Sunday: 2026-11-15, 10:00 UTC. */
export const sunday = Date.UTC(2026, 10, 15, 10);

/** A message in a conversation of the bank. */
export function situation(given: Situation): GeneratorInput {
  const { flows = bank, domain = bankDomain } = given;
  const activeFlow = given.active === undefined ? undefined : flows.get(given.active);
  const asking = given.pattern === undefined ? activeFlow : flows.get(given.pattern);
  const step = given.asked && asking ? collectOf(asking, given.asked) : undefined;
  const askedSlot = step && domain.slots.get(step.slot);
  const stack: StackFrame[] = [];
  if (activeFlow !== undefined) {
    const at = given.pending ?? (given.pattern === undefined ? given.asked : undefined);
    const stepId = (at && collectOf(activeFlow, at)?.id) || activeFlow.first;
    stack.push({
      type: 'flow',
      frameId: 'A',
      flowId: activeFlow.id,
      stepId,
      frameType: 'regular',
    });
  }
  if (given.pattern !== undefined) {
    stack.push({
      type: 'pattern',
      frameId: 'B',
      flowId: given.pattern,
      stepId: 'START',
      context: given.context ?? {},
    });
  }
  const empty = Object.fromEntries([...domain.slots.values()].map((one) => [one.name, null]));
  return {
    text: given.text,
    metadata: {},
    channel: 'rest',
    slots: { ...empty, ...given.slots },
    stack,
    activeFlow,
    callingFlow: activeFlow,
    activeCollect:
      asking && step && askedSlot ? { flow: asking, step, slot: askedSlot } : undefined,
    transcript: [],
    flows: [...flows.values()].filter((one) => !one.isPattern && one.if === undefined),
    allFlows: flows,
    domain,
    agents: { active: undefined, completed: [] },
    language: undefined,
    signal: new AbortController().signal,
    clock: { now: () => sunday },
    ...given.more,
  };
}

function collectOf(of: Flow, name: string): CollectStep | undefined {
  return [...of.steps.values()].find((step) => step.kind === 'collect' && step.slot === name) as
    | CollectStep
    | undefined;
}
