import type { EndKind } from '../../agents/index.ts';
import type { TurnOutcome } from '../turn-result.ts';

/**
 * The A2A state of a conversation after a turn. The rules are looked at in order, and the first that
 * holds decides. (The first of the contract, `auth_required`, is settled by the door: a caller without
 * a valid token never gets here.)
 *
 * A flow that is still on the stack can still be answered, whatever else happened: a request that was
 * not understood, or a failure that did not end the flow, asks for input and does not drop the flow.
 * @example
 * const request = { senderId: 'ada', tracker: undefined, text: 'hi' };
 * const { outcome } = await assistant.handle(request);
 * const state = stateOf(outcome, { includeConversationRepair: true }); // 'input-required', ...
 */
export function stateOf(
  outcome: TurnOutcome,
  options: { readonly includeConversationRepair: boolean },
): EndKind {
  const hasFlow = outcome.userFlows.length > 0;
  const asks = outcome.patterns.length > 0;
  const wasCancelled = outcome.raised.some(({ flowId }) => flowId === 'pattern_cancel_flow');
  const hasCompleted = outcome.completedFlows.length > 0;
  const rules: readonly (readonly [holds: boolean, state: EndKind])[] = [
    [outcome.cannotHandle !== undefined && !hasFlow && !asks && !hasCompleted, 'rejected'],
    [outcome.error !== undefined && !hasFlow, 'failed'],
    [wasCancelled && !hasFlow && !hasCompleted, 'canceled'],
    [hasCompleted && !hasFlow, 'completed'],
    [asks && !hasFlow && options.includeConversationRepair && outcome.waiting, 'input-required'],
    [asks && !hasFlow, 'completed'],
    // A welcome asks nothing: a task that waited for an answer would count as an open question.
    [isWelcome(outcome) && !hasFlow, 'completed'],
    [outcome.waiting, 'input-required'],
  ];
  // What is left is a session that has ended, or one that somebody else has taken over.
  return rules.find(([holds]) => holds)?.[1] ?? 'completed';
}

/** The session started, and nothing else happened. */
function isWelcome({ raised }: TurnOutcome): boolean {
  return raised.length > 0 && raised.every(({ flowId }) => flowId === 'pattern_session_start');
}
