import {
  type AnswerContent,
  answerOf,
  AnswerText,
  contentOf,
  isInterrupted,
  LegateError,
  message,
  type Part,
  type SendMessageResponse,
  type StreamResponse,
  type Task,
  taskBefore,
  taskFailure,
  TaskFold,
  textOf,
  type TextChange,
} from '../protocol/index.ts';
import type { Client } from './client.ts';
import type { SendOptions, StreamOptions } from './options.ts';
import type { Sendable } from './peer.ts';

/**
 * The answer of an agent.
 * @example
 * const answer: Answer = await client.ask('Which trains go to Bern?');
 * if (!answer.isQuestion) console.log(answer.text);
 */
export type Answer = FinalAnswer | Question;

/**
 * The end of a task, or a plain message.
 * @example const table = ({ data }: FinalAnswer) => data[0];
 */
export interface FinalAnswer extends AnswerContent {
  readonly isQuestion: false;
  /** Absent if the agent answered with a plain message. */
  readonly task?: Task;
}

/**
 * A task that waits for its caller.
 * @example
 * let answer = await client.ask('Order a pizza');
 * while (answer.isQuestion) answer = await answer.answer(await prompt(answer.text));
 */
export interface Question extends AnswerContent {
  readonly isQuestion: true;
  /** The caller has to sign in or consent elsewhere first. */
  readonly needsAuthorization: boolean;
  readonly task: Task;
  answer(content: string | Part | readonly Part[], options?: StreamOptions): Promise<Answer>;
}

type Asker = Pick<Client, 'sendAndWait' | 'sendStreamingMessage'>;

/** Sends a message and waits for the answer. Rejects if the task fails, is rejected or is cancelled. */
export async function ask(
  client: Asker,
  input: Sendable,
  options: StreamOptions & SendOptions = {},
): Promise<Answer> {
  return toAnswer(client, await client.sendAndWait(input, options));
}

/** Sends a message and yields the changes of the answer's text; returns the answer. */
export async function* askStreaming(
  client: Asker,
  input: Sendable,
  options: StreamOptions & SendOptions = {},
): AsyncGenerator<TextChange, Answer> {
  const shown = new AnswerText();
  let fold: TaskFold | undefined;
  for await (const { response } of client.sendStreamingMessage(input, options)) {
    if ('message' in response) {
      const change = shown.message(response.message);
      if (change !== undefined) yield change;
      return toAnswer(client, response);
    }
    const isFirst = fold === undefined;
    fold ??= new TaskFold('task' in response ? response.task : taskBefore(response));
    if (!isFirst || !('task' in response)) fold.apply(response);
    for (const change of changesBy(response, isFirst, shown)) yield change;
  }
  if (fold === undefined) {
    throw new LegateError('PEER_INVALID', 'the stream ended without an answer');
  }
  const task = fold.toTask();
  const answer = toAnswer(client, { task });
  // A snapshot at the end can be the only event with the final message.
  const change = task.status.message && shown.message(task.status.message);
  if (change !== undefined) yield change;
  return answer;
}

function* changesBy(
  response: Exclude<StreamResponse, { message: unknown }>,
  isFirst: boolean,
  shown: AnswerText,
): Generator<TextChange> {
  if ('artifactUpdate' in response) {
    const { artifact, append = false } = response.artifactUpdate;
    const change = shown.artifact(artifact, append);
    if (change !== undefined) yield change;
  } else if ('task' in response) {
    // Later snapshots only repeat artifacts that earlier events delivered.
    for (const artifact of isFirst ? (response.task.artifacts ?? []) : []) {
      const change = shown.artifact(artifact, false);
      if (change !== undefined) yield change;
    }
  } else {
    const { state, message: said } = response.statusUpdate.status;
    const isShown = isInterrupted(state) || state === 'TASK_STATE_COMPLETED';
    const change = isShown && said !== undefined ? shown.message(said) : undefined;
    if (change !== undefined) yield change;
  }
}

function toAnswer(client: Asker, response: SendMessageResponse): Answer {
  if ('message' in response) {
    const { parts } = response.message;
    return { isQuestion: false, ...contentOf(textOf(response.message), parts) };
  }
  const { task } = response;
  const { status, contextId, id: taskId } = task;
  if (isInterrupted(status.state)) {
    return {
      isQuestion: true,
      needsAuthorization: status.state === 'TASK_STATE_AUTH_REQUIRED',
      ...answerOf(task),
      task,
      answer: (content, options) => ask(client, message(content, { taskId, contextId }), options),
    };
  }
  if (status.state !== 'TASK_STATE_COMPLETED') throw taskFailure(task);
  return { isQuestion: false, ...answerOf(task), task };
}
