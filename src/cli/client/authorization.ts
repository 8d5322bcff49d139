import type { Client, StreamEvent } from '../../client/index.ts';
import {
  isInterrupted,
  isTerminal,
  LegateError,
  type Part,
  type Task,
} from '../../protocol/index.ts';
import { sleep } from '../../time/index.ts';
import type { Session } from './session.ts';
import { plain } from './text.ts';

const usualPause = 2_000;
const longestPause = 30_000;
const mostAddresses = 3;

/**
 * The events of a task, including those after the user authorized it elsewhere (A2A 7.6): an agent in
 * auth-required continues by itself, and may have closed its stream meanwhile.
 */
export async function* throughAuthorization(
  events: AsyncIterable<StreamEvent>,
  client: Client,
  session: Session,
): AsyncGenerator<StreamEvent, void> {
  let waiting: string | undefined;
  for await (const event of events) {
    waiting = waitingTask(event, waiting);
    yield event;
  }
  while (waiting !== undefined) {
    const next = afterAuthorization(waiting, client, session);
    waiting = undefined;
    for await (const event of next) {
      waiting = waitingTask(event, waiting);
      yield event;
    }
  }
}

/** Yields the events of a task in auth-required, once it continues. */
export async function* afterAuthorization(
  taskId: string,
  client: Client,
  session: Session,
): AsyncGenerator<StreamEvent, void> {
  const task = await authorized(taskId, client, session);
  yield { response: { task } };
  const { state } = task.status;
  if (isTerminal(state) || isInterrupted(state)) return;
  const { signal } = session;
  try {
    for await (const event of client.subscribeToTask(taskId, { signal })) yield event;
  } catch (error) {
    // The task has ended meanwhile: only running tasks can be subscribed to.
    if (!(error instanceof LegateError) || error.code !== 'UNSUPPORTED_OPERATION') throw error;
    yield { response: { task: await client.getTask(taskId, { signal }) } };
  }
}

/** Polls a task with growing intervals until it leaves auth-required. */
export async function authorized(taskId: string, client: Client, session: Session): Promise<Task> {
  const { signal, choices } = session;
  for (let ms = choices.pollMs ?? usualPause; ; ms = Math.min(ms * 1.5, longestPause)) {
    await sleep(Math.min(ms, session.remainingMs), signal);
    session.throwIfLate();
    const task = await client.getTask(taskId, { signal });
    if (task.status.state !== 'TASK_STATE_AUTH_REQUIRED') return task;
  }
}

/** The URLs in the agent's message, where the user can authorize the task. */
export function authorizationPlaces({ message }: Task['status']): readonly string[] {
  const found = (message?.parts ?? []).flatMap(addressesIn);
  return [...new Set(found)].slice(0, mostAddresses).map((address) => plain(address));
}

function addressesIn({ text, url, data }: Part): readonly string[] {
  const words = [text ?? '', url ?? '', data === undefined ? '' : JSON.stringify(data)].join(' ');
  const addresses = words.match(/https?:\/\/[^\s"'<>\\]+/g) ?? [];
  // Excludes the punctuation at the end of a sentence, and a closing bracket without an opening one.
  return addresses
    .map((address) => address.replace(/[.,;:!?)\]}]+$/, ''))
    .filter((address) => URL.canParse(address));
}

function waitingTask({ response }: StreamEvent, before: string | undefined): string | undefined {
  if ('task' in response) {
    const { id, status } = response.task;
    return status.state === 'TASK_STATE_AUTH_REQUIRED' ? id : undefined;
  }
  if (!('statusUpdate' in response)) return before;
  const { taskId, status } = response.statusUpdate;
  return status.state === 'TASK_STATE_AUTH_REQUIRED' ? taskId : undefined;
}
