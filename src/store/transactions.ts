import { isTerminal, type Json, LegateError, type Task } from '../protocol/index.ts';
import type {
  Admission,
  AdmitOutcome,
  Append,
  AppendOutcome,
  CommandEnd,
  CommandStore,
  TurnRecord,
} from './contract.ts';
import { applyWrites, holds } from './record-rules.ts';
import type { KnownMessage, Tables, TaskRow } from './tables.ts';
import type { OpenTurn } from './turn-queue.ts';

/** Admits one message; `id` is that of its turn. Must run inside a transaction. */
export function admit(tables: Tables, admission: Admission, id: number): AdmitOutcome {
  const { messages, turns } = tables;
  const { agent, owner, key, taskId, replica, request, dedupe, task, now } = admission;
  const known = dedupe && messages.find(owner, dedupe.key);
  if (known !== undefined && isRemembered(tables, known, now)) {
    if (known.digest !== dedupe?.digest) return { kind: 'reused' };
    return {
      kind: 'duplicate',
      taskId: known.taskId,
      ended: turns.open.get(known.turnId) === undefined,
      ...(known.reply !== undefined && { reply: known.reply }),
    };
  }
  const refusal = refusalOf(tables, admission);
  if (refusal !== undefined) return { kind: refusal };
  // The calls that can throw come first, because tables in memory have no rollback.
  if (task !== undefined) create(tables, admission, task);
  if (known !== undefined) messages.delete(known.turnId);
  if (dedupe !== undefined) messages.insert(id, owner, dedupe, taskId);
  const running = !turns.open.isBusy(key);
  const turn = { id, agent, key, taskId, attempt: 1, replica: running ? replica : undefined };
  turns.insert(turn, request);
  return { kind: 'admitted', turn: { id, key, taskId, attempt: 1, request }, running };
}

function refusalOf(
  { tasks, openContexts }: Tables,
  admission: Admission,
): 'context-limit' | 'task-not-found' | 'task-ended' | undefined {
  if (admission.task !== undefined) {
    return openContexts.isFull(admission, admission.maxContexts) ? 'context-limit' : undefined;
  }
  const existing = tasks.find(admission.taskId);
  if (existing?.owner !== admission.owner) return 'task-not-found';
  return isTerminal(existing.state) ? 'task-ended' : undefined;
}

function isRemembered({ turns, tasks }: Tables, message: KnownMessage, now: number): boolean {
  if (turns.open.get(message.turnId) !== undefined) return true;
  if (message.expiresAt <= now) return false;
  return message.reply !== undefined || tasks.find(message.taskId) !== undefined;
}

function create(tables: Tables, admission: Admission, body: Json<Task>): void {
  const task = tables.tasks.insert(admission, body.value.status.state);
  tables.events.create(task, body);
  if (admission.push === undefined) return;
  tables.push.register(task, admission.push);
  tables.push.queueDeliveries(task, 1, admission.now);
}

/** Appends to one task, with all related writes. Must run inside a transaction. */
export function append(tables: Tables, write: Append): AppendOutcome {
  checkAppend(write);
  const { tasks, turns, records, contexts } = tables;
  const turn = write.turn && turns.open.get(write.turn.id);
  if (
    write.turn !== undefined &&
    (turn?.replica !== write.turn.replica || turn.taskId !== write.taskId)
  ) {
    return { kind: 'fenced' };
  }
  const task = tasks.find(write.taskId);
  if (task?.version !== write.version || isTerminal(task.state)) {
    return { kind: 'version-conflict' };
  }
  if (write.records !== undefined) {
    if (!holds(records, write.records, write.now)) return { kind: 'version-conflict' };
    applyWrites(records, write.records, write.now);
  }
  if (write.context !== undefined) contexts.write(write.context, write.now);

  let deliveries = false;
  let ended: readonly OpenTurn[] = [];
  if (write.reply !== undefined && turn !== undefined) {
    tables.messages.setReply(turn.id, write.reply);
    ended = [...turns.open.ofTask(task.id)];
    tables.remove(task);
  } else {
    deliveries = writeEvents(tables, task, write);
    if (isTerminal(write.state)) ended = [...turns.open.ofTask(task.id)];
    else if (write.endsTurn === true && turn !== undefined) ended = [turn];
  }
  for (const each of ended) turns.end(each);
  const key = (turn !== undefined && ended.includes(turn) ? turn : ended[0])?.key;
  const next = key === undefined ? undefined : startNext(tables, key, write.replica);
  const { cancelRequested } = task;
  return { kind: 'appended', cancelRequested, deliveries, ...(next !== undefined && { next }) };
}

/** Returns whether a delivery was written. */
function writeEvents({ tasks, events, push }: Tables, task: TaskRow, write: Append): boolean {
  let deliveries = false;
  events.append(task, write.events);
  if (task.pushConfigs > 0) {
    for (const { sequence, body } of write.events) {
      if ('message' in body.value) continue;
      push.queueDeliveries(task, sequence, write.now);
      deliveries = true;
    }
  }
  if (write.snapshot !== undefined) events.setSnapshot(task, write.snapshot);
  const { state, statusTime, isSuperseded = false } = write;
  tasks.advance(task, {
    version: task.version + write.events.length,
    state,
    statusTime,
    isSuperseded,
  });
  return deliveries;
}

/** Starts the first turn of a key, unless it runs already. Must run inside a transaction. */
function startNext({ turns }: Tables, key: string, replica: string): TurnRecord | undefined {
  const turn = turns.open.head(key);
  if (turn === undefined || turn.replica !== undefined) return undefined;
  return turns.run(turn, replica, turn.attempt);
}

/** Refuses an inconsistent append before any write. */
export function checkAppend(append: Append): void {
  const { events, version, turn, snapshot, taskId } = append;
  for (let index = 0; index < events.length; index += 1) {
    const sequence = events[index]?.sequence;
    if (sequence !== version + 1 + index) {
      throw new LegateError(
        'INTERNAL',
        `task ${taskId}: an event numbered ${sequence} cannot follow version ${version + index}`,
      );
    }
  }
  if (turn === undefined && (append.endsTurn === true || append.reply !== undefined)) {
    throw new LegateError('INTERNAL', `task ${taskId}: only the runner of a turn can end it`);
  }
  if (snapshot !== undefined && snapshot.version > version + events.length) {
    throw new LegateError(
      'INTERNAL',
      `task ${taskId}: a snapshot of version ${snapshot.version} is ahead of its log`,
    );
  }
}

/** Turns without a task. Calls `onEnd` when a command has ended. */
export function localCommands(
  tables: Tables,
  write: <T>(run: () => T) => Promise<T>,
  onEnd: (id: string) => void,
): CommandStore {
  const { turns, tasks, records, contexts } = tables;
  return {
    queue: ({ id: taskId, agent, key, replica, request }) => {
      let id: number | undefined;
      return write(() => {
        id ??= turns.nextId();
        const running = !turns.open.isBusy(key);
        const turn = { id, key, taskId, attempt: 1 };
        turns.insert({ ...turn, agent, replica: running ? replica : undefined }, request);
        return { turn: { ...turn, request }, running };
      });
    },
    async end({ turn: { id, taskId }, replica, context, records: writes, now }) {
      const outcome = await write((): CommandEnd => {
        const turn = turns.open.get(id);
        if (turn?.replica !== replica) return { kind: 'fenced' };
        if (writes !== undefined) {
          if (!holds(records, writes, now)) return { kind: 'version-conflict' };
          applyWrites(records, writes, now);
        }
        if (context !== undefined) contexts.write(context, now);
        turns.end(turn);
        return { kind: 'ended', ...nextOf(tables, turn.key, replica) };
      });
      if (outcome.kind === 'ended') onEnd(taskId);
      return outcome;
    },
    async drop(key, replica) {
      const dropped = await write(() => {
        const open = turns.open.ofKey(key).filter(({ taskId }) => tasks.find(taskId) === undefined);
        for (const turn of open) turns.end(turn);
        return { ids: open.map(({ taskId }) => taskId), ...nextOf(tables, key, replica) };
      });
      for (const id of dropped.ids) onEnd(id);
      return dropped;
    },
  };
}

function nextOf(tables: Tables, key: string, replica: string): { next?: TurnRecord } {
  const next = startNext(tables, key, replica);
  return next === undefined ? {} : { next };
}
