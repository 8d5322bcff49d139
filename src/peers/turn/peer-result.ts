import { authRequired, failed, inputRequired, type PeerResult } from '../../agents/index.ts';
import { LegateError, type Part } from '../../protocol/index.ts';
import { questionParts } from '../invoke/answers.ts';
import type { Invocation, InvocationEnd } from '../invoke/invocation.ts';

type FailedState = Exclude<PeerResult['state'], 'completed' | 'input-required' | 'auth-required'>;

const failedStates: Readonly<Partial<Record<InvocationEnd, FailedState>>> = {
  TASK_STATE_REJECTED: 'rejected',
  TASK_STATE_CANCELED: 'canceled',
  'timed-out': 'timed-out',
};

/** The outcome of an invocation that has ended or asks. `answer` continues one that asks. */
export function peerResult(
  invocation: Invocation,
  answer: (content: string | readonly Part[]) => Promise<PeerResult>,
): PeerResult {
  const { agent, state, outcome, question } = invocation;
  if (state === 'asking' && question !== undefined) {
    const { text, needsAuthorization } = question;
    const parts = questionParts(question);
    const asked = { agent, question: text, parts, answer };
    return needsAuthorization
      ? { ...asked, state: 'auth-required', end: authRequired(parts) }
      : { ...asked, state: 'input-required', end: inputRequired(parts) };
  }
  if (outcome === undefined) {
    throw new LegateError('INTERNAL', `task ${invocation.id} of ${agent} has not ended`);
  }
  const { end, text, data, keys = {} } = outcome;
  if (end === 'TASK_STATE_COMPLETED') return { state: 'completed', agent, text, data, keys };
  const failedState = failedStates[end] ?? 'failed';
  const reason = text === '' ? `It ended in state ${failedState}.` : text;
  return {
    state: failedState,
    agent,
    reason,
    end: failed(`Agent '${agent}' did not complete its task: ${reason}`, {
      metadata: { error_type: `peer_${failedState.replaceAll('-', '_')}`, peer: agent },
    }),
  };
}
