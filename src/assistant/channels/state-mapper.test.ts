import { expect, test } from 'vitest';
import type { TurnOutcome } from '../turn-result.ts';
import { stateOf } from './a2a.ts';

const nothing: TurnOutcome = {
  waiting: true,
  ended: false,
  activeFlow: undefined,
  userFlows: [],
  patterns: [],
  raised: [],
  completedFlows: [],
  cancelledFlows: [],
  cannotHandle: undefined,
  error: undefined,
  waitingAgent: undefined,
  slots: {},
  persistedSlots: {},
};
const inFlow = { userFlows: ['transfer'], activeFlow: 'transfer' };
const cancelled = {
  raised: [{ flowId: 'pattern_cancel_flow', context: {} }],
  cancelledFlows: [{ flowId: 'transfer', stepId: 'ask' }],
};
const error = { type: 'rasa_internal_error_default', info: {} };

/** What happened, the state with conversation repair offered, and without. */
const table: readonly [string, Partial<TurnOutcome>, string, string][] = [
  ['a collect step waits', inFlow, 'input-required', 'input-required'],
  [
    'a flow ended, and the completed pattern asks',
    { completedFlows: ['transfer'], patterns: ['pattern_completed'] },
    'completed',
    'completed',
  ],
  ['a flow ended, and nothing is left', { completedFlows: ['transfer'] }, 'completed', 'completed'],
  ['the completed pattern said yes and ended', {}, 'input-required', 'input-required'],
  [
    'the completed pattern asks again',
    { patterns: ['pattern_completed'] },
    'input-required',
    'completed',
  ],
  [
    'the completed pattern did not understand, and asks again',
    { patterns: ['pattern_completed'], cannotHandle: 'default' },
    'input-required',
    'completed',
  ],
  [
    'the satisfaction pattern waits',
    { patterns: ['pattern_customer_satisfaction'] },
    'input-required',
    'completed',
  ],
  [
    'the session started, and the assistant said its welcome',
    { raised: [{ flowId: 'pattern_session_start', context: {} }] },
    'completed',
    'completed',
  ],
  ['out of scope', { cannotHandle: 'cannot_handle_not_supported' }, 'rejected', 'rejected'],
  [
    'out of scope inside a flow that is asked for again',
    { ...inFlow, cannotHandle: 'default' },
    'input-required',
    'input-required',
  ],
  ['an action failed and took its flow with it', { error, ...cancelled }, 'failed', 'failed'],
  ['an error that left the flow alive', { ...inFlow, error }, 'input-required', 'input-required'],
  ['the user cancelled the flow', cancelled, 'canceled', 'canceled'],
  [
    'a new model has lost the flow',
    { ...cancelled, raised: [{ flowId: 'pattern_code_change', context: {} }] },
    'canceled',
    'canceled',
  ],
  [
    'the user cancelled one flow and began another',
    { ...cancelled, userFlows: ['balance'] },
    'input-required',
    'input-required',
  ],
  [
    'the user cancelled one flow and another ran to its end',
    { ...cancelled, completedFlows: ['balance'] },
    'completed',
    'completed',
  ],
  [
    'a digression ended, and the older flow is offered',
    { ...inFlow, patterns: ['pattern_continue_interrupted'], completedFlows: ['balance'] },
    'input-required',
    'input-required',
  ],
  [
    'a sub agent waits for the user',
    { ...inFlow, waitingAgent: 'helper' },
    'input-required',
    'input-required',
  ],
  ['the session has ended', { waiting: false, ended: true }, 'completed', 'completed'],
];

for (const [situation, outcome, withRepair, withoutRepair] of table) {
  test(`the state when ${situation}`, () => {
    const full = { ...nothing, ...outcome };
    expect(stateOf(full, { includeConversationRepair: true })).toBe(withRepair);
    expect(stateOf(full, { includeConversationRepair: false })).toBe(withoutRepair);
  });
}
