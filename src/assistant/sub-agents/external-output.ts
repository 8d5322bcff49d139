import type { ResumePoint } from '../../client/index.ts';
import {
  ContentMark,
  data,
  type JsonObject,
  type Message,
  type Part,
  type SendMessageResponse,
  type Task,
  text,
  toLegateError,
} from '../../protocol/index.ts';
import { slotValues } from './agent-input.ts';
import type { AgentInput, AgentOutput, AgentStatus, StructuredResult } from './model.ts';

const statuses: Partial<Record<Task['status']['state'], AgentStatus>> = {
  TASK_STATE_COMPLETED: 'completed',
  TASK_STATE_INPUT_REQUIRED: 'input_required',
  TASK_STATE_FAILED: 'fatal_error',
  TASK_STATE_REJECTED: 'fatal_error',
  TASK_STATE_CANCELED: 'fatal_error',
  // The user can't log in to the remote agent from here.
  TASK_STATE_AUTH_REQUIRED: 'fatal_error',
};

/** The states whose text explains the refusal to the user; texts of failures are for the log. */
const explained: ReadonlySet<string> = new Set(['TASK_STATE_REJECTED', 'TASK_STATE_AUTH_REQUIRED']);

/** Retryable errors. */
const passing = new Set([
  'PEER_UNREACHABLE',
  'UNAVAILABLE',
  'RATE_LIMITED',
  'REQUEST_TIMEOUT',
  // An earlier attempt of this turn sent the message, and the agent is working on it.
  'MESSAGE_IN_FLIGHT',
]);
const maxMarks = 50;

type Delivered = ResumePoint['delivered'];

export function isPassing(error: unknown): boolean {
  return passing.has(toLegateError(error).code);
}

/** The output of a failed call. */
export function failedOutput(id: string, error: unknown): AgentOutput {
  const status = isPassing(error) ? 'recoverable_error' : 'fatal_error';
  return { id, status, errorMessage: toLegateError(error).message.slice(0, 500) };
}

/** Whether a task is terminal or waits for input. */
export function isSettled({ status }: Task): boolean {
  return statuses[status.state] !== undefined;
}

/**
 * The resume point of a background task, saved with the conversation (`at_work`). `deadline`, in
 * milliseconds since 1970, is when the task times out.
 */
export function stillRunning(id: string, point: Place, deadline: number | undefined): AgentOutput {
  const until = deadline === undefined ? {} : { task_deadline: deadline };
  return { id, status: 'input_required', metadata: { ...kept(point), at_work: true, ...until } };
}

type Place = Pick<ResumePoint, 'taskId' | 'contextId' | 'delivered'>;

/**
 * Converts a remote task to the agent's output, with the metadata that the conversation keeps to
 * continue the task. Artifacts that earlier turns reported (`delivered`) are left out.
 */
export function outputOf(
  answer: SendMessageResponse,
  point: Place,
  options: {
    readonly id: string;
    readonly name: string;
    readonly delivered: Delivered;
    readonly last?: string;
  },
): AgentOutput {
  const { id, last = '' } = options;
  const output = contentOf(answer, options);
  if (output.status !== 'input_required') return output;
  const { responseMessage = last } = output;
  const metadata = { ...kept(point), last_message: responseMessage.slice(0, 2_000) };
  return { ...output, id, ...(responseMessage !== '' && { responseMessage }), metadata };
}

function contentOf(
  answer: SendMessageResponse,
  {
    id,
    name,
    delivered,
  }: { readonly id: string; readonly name: string; readonly delivered: Delivered },
): AgentOutput {
  if ('message' in answer) {
    const { parts } = answer.message;
    return {
      id,
      status: 'input_required',
      ...words(textOf(parts)),
      ...results(dataOf(name, parts)),
    };
  }
  const { state, message } = answer.task.status;
  const parts = message?.parts ?? [];
  const status = statuses[state] ?? 'fatal_error';
  if (status === 'fatal_error') {
    const said = textOf(parts);
    const errorMessage = `${state}: ${said.slice(0, 300)}`;
    return { id, status, errorMessage, ...(explained.has(state) && words(said)) };
  }
  const artifacts = (answer.task.artifacts ?? []).filter(
    (each) => !isTold(delivered[each.artifactId], each.parts),
  );
  // A question is in the status. A result can be in the status, in artifacts, or in both.
  const texts = [textOf(parts), ...artifacts.map((each) => joined(each.parts))];
  const said =
    status === 'input_required'
      ? texts.find((text) => text !== '')
      : [...new Set(texts)].join('\n\n');
  const found = artifacts.flatMap((each) => dataOf(each.name ?? each.artifactId, each.parts));
  return {
    id,
    status,
    ...words((said ?? '').trim()),
    ...results([...found, ...dataOf(name, parts)]),
  };
}

function kept({ contextId, taskId, delivered }: Place): JsonObject {
  const marks = Object.entries(delivered).slice(-maxMarks);
  return {
    ...(contextId !== undefined && { context_id: contextId }),
    ...(taskId !== undefined && { task_id: taskId }),
    ...(marks.length > 0 && { artifacts: Object.fromEntries(marks) }),
  };
}

function isTold(mark: string | undefined, parts: readonly Part[]): boolean {
  return ContentMark.parse(mark?.replace(/^!/, '') ?? '')?.rest(parts)?.length === 0;
}

/** The parts of a message are paragraphs. */
export function textOf(parts: readonly Part[]): string {
  const texts = parts.map((part) => part.text?.trim() ?? '');
  return texts.filter((text) => text !== '').join('\n\n');
}

/** The parts of an artifact can be chunks of one text. */
function joined(parts: readonly Part[]): string {
  return parts
    .map((part) => part.text ?? '')
    .join('')
    .trim();
}

function dataOf(name: string, parts: readonly Part[]): readonly StructuredResult[] {
  return parts.flatMap((part) => (part.data === undefined ? [] : [{ name, result: part.data }]));
}

function words(text: string): Pick<AgentOutput, 'responseMessage'> {
  return text === '' ? {} : { responseMessage: text };
}

function results(found: readonly StructuredResult[]): Pick<AgentOutput, 'structuredResults'> {
  return found.length === 0 ? {} : { structuredResults: [found] };
}

/** Internal metadata keys, not sent to the agent. */
const ownKeys: ReadonlySet<string> = new Set(['last_message', 'artifacts', 'task_deadline']);

/**
 * Converts the input to a message: the user's words, then slots and history as data. Sends the metadata
 * along, without internal keys; its `context_id` and `task_id` address the message.
 */
export function toMessage(input: AgentInput): Message {
  const { id, userMessage, conversationHistory, metadata } = input;
  const { context_id: contextId, task_id: taskId } = metadata;
  const slots = Object.fromEntries(
    Object.entries(slotValues(input)).filter(([, value]) => value !== null),
  );
  const shown = Object.fromEntries(Object.entries(metadata).filter(([key]) => !ownKeys.has(key)));
  return {
    messageId: id,
    role: 'ROLE_USER',
    parts: [text(userMessage), data({ slots, conversation_history: conversationHistory })],
    metadata: shown,
    ...(typeof contextId === 'string' && { contextId }),
    ...(typeof taskId === 'string' && { taskId }),
  };
}
