import type { EndKind } from '../../agents/index.ts';
import type { TurnOutcome } from '../turn-result.ts';

/**
 * Maps the outcome of a turn to an A2A task state. The first rule that matches decides. The contract's
 * first rule, `auth_required`, is part of authentication: a caller without a valid token never gets here.
 *
 * A flow on the stack can still take input, whatever else happened: after a request that was not
 * understood, or a failure that did not end the flow, the state is input-required.
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
    // A welcome message asks nothing: input-required would make it an open question.
    [isWelcome(outcome) && !hasFlow, 'completed'],
    [outcome.waiting, 'input-required'],
  ];
  // The session has ended, or a human agent has taken over.
  return rules.find(([holds]) => holds)?.[1] ?? 'completed';
}

/** The session started, and nothing else happened. */
function isWelcome({ raised }: TurnOutcome): boolean {
  return raised.length > 0 && raised.every(({ flowId }) => flowId === 'pattern_session_start');
}
