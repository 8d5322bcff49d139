import type { Client } from '../../client/index.ts';
import { present, suggest } from '../../config/index.ts';
import { LegateError, type Task, type TaskState, taskStates } from '../../protocol/index.ts';
import type { ClientCommandOptions } from '../commands/options.ts';
import type {
  CancelCommandOptions,
  GetCommandOptions,
  ListCommandOptions,
  SubscribeCommandOptions,
} from '../commands/tasks.ts';
import { Progress } from '../progress.ts';
import { usage } from '../usage.ts';
import { calling } from './calling.ts';
import { authorized, followed } from './following.ts';
import { Output } from './output.ts';
import type { Session } from './session.ts';
import { shownParts, stateWords, type TextWriter } from './text.ts';

/** A task, and the agent that has it. */
export interface TaskCall {
  readonly id: string;
  readonly client: Client;
  readonly session: Session;
  readonly signal: AbortSignal;
  readonly output: Output;
}

/** Runs a command about one task. */
export function callingTask(
  operands: readonly string[],
  options: ClientCommandOptions & { readonly stream?: boolean },
  run: (call: TaskCall) => Promise<void>,
): Promise<void> {
  return calling(options, operands, async (session) => {
    const { operands: ids, taskId } = session.choices;
    const [id = taskId, ...rest] = ids;
    if (id === undefined) throw usage('which task? Give its id');
    if (rest.length > 0) throw usage(`one task at a time; ${rest.join(' ')} is too many`);
    const output = new Output(session, { isStream: options.stream === true });
    await run({ id, client: await session.connect(), session, signal: session.signal, output });
  });
}

/** Prints a task, now or once it ends. */
export function getTask(operands: readonly string[], options: GetCommandOptions): Promise<void> {
  return callingTask(operands, options, async ({ id, client, session, signal, output }) => {
    const { historyLength, timeoutMs, awaitsAuthorization, isSet } = session.choices;
    const call = { signal, ...present({ timeoutMs }) };
    if (isSet('wait')) {
      session.waitsFor(id);
      using _progress = new Progress('Waiting for the task');
      for (;;) {
        const { status } = await client.waitForEnd(id, call);
        if (!awaitsAuthorization || status.state !== 'TASK_STATE_AUTH_REQUIRED') break;
        await authorized(id, client, session);
      }
    }
    // Fetched after the wait, with the requested history length.
    const task = await session.answered(
      client.getTask({ id, ...present({ historyLength }) }, call),
    );
    output.task(task, historyLength === undefined ? {} : { withHistory: true });
  });
}

/** Cancels a task and prints its state. */
export function cancelTask(
  operands: readonly string[],
  options: CancelCommandOptions,
): Promise<void> {
  return callingTask(operands, options, async ({ id, client, session, signal, output }) => {
    const { metadata } = session.choices;
    const request = { id, ...present({ metadata }) };
    const canceling = client.cancelTask(request, { signal }).catch(async (error: unknown) => {
      // Cancel is idempotent: a task that is already canceled is a success.
      if (!(error instanceof LegateError) || error.code !== 'TASK_NOT_CANCELABLE') throw error;
      const task = await client.getTask(id, { signal });
      if (task.status.state === 'TASK_STATE_CANCELED') return task;
      throw error;
    });
    output.task(await session.answered(canceling));
  });
}

/** Follows a task until it ends or asks for something. */
export function subscribe(
  operands: readonly string[],
  options: SubscribeCommandOptions,
): Promise<void> {
  return callingTask(operands, options, async ({ id, client, session, signal, output }) => {
    const { timeoutMs } = session.choices;
    const { lastEventId } = options;
    if (client.card.capabilities.streaming !== true) session.warn(notStreaming);
    const events = client.subscribeToTask(id, { signal, ...present({ timeoutMs, lastEventId }) });
    const result = await followed(events, { session, client, options, output, what: 'task' });
    if (!('task' in result)) {
      throw new LegateError('PEER_INVALID', `the agent answered with a message about task ${id}`);
    }
    if (options.stream === true) output.endStream(result.task);
    else output.task(result.task);
  });
}

export const notStreaming = 'the agent does not support streaming; polling instead';

/** Prints the caller's tasks, the newest first. */
export async function listTasks(
  agent: string | undefined,
  options: ListCommandOptions,
): Promise<void> {
  await calling(options, agent, async (session) => {
    const { contextId, historyLength = 0 } = session.choices;
    const { status, after, pageSize, pageToken, artifacts, all = false, stream = false } = options;
    const output = new Output(session);
    // People read a table; programs get the fields of each task (A2A CLI specification 11.2).
    const isPlain = !session.choices.isVerbose && artifacts !== true && historyLength === 0;
    const isTable = process.stdout.isTTY && isPlain && !stream && !output.isJson;
    const request = {
      ...present({ contextId, statusTimestampAfter: after, pageSize, pageToken }),
      ...(status !== undefined && { status: stateOf(status) }),
      historyLength,
      // Many agents answer with an artifact.
      ...((artifacts === true || isTable) && { includeArtifacts: true }),
    };
    const client = await session.connect();
    const { signal } = session;
    if (all && !isTable && (stream || !output.isJson)) {
      for await (const task of client.listAllTasks(request, { signal })) {
        output.line(task, (text) => summary(text, task));
      }
      return;
    }
    const page = await session.answered(client.listTasks(request, { signal }));
    const tasks = [...page.tasks];
    if (all && page.nextPageToken !== '') {
      const rest = { ...request, pageToken: page.nextPageToken };
      for await (const task of client.listAllTasks(rest, { signal })) tasks.push(task);
    }
    if (stream) {
      for (const task of tasks) output.line(task, (text) => summary(text, task));
      return;
    }
    const merged = all ? { nextPageToken: '', pageSize: tasks.length } : {};
    output.document({ ...page, tasks, ...merged }, (text) => {
      if (isTable)
        text.table(
          ['Task', 'State', 'Updated', 'Answer'],
          tasks.map((task) => rowOf(task, new Date())),
        );
      else for (const task of tasks) summary(text, task);
      text.field('Tasks', `${tasks.length} of ${page.totalSize}`);
      text.field('Next page', page.nextPageToken);
    });
  });
}

function rowOf({ id, status, artifacts = [] }: Task, now: Date): readonly string[] {
  const { state, timestamp = '', message } = status;
  const answer = message?.parts ?? artifacts.flatMap(({ parts }) => parts);
  const said = shownParts(answer).flatMap((part) => part.text ?? []);
  return [id, stateWords(state), shortTime(timestamp, now), said.join(' ')];
}

/** In local time: the time of today, else the date. On 80 columns, the answers need the rest. */
export function shortTime(timestamp: string, now: Date): string {
  const time = new Date(timestamp);
  if (Number.isNaN(time.getTime())) return '';
  // Sweden writes dates as ISO 8601 does.
  const date = time.toLocaleDateString('sv');
  return date === now.toLocaleDateString('sv') ? time.toLocaleTimeString('sv') : date;
}

function summary(text: TextWriter, task: Task): void {
  text.task(task);
  text.blank();
}

/** `input-required` and `TASK_STATE_INPUT_REQUIRED` are the same. */
function stateOf(text: string): TaskState {
  const nameOf = (state: string): string => stateWords(state).replaceAll(' ', '-');
  const names = taskStates.map(nameOf);
  const state = taskStates[names.indexOf(nameOf(text.toUpperCase().replaceAll('-', '_')))];
  if (state !== undefined) return state;
  const near = suggest(text.toLowerCase(), names, `use ${names.join(', ')}`);
  throw usage(`--status ${text} is not a state; ${near}`);
}
