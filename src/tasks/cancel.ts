import {
  type CancelTaskRequest,
  isTerminal,
  Json,
  type JsonValue,
  LegateError,
  type Task,
  taskNotFound,
} from '../protocol/index.ts';
import type { TaskRecord } from '../store/index.ts';
import type { TurnRequest } from './admission.ts';
import { appendEnd } from './append-end.ts';
import type { Call } from './call.ts';
import type { Hub } from './hub.ts';
import { LiveTask, taskOf } from './live-task.ts';
import type { EngineSettings } from './options.ts';
import { waitForTurn } from './turn-wait.ts';
import type { Turns } from './turns.ts';

interface CancelOptions {
  readonly settings: EngineSettings;
  readonly hub: Hub;
  readonly turns: Turns;
  readonly replica: string;
  readonly owner: string;
  readonly request: CancelTaskRequest;
  readonly call: Call;
}

/**
 * Cancels a task: the wish is stored first, so it survives a crash of whoever should follow it. A
 * running turn is then asked to stop, wherever it runs; an idle task ends at once. Answers with the
 * task once it has ended.
 */
export async function cancelTask(options: CancelOptions): Promise<Json<Task>> {
  const { settings, hub, turns, owner, request, call } = options;
  const { store } = settings;
  const { id } = request;
  const record = await store.load(id, owner);
  if (record === undefined) throw taskNotFound(id);
  if (isTerminal(record.state)) return ended(record);
  const wish = await store.requestCancel(id);
  if (wish?.running === true) turns.stop(id, 'cancel');
  else if (wish !== undefined) await cancelIdle(options, wish.queued);
  return waitForTurn(
    hub,
    id,
    async () => {
      const current = await store.load(id, owner);
      if (current === undefined) throw taskNotFound(id);
      return isTerminal(current.state) ? ended(current) : undefined;
    },
    call.signal,
  );
}

/** Cancelling again answers as the first time; what ended otherwise cannot be cancelled any more. */
function ended(record: TaskRecord): Json<Task> {
  if (record.state === 'TASK_STATE_CANCELED') return taskOf(record);
  throw new LegateError(
    'TASK_NOT_CANCELABLE',
    `task ${record.id} has ended as ${record.state.slice('TASK_STATE_'.length).toLowerCase()}`,
    { metadata: { taskId: record.id } },
  );
}

/** No turn of the task runs. A turn that starts meanwhile loses to our append and stops. */
async function cancelIdle(options: CancelOptions, isQueued: boolean): Promise<void> {
  const { settings, hub, replica, request, owner } = options;
  const { store, agent } = settings;
  const record = await store.load(request.id, owner);
  if (record === undefined || isTerminal(record.state)) return;
  // Its end, or the turn that abandons it, may bring a turn to this process.
  using _ = options.turns.atWork.claiming(keyOf(options, record));
  if (agent.abandon !== undefined && !isQueued) return await abandon(options, record);
  const outcome = await appendEnd({
    settings,
    hub,
    replica,
    record,
    end: {
      kind: 'canceled',
      ...(request.metadata !== undefined && { metadata: request.metadata }),
    },
  });
  if (outcome.kind === 'appended') {
    if (outcome.next !== undefined) options.turns.follow(outcome.next);
  } else {
    options.turns.stop(request.id, 'cancel');
    hub.nudge(request.id);
  }
}

function keyOf({ settings, owner }: CancelOptions, { id, contextId }: TaskRecord): string {
  return settings.agent.serialise === 'task' ? id : `${owner}\n${contextId}`;
}

/** Lets the agent put its conversation in order, as a turn that waits its place like any other. */
async function abandon(options: CancelOptions, record: TaskRecord): Promise<void> {
  const { settings, turns, replica, owner, call, request } = options;
  const { store, agent, scheduler } = settings;
  const turnRequest: TurnRequest = {
    caller: call.caller,
    metadata: request.metadata,
    acceptedOutputModes: [],
    extensions: [],
    cancel: true,
  };
  const outcome = await store.admit({
    agent: agent.name,
    owner,
    key: keyOf(options, record),
    taskId: record.id,
    contextId: record.contextId,
    replica,
    now: scheduler.now(),
    request: Json.of(turnRequest as unknown as JsonValue),
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
