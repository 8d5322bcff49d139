/** Answers of peers as texts and data: for working memory, for notices, and for prompts. */
import { questionIdOf } from '../../client/index.ts';
import {
  type Artifact,
  isJsonObject,
  isTurnEnd,
  taskStatusOf,
  type JsonObject,
  type Part,
  type SendMessageResponse,
  shortened,
  type StreamResponse,
  type TaskState,
} from '../../protocol/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { keySegment, sessionNamespace, type WorkingMemory } from '../memory/working-memory.ts';
import type { Invocation, InvocationEnd, InvocationOutcome, PeerQuestion } from './invocation.ts';

/** The complete content of a peer's answer. */
export interface AnswerContent {
  readonly state: TaskState;
  /** The state as the end of an invocation; `error` for a state that ends no turn. */
  readonly end: InvocationEnd;
  readonly text: string;
  readonly data: readonly JsonObject[];
  readonly artifacts: readonly Artifact[];
  readonly taskId?: string;
  readonly contextId?: string;
  /** Deduplicates answers that arrive twice. */
  readonly id: string;
  /** The parts of the last status, for questions. */
  readonly statusParts: readonly Part[];
}

export function contentOf(response: SendMessageResponse): AnswerContent {
  if ('message' in response) {
    const { parts, messageId, contextId } = response.message;
    return {
      ...readParts(parts),
      state: 'TASK_STATE_COMPLETED',
      end: 'TASK_STATE_COMPLETED',
      artifacts: [],
      id: messageId,
      statusParts: parts,
      ...(contextId !== undefined && { contextId }),
    };
  }
  const { id: taskId, contextId, status, artifacts = [] } = response.task;
  const { state } = status;
  const statusParts = status.message?.parts ?? [];
  const isOpen =
    state === 'TASK_STATE_SUBMITTED' ||
    state === 'TASK_STATE_WORKING' ||
    state === 'TASK_STATE_UNSPECIFIED';
  return {
    ...readParts([...artifacts.flatMap((artifact) => artifact.parts), ...statusParts]),
    state,
    end: isOpen ? 'error' : state,
    artifacts,
    taskId,
    contextId,
    id: questionIdOf(response.task),
    statusParts,
  };
}

function readParts(parts: readonly Part[]): Pick<AnswerContent, 'text' | 'data'> {
  return {
    text: textOfParts(parts),
    data: parts.flatMap(({ data }) =>
      data === undefined ? [] : [isJsonObject(data) ? data : { value: data }],
    ),
  };
}

/** The texts, one per line; files are named. */
export function textOfParts(parts: readonly Part[]): string {
  return parts
    .flatMap((part) => {
      if (part.text !== undefined) return part.text === '' ? [] : [part.text];
      if (part.url !== undefined) return [`[file ${part.filename ?? ''} at ${part.url}]`];
      if (part.raw === undefined) return [];
      return [`[file ${part.filename ?? part.mediaType ?? ''}]`];
    })
    .join('\n');
}

/**
 * A status message of an agent about a running task.
 * @example const line = ({ text }: Progress) => `… ${text}`;
 */
export interface Progress {
  /** Identifies the update: a duplicate has the same id. */
  readonly id: string;
  readonly text: string;
}

/**
 * The progress in an event of a running task; answers and questions contain none. A snapshot
 * contains all progress since the last message to the task; readers deduplicate it by id.
 * @example
 * for await (const { response } of client.sendStreamingMessage('Hello')) {
 *   for (const { text } of progressOf(response)) console.log(text);
 * }
 */
export function progressOf(event: StreamResponse): readonly Progress[] {
  const status = taskStatusOf(event);
  if (status === undefined || isTurnEnd(status.state)) return [];
  const { message } = status;
  const { history = [] } = 'task' in event ? event.task : {};
  // Questions come before the message that answers them.
  const since = history.slice(history.findLastIndex(({ role }) => role === 'ROLE_USER') + 1);
  return [...since, ...(message === undefined ? [] : [message])]
    .map(({ messageId: id, parts }) => ({ id, text: textOfParts(parts) }))
    .filter(({ text }) => text !== '');
}

/**
 * Saves an answer in working memory for the conversation: its text, its data, and its artifacts if they
 * contain more than that. Returns undefined for an empty answer. An answer that does not fit is logged,
 * and also returns undefined: the notice then contains the text itself.
 */
export async function saveResult(
  { agent, id, session }: Invocation,
  { text, data, artifacts }: AnswerContent,
  options: { readonly memory: WorkingMemory; readonly ttlMs: number; readonly logger: Logger },
): Promise<InvocationOutcome['keys']> {
  if (text === '' && data.length === 0 && artifacts.length === 0) return undefined;
  const { memory, ttlMs, logger } = options;
  // A long conversation keeps its latest results.
  const evicts = `${sessionNamespace(session.id)}/a2a`;
  const root = `${evicts}/${keySegment(agent)}/${keySegment(id)}`;
  const tags = [agent.slice(0, 200), id.slice(0, 200)];
  const save = async (name: string, value: string, category: string): Promise<string> =>
    (await memory.save(`${root}/${name}`, value, { ttlMs, tags, category, evicts })).key;
  const hasMore = artifacts.some(
    ({ name, parts }) =>
      name !== undefined || parts.some(({ raw, url }) => raw !== undefined || url !== undefined),
  );
  try {
    const result = await save('result', text, 'a2a-result');
    const json = JSON.stringify(data.length === 1 ? data[0] : data);
    return {
      result,
      ...(data.length > 0 && { data: await save('data', json, 'a2a-result-data') }),
      ...(hasMore && {
        artifacts: await save('artifacts', JSON.stringify(artifacts), 'a2a-result-artifacts'),
      }),
    };
  } catch (error) {
    logger.warn({ invocation: id, agent, error }, 'peers.result.save_failed');
    return undefined;
  }
}

/** The notice to the conversation when an invocation has ended. */
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
  if (end === 'error')
    return `[Agent '${agent}' failed task ${id}]: ${shortened(text, shownLength)}`;
  const state = end.slice('TASK_STATE_'.length).toLowerCase().replaceAll('_', '-');
  const head = `[Agent '${agent}' ${state === 'completed' ? 'completed' : 'ended'} task ${id} (state=${state}${late})]:`;
  if (keys === undefined)
    return `${head} ${text === '' ? 'The answer is empty.' : shortened(text, shownLength)}`;
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

/** The prompt for a model that may answer a question without the user. */
export function autonomousPrompt(
  { agent, id, request }: Invocation,
  { round, text }: PeerQuestion,
): string {
  return `[Agent '${agent}' is requesting additional input for task ${id} (round ${round})]: The task was: ${shortened(request, shownLength)}\nQuestion: ${text}\nUse your tools to generate the best response to send back to the agent. Answer with that response only.`;
}

/** A question as the peer asked it, for users. */
export function questionParts({ parts, text }: PeerQuestion): readonly Part[] {
  return parts.length > 0 ? parts : [{ text }];
}

/** The longest text in a notice or a prompt, in characters. */
const shownLength = 4_000;

function minutes(ms: number): string {
  const count = Math.round(ms / 6_000) / 10;
  return count === 1 ? '1 minute' : `${count} minutes`;
}
