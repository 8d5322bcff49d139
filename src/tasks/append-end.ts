import type { TurnEnd } from '../agents/index.ts';
import { Json } from '../protocol/index.ts';
import type { AppendOutcome, LogEvent, TaskRecord, TurnRecord } from '../store/index.ts';
import { endStates } from './agent-events.ts';
import type { Hub } from './hub.ts';
import { LiveTask } from './live-task.ts';
import type { EngineSettings } from './options.ts';
import { statusEvent } from './status-event.ts';

/**
 * Ends a task that no turn of this process works on: one append, compared and set on the version the
 * record shows. Losing the race is told by the outcome, never overwritten.
 */
export async function appendEnd(options: {
  settings: EngineSettings;
  hub: Hub;
  replica: string;
  record: TaskRecord;
  end: TurnEnd;
  turn?: TurnRecord;
}): Promise<AppendOutcome> {
  const { settings, hub, replica, record, end, turn } = options;
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
