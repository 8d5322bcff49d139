import type { Client, StreamEvent } from '../../client/index.ts';
import { present } from '../../config/index.ts';
import { LegateError, type SendMessageResponse } from '../../protocol/index.ts';
import type {
  CancelCommandOptions,
  GetCommandOptions,
  SubscribeCommandOptions,
} from '../commands/tasks.ts';
import { Progress } from '../progress.ts';
import { authorized, throughAuthorization } from './authorization.ts';
import { calling } from './calling.ts';
import { historyOf, isOn, metadataOf } from './choices.ts';
import { follow } from './following.ts';
import { Output } from './output.ts';
import type { Session } from './session.ts';
import { usage } from '../usage.ts';

/** Prints a task, now or once it ends. */
export async function getTask(
  operands: readonly string[],
  options: GetCommandOptions,
): Promise<void> {
  await calling(options, operands, async (session) => {
    const id = taskIdOf(session);
    const { setting, timeoutMs } = session.choices;
    const historyLength = historyOf(options.history ?? setting('history'));
    const { stream: isStream = false } = options;
    const client = await session.connect();
    const { signal } = session;
    const call = { signal, ...(timeoutMs !== undefined && { timeoutMs }) };
    if (options.wait ?? isOn(setting('wait'))) {
      session.waitsFor(id);
      using _progress = new Progress('Waiting for the task');
      const awaitsAuthorization = options.awaitAuth ?? isOn(setting('await-auth'));
      for (;;) {
        const { status } = await client.waitForEnd(id, call);
        if (!awaitsAuthorization || status.state !== 'TASK_STATE_AUTH_REQUIRED') break;
        await authorized(id, client, session);
      }
    }
    // Fetched after the wait, with the requested history length.
    const request = { id, ...(historyLength !== undefined && { historyLength }) };
    const task = await session.answered(client.getTask(request, call));
    new Output(session, { isStream }).task(
      task,
      historyLength === undefined ? {} : { withHistory: true },
    );
  });
}

/** Cancels a task and prints its state. */
export async function cancelTask(
  operands: readonly string[],
  options: CancelCommandOptions,
): Promise<void> {
  await calling(options, operands, async (session) => {
    const id = taskIdOf(session);
    const metadata = metadataOf(options.metadata ?? session.choices.setting('metadata'));
    const client = await session.connect();
    const { signal } = session;
    const request = { id, ...(metadata !== undefined && { metadata }) };
    const canceling = client.cancelTask(request, { signal }).catch(async (error: unknown) => {
      // Cancel is idempotent: a task that is already canceled is a success.
      if (!(error instanceof LegateError) || error.code !== 'TASK_NOT_CANCELABLE') throw error;
      const task = await client.getTask(id, { signal });
      if (task.status.state === 'TASK_STATE_CANCELED') return task;
      throw error;
    });
    const { stream: isStream = false } = options;
    new Output(session, { isStream }).task(await session.answered(canceling));
  });
}

/** Follows a task until it ends or asks for something. */
export async function subscribe(
  operands: readonly string[],
  options: SubscribeCommandOptions,
): Promise<void> {
  await calling(options, operands, async (session) => {
    const id = taskIdOf(session);
    const { timeoutMs } = session.choices;
    const { lastEventId, stream: isStream = false } = options;
    const client = await session.connect();
    const output = new Output(session);
    if (client.card.capabilities.streaming !== true) session.warn(notStreaming);
    const events = client.subscribeToTask(id, {
      signal: session.signal,
      ...present({ timeoutMs, lastEventId }),
    });
    const result = await followed(events, { session, client, options, output, what: 'task' });
    if (!('task' in result)) {
      throw new LegateError('PEER_INVALID', `the agent answered with a message about task ${id}`);
    }
    if (isStream) output.endStream(result.task);
    else output.task(result.task);
  });
}

export const notStreaming = 'the agent does not support streaming; polling instead';

interface FollowedStream {
  readonly session: Session;
  readonly client: Client;
  readonly options: Pick<SubscribeCommandOptions, 'stream' | 'awaitAuth'>;
  readonly output: Output;
  /** What the command waits for, for progress output. */
  readonly what: 'agent' | 'task';
  /** See `follow`. */
  readonly isAnswer?: boolean;
}

/** Reads a stream to its end, prints its events if requested, and returns the result. */
export async function followed(
  events: AsyncIterable<StreamEvent>,
  { session, client, options, output, what, isAnswer = false }: FollowedStream,
): Promise<SendMessageResponse> {
  using progress = new Progress(`Waiting for the ${what}`);
  const awaitsAuthorization = options.awaitAuth ?? isOn(session.choices.setting('await-auth'));
  const all = awaitsAuthorization ? throughAuthorization(events, client, session) : events;
  const result = await follow(all, {
    isAnswer,
    awaitsAuthorization,
    onEvent: (response, task) => {
      progress.clear();
      if (options.stream === true) output.event(response);
      if (task === undefined) return;
      session.waitsFor(task.id);
      progress.say(`Waiting for the ${what}: ${task.status.state}`);
    },
  });
  progress.clear();
  return result;
}

/** The task id: the only operand, or the setting. */
export function taskIdOf({ choices: { operands, setting } }: Session): string {
  const [id = setting('task-id'), ...rest] = operands;
  if (id === undefined) throw usage('which task? Give its id');
  if (rest.length > 0) throw usage(`one task at a time; ${rest.join(' ')} is too many`);
  return id;
}
