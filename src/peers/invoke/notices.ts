import type { Invocation, InvocationOutcome, PeerQuestion } from './invocation.ts';

/** The text of an outcome that found no place in working memory is shown so far. */
const shownLength = 4_000;

/** What the conversation is told when an invocation is over. */
export function outcomeNotice(
  { agent, id, timeoutMs }: Invocation,
  outcome: InvocationOutcome,
  isLate = false,
): string {
  const late = isLate ? ', late' : '';
  const { end, keys, text } = outcome;
  if (end === 'timed-out') {
    return `[Agent '${agent}' did not answer task ${id} within ${minutes(timeoutMs)}]: The task was cancelled. Tell the user, who may want to try again or give it more time.`;
  }
  if (end === 'error') return `[Agent '${agent}' failed task ${id}]: ${shorten(text)}`;
  const state = end.slice('TASK_STATE_'.length).toLowerCase().replaceAll('_', '-');
  const head = `[Agent '${agent}' ${state === 'completed' ? 'completed' : 'ended'} task ${id} (state=${state}${late})]:`;
  if (keys === undefined) return `${head} ${text === '' ? 'It said nothing.' : shorten(text)}`;
  const structured =
    keys.data === undefined
      ? ''
      : ` Structured JSON is also available at key '${keys.data}'; fetch it only if the structured fields are needed.`;
  const files =
    keys.artifacts === undefined
      ? ''
      : ` All artifacts with their files are at key '${keys.artifacts}'.`;
  return `${head} The result (${text.length} chars) is in working memory. Call get_from_working_memory with key '${keys.result}' to read it before responding.${structured}${files}`;
}

/** Asks a model that may answer by itself. */
export function autonomousPrompt(
  { agent, id, request }: Invocation,
  { round, text }: PeerQuestion,
): string {
  return `[Agent '${agent}' is requesting additional input for task ${id} (round ${round})]: The task was: ${shorten(request)}\nQuestion: ${text}\nUse your tools to generate the best response to send back to the agent. Answer with that response only.`;
}

/** Asks the user. */
export function userPrompt({ agent, id }: Invocation, question: PeerQuestion): string {
  const { round, text, needsAuthorization } = question;
  const what = needsAuthorization ? 'needs your authorization' : 'needs input';
  return `[Agent '${agent}' ${what} for task ${id} (round ${round})]: ${text}`;
}

function shorten(text: string): string {
  return text.length <= shownLength ? text : `${text.slice(0, shownLength)}...`;
}

function minutes(ms: number): string {
  const count = Math.round(ms / 6_000) / 10;
  return count === 1 ? '1 minute' : `${count} minutes`;
}
