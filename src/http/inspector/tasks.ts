import { z } from 'zod';
import { type Caller, readSteps } from '../../agents/index.ts';
import { present } from '../../config/index.ts';
import { type Part, shortened, type Task, taskNotFound, taskStates } from '../../protocol/index.ts';
import type { TaskRecord } from '../../store/index.ts';
import { readTaskAt } from '../../tasks/index.ts';
import { callOfRequest } from '../request.ts';
import { frame, sendEvents } from '../sse.ts';
import {
  type ApiCall,
  audited,
  between,
  bodyOf,
  engineOf,
  type Inspection,
  queryOf,
  type Routes,
} from './inspection.ts';
import type {
  EventsView,
  OwnerView,
  StepsView,
  TaskListView,
  TaskSummary,
  TaskView,
} from './model.ts';

const sequence = between(0, Number.MAX_SAFE_INTEGER);

/** The tasks of all callers: their list, their events, and cancellation. */
export const taskRoutes: Routes = [
  ['GET', 'tasks', listTasks],
  ['GET', 'tasks/{id}', showTask],
  ['GET', 'tasks/{id}/events', showEvents],
  ['GET', 'tasks/{id}/steps', showSteps],
  ['GET', 'tasks/{id}/stream', streamEvents],
  ['POST', 'tasks/{id}/cancel', cancelTask],
];

const listQuery = z.object({
  limit: between(1, 200).default(50),
  state: z.enum(taskStates).optional(),
  context: z.string().optional(),
  owner: z.string().optional(),
  since: sequence.optional(),
  after: z
    .string()
    .regex(/^\d{1,16}:.{1,256}$/s, 'must be the `next` of the page before')
    .transform((cursor) => {
      const colon = cursor.indexOf(':');
      return { statusTime: Number(cursor.slice(0, colon)), id: cursor.slice(colon + 1) };
    })
    .optional(),
});

async function listTasks({ store }: Inspection, call: ApiCall): Promise<TaskListView> {
  const { context: contextId, since, ...query } = queryOf(call, listQuery);
  const statusTimeFrom = since === 0 ? undefined : since;
  const page = await store.list(present({ ...query, contextId, statusTimeFrom }));
  const last = page.records.at(-1);
  return {
    tasks: page.records.map(taskSummary),
    total: page.total,
    ...(page.more && last !== undefined && { next: `${last.statusTime}:${last.id}` }),
  };
}

async function load({ store }: Inspection, { params }: ApiCall): Promise<TaskRecord> {
  const { id = '' } = params;
  const record = await store.load(id);
  if (record === undefined) throw taskNotFound(id);
  return record;
}

async function showTask(inspection: Inspection, call: ApiCall): Promise<TaskView> {
  const record = await load(inspection, call);
  const { at = record.version } = queryOf(call, z.object({ at: sequence.optional() }));
  const task = await readTaskAt(inspection.store, record.id, Math.min(at, record.version));
  if (task === undefined) throw taskNotFound(record.id);
  return { summary: taskSummary(record), task };
}

const eventsQuery = z.object({
  after: sequence.default(0),
  limit: between(1, 5_000).default(500),
});

async function showEvents(inspection: Inspection, call: ApiCall): Promise<EventsView> {
  const { id, version } = await load(inspection, call);
  const { after, limit } = queryOf(call, eventsQuery);
  const events = await inspection.store.readEvents(id, after, limit);
  return {
    events: events.map(({ sequence: number, body }) => ({ sequence: number, body: body.value })),
    version,
  };
}

const liveStates: ReadonlySet<string> = new Set(['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING']);

async function showSteps(inspection: Inspection, call: ApiCall): Promise<StepsView> {
  const { id, state } = await load(inspection, call);
  const isLive = liveStates.has(state);
  const turns = await readSteps(inspection.store.records, { taskId: id, isOver: !isLive });
  return { turns, isLive };
}

/** Streams the events of a task for its owner, from the event after `after` until the stream ends. */
async function streamEvents(inspection: Inspection, call: ApiCall): Promise<void> {
  const record = await load(inspection, call);
  const { request, response } = call;
  const { service } = inspection;
  const { after } = queryOf(call, eventsQuery);
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
    encode: (event) => frame(event, event.body.text),
    encodeError: ({ message }) => `event: error\ndata: ${JSON.stringify({ message })}\n\n`,
    logger: service.logger,
    keepAliveMs: service.limits.keepAliveMs,
    closing: inspection.closing,
  });
}

async function cancelTask(inspection: Inspection, call: ApiCall): Promise<Task> {
  await bodyOf(call, z.object({}));
  const { id, owner } = await load(inspection, call);
  const caller = callerOf(owner);
  const engine = engineOf(inspection, owner);
  const task = await engine.cancelTask({ id }, { caller, version: '1.0' });
  audited(inspection, call, 'audit.task_cancelled', { taskId: id });
  return task.value;
}

/** Maximum length of the first message in a list, in characters. */
const maxRequest = 140;

function taskSummary(record: TaskRecord): TaskSummary {
  const { id, contextId, state, version, statusTime, cancelRequested, hasPush } = record;
  const request = requestOf(record.snapshot.body.value);
  const owner = ownerView(record.owner);
  return { id, contextId, owner, state, version, statusTime, cancelRequested, hasPush, request };
}

/** The text of the first message, shortened; without text, the kind of its content. */
function requestOf({ history }: Task): string {
  return shortLine(textOfParts(history?.[0]?.parts ?? []));
}

/** The text of a message; without text, the kind of its content. */
export function textOfParts(parts: readonly Part[]): string {
  const text = parts.map((part) => part.text ?? '').join(' ');
  if (text.trim() !== '') return text;
  const [first] = parts;
  if (first === undefined) return '';
  return first.filename ?? (first.data === undefined ? 'file' : 'data');
}

/** Joins a text to one line and shortens it for a list. */
export function shortLine(text: string): string {
  return shortened(text.replaceAll(/\s+/g, ' ').trim(), maxRequest);
}

/** Decodes an owner key; an unknown one is shown as the subject. */
export function ownerView(key: string): OwnerView {
  let parts: unknown;
  try {
    parts = JSON.parse(key);
  } catch {
    // Not an owner key of this store: shown unchanged.
  }
  const [agent = '', tenant = '', subject = key] = Array.isArray(parts) ? parts.map(String) : [];
  return { key, agent, tenant, subject };
}

/** The caller that owns a task: an operator can cancel and follow the tasks of all callers. */
function callerOf(owner: string): Caller {
  const { tenant, subject } = ownerView(owner);
  return { tenant, subject, method: 'operator' };
}
