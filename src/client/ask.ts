import {
  type AnswerContent,
  contentOf,
  isErrorCode,
  isInterrupted,
  LegateError,
  message,
  type Part,
  type SendMessageResponse,
  type StreamResponse,
  type Task,
  textOf,
} from '../protocol/index.ts';
import type { Client } from './client.ts';
import type { StreamOptions } from './options.ts';
import type { Sendable } from './peer.ts';
import { TaskView } from './task-view.ts';

/**
 * What an agent answered.
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
  /** Absent where the agent answered with a plain message. */
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

/** Sends a message and waits for the answer. Rejects where the task fails, is rejected or cancelled. */
export async function ask(
  client: Asker,
  input: Sendable,
  options: StreamOptions = {},
): Promise<Answer> {
  return toAnswer(client, await client.sendAndWait(input, options));
}

function toAnswer(client: Asker, response: SendMessageResponse): Answer {
  if ('message' in response) {
    const { parts } = response.message;
    return { isQuestion: false, ...contentOf(textOf(response.message), parts) };
  }
  const { task } = response;
  const { status, artifacts = [], contextId, id: taskId } = task;
  const { parts: last = [] } = status.message ?? {};
  if (isInterrupted(status.state)) {
    return {
      isQuestion: true,
      needsAuthorization: status.state === 'TASK_STATE_AUTH_REQUIRED',
      ...contentOf(textOf({ parts: last }), last),
      task,
      answer: (content, options) => ask(client, message(content, { taskId, contextId }), options),
    };
  }
  if (status.state !== 'TASK_STATE_COMPLETED') throw failureOf(task);
  const parts = [...artifacts.flatMap((artifact) => artifact.parts), ...last];
  return { isQuestion: false, ...contentOf(textOf(task), parts), task };
}

/** The error of a task that did not complete, with the code that its agent names, if any. */
function failureOf({ id: taskId, status, metadata = {} }: Task): LegateError {
  const state = status.state.replace('TASK_STATE_', '').toLowerCase();
  const type = status.message?.metadata?.['error_type'] ?? metadata['error_type'];
  const errorType = typeof type === 'string' ? type : '';
  const named = errorType.toUpperCase();
  const code = isErrorCode(named) ? named : 'INTERNAL';
  const text = textOf({ parts: status.message?.parts ?? [] });
  return new LegateError(code, text === '' ? `the agent's task ended as ${state}` : text, {
    metadata: { taskId, state, ...(errorType !== '' && { errorType }) },
  });
}

/**
 * An answer while it arrives. Reading `text` or `result` sends the message; both read the same stream.
 * @example
 * const stream: AnswerStream = client.stream('Tell me a tale');
 * for await (const delta of stream.text) console.log(delta);
 * const { files } = await stream.result();
 */
export class AnswerStream {
  /** The text of artifacts, of a question and of the end, as it arrives. */
  readonly text: AsyncGenerator<string, void>;
  readonly #client: Asker;
  #view: TaskView | undefined;
  #response: SendMessageResponse | undefined;

  constructor(client: Asker, input: Sendable, options: StreamOptions = {}) {
    this.#client = client;
    this.text = this.#read(client.sendStreamingMessage(input, options));
  }

  /** The whole answer, once it is there. Rejects where the task fails, is rejected or cancelled. */
  async result(): Promise<Answer> {
    for await (const delta of this.text) void delta;
    if (this.#response !== undefined) return toAnswer(this.#client, this.#response);
    throw new LegateError('PEER_INVALID', 'the stream ended without an answer');
  }

  async *#read(
    events: AsyncIterable<{ readonly response: StreamResponse }>,
  ): AsyncGenerator<string, void> {
    for await (const { response } of events) {
      const text = this.#apply(response);
      if (text !== '') yield text;
    }
  }

  /** Returns the text that the event adds. */
  #apply(response: StreamResponse): string {
    if ('message' in response) {
      this.#response = response;
      return textOf(response.message);
    }
    const isSnapshot = 'task' in response;
    const isFirst = this.#view === undefined;
    if (isSnapshot) this.#view ??= new TaskView(response.task);
    if (!isFirst || !isSnapshot) this.#view?.apply(response);
    if (this.#view !== undefined) this.#response = { task: this.#view.toTask() };
    if ('artifactUpdate' in response) return textOf(response.artifactUpdate.artifact);
    if (isSnapshot) return isFirst ? textOf(response.task) : '';
    const { state, message: last } = response.statusUpdate.status;
    return last === undefined || state === 'TASK_STATE_WORKING' ? '' : textOf(last);
  }
}
