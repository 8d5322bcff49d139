import type { Client, StreamEvent } from '../../client/index.ts';
import {
  isInterrupted,
  LegateError,
  type Part,
  type SendMessageResponse,
  type StreamResponse,
  type Task,
  taskBefore,
  TaskFold,
} from '../../protocol/index.ts';
import { sleep } from '../../time/index.ts';
import type { SubscribeCommandOptions } from '../commands/tasks.ts';
import { Progress } from '../progress.ts';
import type { Output } from './output.ts';
import type { Session } from './session.ts';
import { plain } from './text.ts';

const initialPollMs = 2_000;
const maxPollMs = 30_000;
const maxUrls = 3;

/**
 * Reads events until the task is terminal or waits for its caller, and returns the result.
 * `isAnswer`: the message continued a task, whose first snapshot may still show the question.
 * `resume`: the events of a task in auth-required once the user has authorized it elsewhere (A2A 7.6):
 * the agent continues by itself, and may have closed its stream meanwhile.
 */
export async function follow(
  events: AsyncIterable<StreamEvent>,
  options: {
    readonly isAnswer?: boolean;
    readonly resume?: (taskId: string) => AsyncIterable<StreamEvent>;
    readonly onEvent: (response: StreamResponse, task: TaskFold | undefined) => void;
  },
): Promise<SendMessageResponse> {
  const { isAnswer = false, resume, onEvent } = options;
  let task: TaskFold | undefined;
  let result: SendMessageResponse | undefined;
  let isFirst = true;
  let stream: AsyncIterable<StreamEvent> | undefined = events;
  while (stream !== undefined) {
    for await (const { response } of stream) {
      if ('message' in response) result = response;
      else task ??= new TaskFold('task' in response ? response.task : taskBefore(response));
      task?.apply(response);
      onEvent(response, task);
      const isOldQuestion = isFirst && isAnswer && 'task' in response;
      isFirst = false;
      const state = task?.status.state;
      const isResumed = resume !== undefined && state === 'TASK_STATE_AUTH_REQUIRED';
      // Reads the stream of a terminal task to its end.
      if (state !== undefined && isInterrupted(state) && !isOldQuestion && !isResumed) break;
    }
    stream = task?.status.state === 'TASK_STATE_AUTH_REQUIRED' ? resume?.(task.id) : undefined;
  }
  if (task !== undefined) return { task: task.toTask() };
  if (result !== undefined) return result;
  throw new LegateError('PEER_INVALID', 'the agent answered with neither a task nor a message');
}

interface FollowedStream {
  readonly session: Session;
  readonly client: Client;
  readonly options: Pick<SubscribeCommandOptions, 'stream'>;
  readonly output: Output;
  /** What the command waits for, for progress output. */
  readonly what: 'agent' | 'task';
  /** See `follow`. */
  readonly isAnswer?: boolean;
}

/** Follows a stream with progress output, and prints its events if requested. */
export async function followed(
  events: AsyncIterable<StreamEvent>,
  { session, client, options, output, what, isAnswer = false }: FollowedStream,
): Promise<SendMessageResponse> {
  using progress = new Progress(`Waiting for the ${what}`);
  return await follow(events, {
    isAnswer,
    ...(session.choices.awaitsAuthorization && {
      resume: (taskId) => afterAuthorization(taskId, client, session),
    }),
    onEvent: (response, task) => {
      if (options.stream === true) output.event(response);
      if (task === undefined) return;
      session.waitsFor(task.id);
      progress.say(`Waiting for the ${what}: ${task.status.state}`);
    },
  });
}

/** The events of a task in auth-required, once it continues. */
export async function* afterAuthorization(
  taskId: string,
  client: Client,
  session: Session,
): AsyncGenerator<StreamEvent, void> {
  await authorized(taskId, client, session);
  yield* client.followTask(taskId, { signal: session.signal });
}

/** Polls a task with growing intervals until it leaves auth-required. */
export async function authorized(taskId: string, client: Client, session: Session): Promise<void> {
  const { signal, choices } = session;
  for (let ms = choices.pollMs ?? initialPollMs; ; ms = Math.min(ms * 1.5, maxPollMs)) {
    await sleep(Math.min(ms, session.remainingMs), signal);
    session.throwIfLate();
    const { status } = await client.getTask(taskId, { signal });
    if (status.state !== 'TASK_STATE_AUTH_REQUIRED') return;
  }
}

/** The URLs in the agent's message, where the user can authorize the task. */
export function authorizationUrls({ message }: Task['status']): readonly string[] {
  const found = (message?.parts ?? []).flatMap(urlsIn);
  return [...new Set(found)].slice(0, maxUrls).map(plain);
}

function urlsIn({ text, url, data }: Part): readonly string[] {
  const content = [text ?? '', url ?? '', data === undefined ? '' : JSON.stringify(data)].join(' ');
  // Excludes the punctuation at the end of a sentence, and a closing bracket without an opening one.
  return (content.match(/https?:\/\/[^\s"'<>\\]+/g) ?? [])
    .map((address) => address.replace(/[.,;:!?)\]}]+$/, ''))
    .filter((address) => URL.canParse(address));
}
