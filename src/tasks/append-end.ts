import type { TurnEnd } from '../agents/index.ts';
import { Json } from '../protocol/index.ts';
import type { AppendOutcome, LogEvent, TaskRecord, TurnRecord } from '../store/index.ts';
import { endStates, statusEvent, supersededBy } from './agent-events.ts';
import type { Hub } from './log-reader.ts';
import { LiveTask } from './live-task.ts';
import type { EngineSettings } from './options.ts';

/**
 * Ends a task without a running turn in this process: one append, conditional on the version of the
 * record (compare-and-set). If another writer was first, nothing is written and the outcome shows it.
 */
export async function appendEnd(options: {
  settings: EngineSettings;
  hub: Hub;
  replica: string;
  record: TaskRecord;
  end: TurnEnd;
  turn?: TurnRecord;
  /** @default false */
  isSuperseded?: boolean;
}): Promise<AppendOutcome> {
  const { settings, hub, replica, record, end, turn, isSuperseded = false } = options;
  const now = settings.scheduler.now();
  const task = LiveTask.from(record);
  const body = statusEvent(task, endStates[end.kind], end, settings.scheduler);
  const events: LogEvent[] = [{ sequence: task.version + 1, body: Json.of(body) }];
  task.apply(body, task.version + 1);
  const outcome = await settings.store.append({
    taskId: record.id,
    version: record.version,
    events,
    state: task.status.state,
    statusTime: now,
    isSuperseded,
    snapshot: { version: task.version, body: Json.of(task.toTask()) },
    ...(turn !== undefined && { turn: { id: turn.id, replica }, endsTurn: true }),
    replica,
    now,
  });
  if (outcome.kind === 'appended') {
    hub.publish(record.id, events);
    if (outcome.deliveries) settings.push?.wake();
  }
  return outcome;
}

/**
 * Supersedes open questions of a conversation. A conversation with one state has one open question: a
 * message that starts a new task answers it too. The older tasks of the context stay input-required, with
 * one last status that names their successor. Their streams close, and they count as ended for limits and
 * retention. A message to one of them continues the conversation in that task.
 *
 * Resolves when the last events were passed to the store; `written` resolves when they are stored. Stores
 * keep the order of writes, so later writes follow these events. A store that batches writes commits both
 * together.
 */
export async function supersede(options: {
  settings: EngineSettings;
  hub: Hub;
  replica: string;
  owner: string;
  contextId: string;
  taskId: string;
  /** Whether this process still runs the superseding turn, according to the store. */
  isOurs: () => Promise<boolean>;
}): Promise<{ readonly written: Promise<void> }> {
  const { settings, hub, replica, owner, contextId, taskId, isOurs } = options;
  const page = await settings.store.list({
    owner,
    contextId,
    state: 'TASK_STATE_INPUT_REQUIRED',
    isOpen: true,
    limit: 100,
  });
  const open = page.records.filter((record) => record.id !== taskId);
  // A delayed process may find questions of later turns; while it still runs the turn, there are none.
  if (open.length > 0 && settings.store.shared && !(await isOurs())) {
    return { written: Promise.resolve() };
  }
  // If another writer was first, the task continued or was cancelled, and must not be ended here.
  const ends = open.map((record) => {
    const end = supersededBy(taskId, LiveTask.from(record).status);
    return appendEnd({ settings, hub, replica, record, end, isSuperseded: true });
  });
  const written = Promise.all(ends).then(() => undefined);
  return {
    written: written.catch((error: unknown) => {
      settings.logger.warn({ taskId, error }, 'tasks.supersede.failed');
    }),
  };
}
