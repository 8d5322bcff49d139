import { didYouMean, present } from '../../config/index.ts';
import {
  type ListTasksRequest,
  type ListTasksResponse,
  type Task,
  type TaskState,
  taskStates,
} from '../../protocol/index.ts';
import type { ListCommandOptions } from '../commands/tasks.ts';
import { calling } from './calling.ts';
import { historyOf } from './choices.ts';
import { Output } from './output.ts';
import type { TextWriter } from './text.ts';
import { usage } from '../usage.ts';

/** Shows the caller's tasks, the newest first. */
export async function listTasks(
  agent: string | undefined,
  options: ListCommandOptions,
): Promise<void> {
  await calling(options, agent, async (session) => {
    const request = requestOf(options, session.choices.setting('context-id'));
    const client = await session.connect();
    const { signal } = session;
    const output = new Output(session);
    if (options.all === true && (options.stream === true || !output.isJson)) {
      for await (const task of client.listAllTasks(request, { signal })) {
        output.line(task, (text) => summary(text, task));
      }
      return;
    }
    const asked = client.listTasks(request, { signal });
    const answer = await session.answered(
      options.all === true ? allOf(await asked, request, client, signal) : asked,
    );
    if (options.stream === true) {
      for (const task of answer.tasks) output.line(task, (text) => summary(text, task));
      return;
    }
    output.document(answer, (text) => {
      for (const task of answer.tasks) summary(text, task);
      text.field('Tasks', `${answer.tasks.length} of ${answer.totalSize}`);
      text.field('Next page', answer.nextPageToken);
    });
  });
}

/** Merges all pages into one document. */
async function allOf(
  first: ListTasksResponse,
  request: ListTasksRequest,
  client: { listAllTasks(request: ListTasksRequest, options: object): AsyncIterable<Task> },
  signal: AbortSignal,
): Promise<ListTasksResponse> {
  const tasks = [...first.tasks];
  if (first.nextPageToken !== '') {
    const rest = { ...request, pageToken: first.nextPageToken };
    for await (const task of client.listAllTasks(rest, { signal })) tasks.push(task);
  }
  return { ...first, tasks, nextPageToken: '', pageSize: tasks.length };
}

function summary(text: TextWriter, task: Task): void {
  text.task(task);
  text.blank();
}

function requestOf(options: ListCommandOptions, context: string | undefined): ListTasksRequest {
  const { status, after, pageSize, pageToken, artifacts } = options;
  const contextId = options.contextId ?? context;
  const historyLength = historyOf(options.history) ?? 0;
  return {
    ...(contextId !== undefined && { contextId }),
    ...(status !== undefined && { status: stateOf(status) }),
    ...present({ statusTimestampAfter: after, pageSize, pageToken }),
    historyLength,
    ...(artifacts === true && { includeArtifacts: true }),
  };
}

/** `input-required` and `TASK_STATE_INPUT_REQUIRED` are the same. */
function stateOf(text: string): TaskState {
  const name = text
    .toUpperCase()
    .replaceAll('-', '_')
    .replace(/^TASK_STATE_/, '');
  const state = taskStates.find((one) => one === `TASK_STATE_${name}`);
  if (state !== undefined) return state;
  const words = taskStates.map((one) =>
    one.slice('TASK_STATE_'.length).toLowerCase().replaceAll('_', '-'),
  );
  const near = didYouMean(text.toLowerCase(), words);
  throw usage(
    `--status ${text} is not a state${near === undefined ? `; use ${words.join(', ')}` : `; did you mean ${near}?`}`,
  );
}
