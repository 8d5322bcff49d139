import { expect, test } from 'vitest';
import type { JsonValue } from '../../protocol/index.ts';
import type { Command, Extractor, FlowFrame, PatternFrame, StackFrame } from '../conversation.ts';
import {
  cancel,
  chitchat,
  clarify,
  repeat,
  search,
  set,
  skip,
  start,
} from '../testing/conversation.ts';
import { domain, slot } from '../testing/domain.ts';
import { project } from '../testing/project.ts';
import { cleanUp, type CleanUpOptions, type Situation } from './clean-up.ts';
import { activeCollect, agentsView } from './view.ts';

const { flows } = project({
  flows: `
flows:
  transfer:
    description: Send money.
    steps:
      - call: authenticate
      - collect: amount
      - collect: recipient
      - collect: note
        force_slot_filling: true
  authenticate:
    description: Who is it?
    steps:
      - collect: pin
  balance:
    description: How much is there?
    steps:
      - collect: account
  secret:
    description: Not for everyone.
    if: False
    steps:
      - collect: account
`,
});

const rule = { type: 'from_entity', options: { entity: 'pin' } } as const;
const bank = domain([
  slot('amount', 'float'),
  slot('recipient'),
  slot('note'),
  slot('pin', 'text', { mappings: [rule, { type: 'from_llm', allow_nlu_correction: false }] }),
  slot('account'),
  slot('limit', 'float', { mappings: [{ type: 'controlled' }] }),
  slot('language', 'text', { builtin: true }),
  slot('continue_interrupted_flow_confirmation', 'bool', { builtin: true }),
]);

function flow(flowId: string, stepId: string, fields: Partial<FlowFrame> = {}): FlowFrame {
  return { type: 'flow', frameId: flowId, flowId, stepId, frameType: 'regular', ...fields };
}

function asking(collect: string): PatternFrame {
  const flowId = 'pattern_collect_information';
  return {
    type: 'pattern',
    frameId: `ask ${collect}`,
    flowId,
    stepId: 'listen',
    context: { collect },
  };
}

const idle: readonly StackFrame[] = [];
const atAmount = [flow('transfer', '1_collect_amount'), asking('amount')];
const atRecipient = [flow('transfer', '2_collect_recipient'), asking('recipient')];
const atNote = [flow('transfer', '3_collect_note'), asking('note')];
const inCall = [
  flow('transfer', '0_call_authenticate'),
  flow('authenticate', '0_collect_pin', { frameType: 'call' }),
  asking('pin'),
];
const askingToContinue: readonly StackFrame[] = [
  ...atAmount,
  {
    type: 'pattern',
    frameId: 'continue',
    flowId: 'pattern_continue_interrupted',
    stepId: 'confirm',
    context: {},
  },
  asking('continue_interrupted_flow_confirmation'),
];
const withAgent: readonly StackFrame[] = [
  flow('transfer', '0_call_authenticate', {
    agents: [{ agentId: 'done', path: ['x'], state: 'completed', metadata: {} }],
  }),
  {
    type: 'agent',
    frameId: 'agent',
    flowId: 'transfer',
    stepId: '0_call_authenticate',
    agentId: 'helper',
    state: 'waiting_for_input',
    metadata: {},
  },
];

function situation(
  stack: readonly StackFrame[],
  slots: Readonly<Record<string, JsonValue>> = {},
  filledBy: Extractor = 'llm',
): Situation {
  const empty = Object.fromEntries([...bank.slots.keys()].map((name) => [name, null]));
  return {
    stack,
    slots: { ...empty, ...slots },
    filledBy: () => filledBy,
    domain: bank,
    flows,
    startable: new Set(['transfer', 'authenticate', 'balance']),
    collect: activeCollect({ domain: bank, flows }, stack),
    agents: agentsView(stack),
    hasKnowledge: false,
  };
}

const cannotHandle: Command = { command: 'cannot handle', reason: 'cannot_handle_default' };
const continueAgent: Command = { command: 'continue agent' };
const failed: Command = { command: 'error', errorType: 'x', info: {} };
function by(extractor: Extractor, name: string, value: JsonValue): Command {
  return { command: 'set slot', name, value, by: extractor };
}
function correct(slots: Readonly<Record<string, JsonValue>>): Command {
  return { command: 'correct slots', slots };
}

const rows: [string, Situation, readonly Command[], readonly Command[], CleanUpOptions?][] = [
  [
    'the generator without a model fills what a model may fill',
    situation(atAmount),
    [by('matching', 'amount', 5)],
    [by('matching', 'amount', 5)],
  ],
  // Flows
  ['a flow starts', situation(idle), [start('transfer')], [start('transfer')]],
  ['the active flow does not start again', situation(atAmount), [start('transfer')], []],
  [
    'a flow that the active one called counts as active',
    situation(inCall),
    [start('authenticate')],
    [],
  ],
  ['so does the one that called', situation(inCall), [start('transfer')], []],
  [
    'asked whether to go on, naming the flow goes on with it',
    situation(askingToContinue),
    [start('transfer')],
    [start('transfer')],
  ],
  [
    'cancelling and starting again is both',
    situation(atAmount),
    [cancel, start('transfer')],
    [cancel, start('transfer')],
  ],
  ['an unknown flow is not understood', situation(idle), [start('fly')], [cannotHandle]],
  ['a pattern is no flow to start', situation(idle), [start('pattern_restart')], [cannotHandle]],
  [
    'a flow whose guard does not hold does not start',
    situation(idle),
    [start('secret')],
    [cannotHandle],
  ],
  [
    'a payload passes guards',
    situation(idle),
    [start('secret')],
    [start('secret')],
    { isPayload: true },
  ],
  ['a flow starts once', situation(idle), [start('balance'), start('balance')], [start('balance')]],
  [
    'several flows become a question, if so configured',
    situation(idle),
    [start('transfer'), start('balance')],
    [clarify('transfer', 'balance')],
    { clarifyOnMultipleStartFlows: true },
  ],
  [
    'but not over an active flow',
    situation([flow('balance', '0_collect_account'), asking('account')]),
    [start('transfer'), start('authenticate')],
    [start('transfer'), start('authenticate')],
    { clarifyOnMultipleStartFlows: true },
  ],
  ['there is nothing to cancel without a flow', situation(idle), [cancel], [cannotHandle]],

  // Slots
  [
    'the slot that is asked for is filled',
    situation(atAmount),
    [set('amount', 5)],
    [set('amount', 5)],
  ],
  [
    'a value takes the type of its slot',
    situation(atAmount),
    [set('amount', '5')],
    [set('amount', 5)],
  ],
  [
    'a later slot of the active flow is filled',
    situation(atAmount),
    [set('recipient', 'Bob')],
    [set('recipient', 'Bob')],
  ],
  [
    'a slot of a flow that starts now is filled',
    situation(idle),
    [start('balance'), set('account', 'A')],
    [start('balance'), set('account', 'A')],
  ],
  [
    'a slot of a flow that is called later is filled',
    situation(idle),
    [start('transfer'), set('pin', '1')],
    [start('transfer'), set('pin', '1')],
  ],
  [
    'a slot of no flow on the stack is not',
    situation(atAmount),
    [set('account', 'A')],
    [cannotHandle],
  ],
  ['an unknown slot is not', situation(atAmount), [set('colour', 'red')], [cannotHandle]],
  [
    'a controlled slot is not filled by a generator',
    situation(atAmount),
    [set('limit', 5)],
    [cannotHandle],
  ],
  [
    'an impossible slot goes and the rest stays',
    situation(atAmount),
    [set('limit', 5), set('amount', 5)],
    [set('amount', 5)],
  ],
  [
    'the value that is there already changes nothing',
    situation(atAmount, { recipient: 'Bob' }),
    [set('recipient', 'Bob')],
    [],
  ],
  [
    'of two values the last counts',
    situation(atAmount),
    [set('amount', 5), set('amount', 6)],
    [set('amount', 6)],
  ],
  [
    'a wrong answer to the question is kept, to be refused with words',
    situation(atAmount),
    [set('amount', 'much')],
    [set('amount', 'much')],
  ],
  [
    'a wrong value for another slot is dropped',
    situation(atNote),
    [set('amount', 'much'), set('note', 'x')],
    [set('note', 'x')],
  ],
  [
    'a payload fills nothing that nobody asks for, and is never misunderstood',
    situation(idle),
    [by('payload', 'account', 'A')],
    [],
    { isPayload: true },
  ],
  [
    'a rule knows better than a model in the same message',
    situation(inCall),
    [by('nlu', 'pin', '1'), set('pin', '2')],
    [by('nlu', 'pin', '1')],
  ],
  [
    'a rule does not fill a slot that is not mapped to it',
    situation(atAmount),
    [by('nlu', 'amount', 1)],
    [cannotHandle],
  ],
  [
    'a model does not overwrite what a rule filled',
    situation(atAmount, { pin: '1' }, 'nlu'),
    [set('pin', '2')],
    [],
  ],

  // Corrections
  [
    'a question that insists lets no correction through',
    situation(atNote, { amount: 5 }),
    [set('amount', 6), set('note', 'x')],
    [set('note', 'x')],
  ],
  [
    'a filled slot of the active flow is corrected',
    situation(atAmount, { recipient: 'Bob' }),
    [set('recipient', 'Eve')],
    [correct({ recipient: 'Eve' })],
  ],
  [
    'corrections of one message are one',
    situation(atAmount, { recipient: 'Bob', pin: '1' }),
    [set('recipient', 'Eve'), set('amount', 1), set('pin', '2')],
    [correct({ recipient: 'Eve', pin: '2' }), set('amount', 1)],
  ],
  [
    'taking a value back is a correction',
    situation(atAmount, { recipient: 'Bob' }),
    [set('recipient', null)],
    [correct({ recipient: null })],
  ],
  [
    'an empty slot cannot be corrected to nothing',
    situation(atAmount),
    [set('recipient', null)],
    [],
  ],
  [
    'what a cancelled flow knew is not corrected',
    situation(atAmount, { recipient: 'Bob' }),
    [cancel, start('transfer'), set('recipient', 'Eve')],
    [cancel, start('transfer'), set('recipient', 'Eve')],
  ],

  // Force
  [
    'a question that insists lets only its answer through',
    situation(atNote),
    [skip, cancel, set('note', 'x')],
    [set('note', 'x')],
  ],
  ['and drops everything else without a word', situation(atNote), [skip, cancel], []],
  [
    'but not what is about the session',
    situation(atNote),
    [{ command: 'restart' }],
    [{ command: 'restart' }],
    { isPayload: true },
  ],

  // Asking back
  ['one option is no question', situation(idle), [clarify('balance')], [start('balance')]],
  [
    'options that nobody knows are removed',
    situation(idle),
    [clarify('balance', 'fly', 'transfer')],
    [clarify('balance', 'transfer')],
  ],
  ['a question may have no options', situation(idle), [clarify()], [clarify()]],
  [
    'a question whose options all cannot be started is not asked',
    situation(idle),
    [clarify('fly', 'secret')],
    [cannotHandle],
  ],
  [
    'a question counts only without other commands',
    situation(idle),
    [clarify('balance', 'transfer'), start('balance')],
    [start('balance')],
  ],
  [
    'asked whether to go on, no question comes back',
    situation(askingToContinue),
    [clarify('balance', 'transfer')],
    [cannotHandle],
  ],
  ['one that is active leaves nothing to do', situation(atAmount), [clarify('transfer')], []],

  // Everything else
  ['nothing at all is not understood', situation(idle), [], [cannotHandle]],
  [
    'not understanding counts only alone',
    situation(atAmount),
    [cannotHandle, set('amount', 5)],
    [set('amount', 5)],
  ],
  ['small talk is said once', situation(idle), [chitchat, chitchat], [chitchat]],
  [
    'small talk beside a flow is both',
    situation(idle),
    [chitchat, start('balance')],
    [chitchat, start('balance')],
  ],
  ['questions for documents pass', situation(idle), [search], [search]],
  ['repeating passes', situation(atAmount), [repeat], [repeat]],
  ['an error is all there is', situation(atAmount), [set('amount', 5), failed], [failed]],

  // Orchestrators
  [
    'a question that insists on its answer does not let an orchestrator change others',
    situation(atNote, { amount: 5 }),
    [by('orchestrator', 'amount', 7)],
    [],
    { isPayload: true },
  ],
  [
    'what an orchestrator changes in a flow under way is a correction',
    situation(atRecipient, { amount: 5 }),
    [by('orchestrator', 'amount', 7), set('recipient', 'Ann')],
    [correct({ amount: 7 }), set('recipient', 'Ann')],
  ],
  [
    'what it repeats is nothing',
    situation(atRecipient, { amount: 5 }),
    [by('orchestrator', 'amount', 5), set('recipient', 'Ann')],
    [set('recipient', 'Ann')],
  ],
  [
    'what it knows in advance is set, and does not make the words understood',
    situation(atAmount),
    [by('orchestrator', 'recipient', 'Ann'), cannotHandle],
    [by('orchestrator', 'recipient', 'Ann'), cannotHandle],
  ],
  [
    'unless it answers the question',
    situation(atAmount),
    [by('orchestrator', 'amount', 7), cannotHandle],
    [by('orchestrator', 'amount', 7)],
  ],
  [
    'it is kept beside an error',
    situation(atAmount),
    [by('orchestrator', 'amount', 7), set('recipient', 'Ann'), failed],
    [by('orchestrator', 'amount', 7), failed],
  ],
  [
    'an agent that waits goes on with it',
    situation(withAgent, { amount: 5 }),
    [by('orchestrator', 'amount', 7)],
    [by('orchestrator', 'amount', 7), continueAgent],
  ],

  // Agents
  [
    'a message that is nothing else goes to the agent that waits',
    situation(withAgent),
    [],
    [continueAgent],
  ],
  ['so does one that nobody understood', situation(withAgent), [cannotHandle], [continueAgent]],
  [
    'slots are filled beside the agent',
    situation(withAgent),
    [set('amount', 5)],
    [set('amount', 5), continueAgent],
  ],
  [
    'another flow takes the message from the agent',
    situation(withAgent),
    [start('balance'), continueAgent],
    [start('balance')],
  ],
  [
    'an agent that is done may be restarted',
    situation(withAgent),
    [{ command: 'restart agent', agent: 'done' }],
    [{ command: 'restart agent', agent: 'done' }],
  ],
  [
    'one that never ran may not',
    situation(idle),
    [{ command: 'restart agent', agent: 'done' }],
    [cannotHandle],
  ],
  [
    'without an agent there is none to continue',
    situation(atAmount),
    [continueAgent],
    [cannotHandle],
  ],
];

test.each(rows)('%s', (_, before, commands, expected, options) => {
  expect(cleanUp(commands, before, options)).toEqual(expected);
});

test.each([
  [true, [correct({ pin: '2' })]],
  [false, []],
])('allow_nlu_correction %s: a model corrects what a rule filled, or not', (allowed, expected) => {
  const pin = slot('pin', 'text', {
    mappings: [rule, { type: 'from_llm', allow_nlu_correction: allowed }],
  });
  const before = situation(atAmount, { pin: '1' }, 'nlu');
  const domainOfPin = { ...bank, slots: new Map([...bank.slots, ['pin', pin]]) };
  expect(cleanUp([set('pin', '2')], { ...before, domain: domainOfPin })).toEqual(expected);
});

test.each([
  ['pattern_chitchat', 'action_trigger_chitchat', chitchat, 'cannot_handle_chitchat'],
  ['pattern_search', 'action_trigger_search', search, 'cannot_handle_no_relevant_answer'],
])(
  '%s that needs what nobody provides is refused with its reason',
  (id, action, command, reason) => {
    const overridden = project({
      flows: `flows: {${id}: {description: x, steps: [{action: ${action}}]}}`,
    }).flows;
    const before = { ...situation(idle), flows: overridden };
    expect(cleanUp([command], before)).toEqual([{ command: 'cannot handle', reason }]);
    const provided = domain([], {
      actions: new Map([[action, { name: action, sendDomain: false }]]),
    });
    expect(cleanUp([command], { ...before, domain: provided })).toEqual([command]);
  },
);
