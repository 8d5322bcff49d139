import type { Caller } from '../agents/index.ts';
import {
  type CancelTaskRequest,
  isInterrupted,
  isTerminal,
  Json,
  type JsonObject,
  LegateError,
  type Task,
  taskNotFound,
} from '../protocol/index.ts';
import type { TaskRecord } from '../store/index.ts';
import { type Call, encodeTurnRequest, type TurnRequest } from './call.ts';
import { appendEnd } from './append-end.ts';
import type { Hub } from './log-reader.ts';
import { LiveTask, taskOf } from './live-task.ts';
import type { EngineSettings } from './options.ts';
import { waitForTurn } from './turn-wait.ts';
import type { Turns } from './turns.ts';

interface CancelTarget {
  readonly settings: EngineSettings;
  readonly hub: Hub;
  readonly turns: Turns;
  readonly replica: string;
  readonly owner: string;
  readonly taskId: string;
  /** The caller that cancels the task. */
  readonly caller: Caller;
  readonly metadata: JsonObject | undefined;
}

type CancelOptions = Pick<CancelTarget, 'settings' | 'hub' | 'turns' | 'replica' | 'owner'> & {
  readonly request: CancelTaskRequest;
  readonly call: Call;
};

/**
 * Cancels a task. The request is stored first, so it survives a crash of the replica that runs the turn.
 * Then a running turn is stopped, on any replica; an idle task ends at once. Resolves with the task once
 * it has ended.
 */
export async function cancelTask(options: CancelOptions): Promise<Json<Task>> {
  const { settings, hub, owner, request, call } = options;
  const { store } = settings;
  const { id, metadata } = request;
  const record = await store.load(id, owner);
  if (record === undefined) throw taskNotFound(id);
  // In 0.3 a second cancel fails: an ended task can't be cancelled, not even a cancelled one.
  if (isTerminal(record.state)) return ended(record, call.version !== '0.3');
  const target = { ...options, taskId: id, caller: call.caller, metadata };
  await requestCancel(target);
  let triedAt = settings.scheduler.now();
  const check = async (): Promise<Json<Task> | undefined> => {
    const current = await store.load(id, owner);
    if (current === undefined) throw taskNotFound(id);
    if (isTerminal(current.state)) return ended(current);
    // The turn ended in another way, and its replica may have died before it read the request.
    const now = settings.scheduler.now();
    if (isInterrupted(current.state) && Math.abs(now - triedAt) >= settings.pollIntervalMs) {
      triedAt = now;
      await requestCancel(target);
    }
    return undefined;
  };
  return waitForTurn({ settings, hub, taskId: id, signal: call.signal }, check);
}

/** Stores the cancellation request, and stops the turn of the task or ends an idle task. */
export async function requestCancel(target: CancelTarget): Promise<void> {
  const requested = await target.settings.store.requestCancel(target.taskId);
  if (requested?.running === true) target.turns.stop(target.taskId, 'cancel');
  else if (requested !== undefined) await cancelIdle(target, requested.queued);
}

/** A second cancel returns the cancelled task again. Tasks that ended otherwise can't be cancelled. */
function ended(record: TaskRecord, isRepeatable = true): Json<Task> {
  if (record.state === 'TASK_STATE_CANCELED' && isRepeatable) return taskOf(record);
  throw new LegateError(
    'TASK_NOT_CANCELABLE',
    `task ${record.id} has ended as ${record.state.slice('TASK_STATE_'.length).toLowerCase()}`,
    { metadata: { taskId: record.id } },
  );
}

/** Cancels a task without a running turn. A turn that starts meanwhile stops on a version conflict. */
async function cancelIdle(target: CancelTarget, isQueued: boolean): Promise<void> {
  const { settings, hub, replica, taskId, owner, metadata } = target;
  const { store, agent } = settings;
  const record = await store.load(taskId, owner);
  if (record === undefined || isTerminal(record.state)) return;
  // The end of the task, or the turn that abandons it, can claim a turn for this process.
  using _ = target.turns.inFlight.claiming(keyOf(target, record));
  // The flows of a superseded task belong to its successor.
  if (agent.abandon !== undefined && !isQueued && !record.isSuperseded)
    return await abandon(target, record);
  const outcome = await appendEnd({
    settings,
    hub,
    replica,
    record,
    end: { kind: 'canceled', ...(metadata !== undefined && { metadata }) },
  });
  if (outcome.kind === 'appended') {
    if (outcome.next !== undefined) target.turns.follow(outcome.next);
  } else {
    target.turns.stop(taskId, 'cancel');
    hub.wake(taskId);
  }
}

function keyOf({ settings, owner }: CancelTarget, { id, contextId }: TaskRecord): string {
  return settings.agent.serialise === 'task' ? id : `${owner}\n${contextId}`;
}

/** Queues a turn in which the agent abandons the task and cleans up its conversation. */
async function abandon(target: CancelTarget, record: TaskRecord): Promise<void> {
  const { settings, turns, replica, owner, caller, metadata } = target;
  const { store, agent, scheduler } = settings;
  const turnRequest: TurnRequest = {
    caller,
    metadata,
    acceptedOutputModes: [],
    extensions: [],
    cancel: true,
  };
  const outcome = await store.admit({
    agent: agent.name,
    owner,
    key: keyOf(target, record),
    taskId: record.id,
    contextId: record.contextId,
    replica,
    now: scheduler.now(),
    request: encodeTurnRequest(turnRequest),
    maxContexts: 0,
  });
  if (outcome.kind !== 'admitted' || !outcome.running) return;
  const task = LiveTask.from((await store.load(record.id)) ?? record);
  const [message] = task.history;
  if (message === undefined) throw taskNotFound(record.id);
  turns.start({
    turn: outcome.turn,
    owner,
    request: turnRequest,
    message,
    task,
    snapshotVersion: record.snapshot.version,
    mayReply: false,
  });
}
