import { invalidParams, taskNotFound, taskStates } from '../../protocol/index.ts';
import type { TaskRecord } from '../../store/index.ts';
import { readTaskAt } from '../../tasks/index.ts';
import { callOfRequest } from '../request.ts';
import { sendEvents } from '../sse.ts';
import {
  type ApiCall,
  audited,
  bodyOf,
  choiceOf,
  engineOf,
  type Inspection,
  numberOf,
  reply,
  type Routes,
} from './inspection.ts';
import type { EventsView, TaskListView, TaskView } from './model.ts';
import { callerOf, taskSummary } from './task-summary.ts';

const pageSize = { fallback: 50, min: 1, max: 200 };
const sequence = { fallback: 0, min: 0, max: Number.MAX_SAFE_INTEGER };

/** Everybody's tasks: what they are, what happened to them, and stopping them. */
export const taskRoutes: Routes = [
  ['GET', 'tasks', listTasks],
  ['GET', 'tasks/{id}', showTask],
  ['GET', 'tasks/{id}/events', showEvents],
  ['GET', 'tasks/{id}/stream', streamEvents],
  ['POST', 'tasks/{id}/cancel', cancelTask],
];

async function listTasks({ store }: Inspection, { query, response }: ApiCall): Promise<void> {
  const limit = numberOf(query, 'limit', pageSize);
  const state = choiceOf(query, 'state', taskStates);
  const contextId = query.get('context');
  const owner = query.get('owner');
  const since = numberOf(query, 'since', sequence);
  const after = query.get('after');
  const page = await store.list({
    limit,
    ...(state !== undefined && { state }),
    ...(contextId !== null && contextId !== '' && { contextId }),
    ...(owner !== null && owner !== '' && { owner }),
    ...(since > 0 && { statusTimeFrom: since }),
    ...(after !== null && { after: readCursor(after) }),
  });
  const last = page.records.at(-1);
  const view: TaskListView = {
    tasks: page.records.map(taskSummary),
    total: page.total,
    ...(page.more && last !== undefined && { next: `${last.statusTime}:${last.id}` }),
  };
  reply(response, view);
}

function readCursor(text: string): { statusTime: number; id: string } {
  const [, time = '', id = ''] = /^(\d{1,16}):(.{1,256})$/s.exec(text) ?? [];
  if (id !== '') return { statusTime: Number(time), id };
  throw invalidParams({ field: 'after', description: 'must be the `next` of a page before' });
}

async function load({ store }: Inspection, { params }: ApiCall): Promise<TaskRecord> {
  const { id = '' } = params;
  const record = await store.load(id);
  if (record === undefined) throw taskNotFound(id);
  return record;
}

async function showTask(inspection: Inspection, call: ApiCall): Promise<void> {
  const record = await load(inspection, call);
  const at = numberOf(call.query, 'at', { ...sequence, fallback: record.version });
  const task = await readTaskAt(inspection.store, record.id, Math.min(at, record.version));
  if (task === undefined) throw taskNotFound(record.id);
  const view: TaskView = { summary: taskSummary(record), task };
  reply(call.response, view);
}

async function showEvents(inspection: Inspection, call: ApiCall): Promise<void> {
  const record = await load(inspection, call);
  const after = numberOf(call.query, 'after', sequence);
  const limit = numberOf(call.query, 'limit', { fallback: 500, min: 1, max: 5_000 });
  const events = await inspection.store.readEvents(record.id, after, limit);
  const view: EventsView = {
    events: events.map(({ sequence: number, body }) => ({ sequence: number, body: body.value })),
    version: record.version,
  };
  reply(call.response, view);
}

/** Follows a task as its owner would: from the event after `after` until it ends. */
async function streamEvents(inspection: Inspection, call: ApiCall): Promise<void> {
  const record = await load(inspection, call);
  const { request, response } = call;
  const { service } = inspection;
  const after = numberOf(call.query, 'after', sequence);
  const stream = await engineOf(inspection, record.owner).subscribe(
    { id: record.id },
    {
      ...callOfRequest(request, response, {
        caller: callerOf(record.owner),
        version: '0.3',
        operation: 'subscribeToTask',
      }),
      ...(after > 0 && { lastEventId: after }),
    },
  );
  await sendEvents(response, stream, {
    encode: (event) => event.body.text,
    encodeError: ({ message }) => `event: error\ndata: ${JSON.stringify({ message })}\n\n`,
    logger: service.logger,
    keepAliveMs: service.limits.keepAliveMs,
    closing: inspection.closing,
  });
}

async function cancelTask(inspection: Inspection, call: ApiCall): Promise<void> {
  await bodyOf(call);
  const record = await load(inspection, call);
  const engine = engineOf(inspection, record.owner);
  const caller = callerOf(record.owner);
  const task = await engine.cancelTask({ id: record.id }, { caller, version: '1.0' });
  audited(inspection, call, 'audit.task_cancelled', { taskId: record.id });
  reply(call.response, task.value);
}
