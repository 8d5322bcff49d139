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
 * The events of a task, also of what comes after somebody was let in elsewhere (A2A 7.6): an agent
 * that waits for that goes on by itself, and may have closed its stream meanwhile.
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

/** What comes of a task that waits for somebody to be let in, once it goes on. */
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
    // It has ended meanwhile: streams are for what goes on.
    if (!(error instanceof LegateError) || error.code !== 'UNSUPPORTED_OPERATION') throw error;
    yield { response: { task: await client.getTask(taskId, { signal }) } };
  }
}

/** Looks at a task, less and less often, until it waits for nobody to be let in. */
export async function authorized(taskId: string, client: Client, session: Session): Promise<Task> {
  const { signal, choices } = session;
  for (let ms = choices.pollMs ?? usualPause; ; ms = Math.min(ms * 1.5, longestPause)) {
    await sleep(Math.min(ms, session.remainingMs), signal);
    session.throwIfLate();
    const task = await client.getTask(taskId, { signal });
    if (task.status.state !== 'TASK_STATE_AUTH_REQUIRED') return task;
  }
}

/** Where an agent says that somebody can be let in: addresses that stand in its words. */
export function authorizationPlaces({ message }: Task['status']): readonly string[] {
  const found = (message?.parts ?? []).flatMap(addressesIn);
  return [...new Set(found)].slice(0, mostAddresses).map((address) => plain(address));
}

function addressesIn({ text, url, data }: Part): readonly string[] {
  const words = [text ?? '', url ?? '', data === undefined ? '' : JSON.stringify(data)].join(' ');
  const addresses = words.match(/https?:\/\/[^\s"'<>\\]+/g) ?? [];
  // A sentence ends after its last word, and a bracket that was not opened does not belong to it.
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
