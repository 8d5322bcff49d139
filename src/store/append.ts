import { isTerminal, LegateError } from '../protocol/index.ts';
import type { Append, AppendOutcome, TurnRecord } from './contract.ts';
import type { Tables, TaskRow } from './tables.ts';
import type { OpenTurn } from './turn-queue.ts';

/** Appends to one task, and all that goes with it. Inside a transaction only. */
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
    if (!records.holds(write.records, write.now)) return { kind: 'version-conflict' };
    records.apply(write.records, write.now);
  }
  if (write.context !== undefined) contexts.write({ ...write.context, now: write.now });

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

/** True when any of the events is owed to a webhook. */
function writeEvents({ tasks, events, push }: Tables, task: TaskRow, write: Append): boolean {
  let deliveries = false;
  events.append(task.number, write.events);
  if (task.pushConfigs > 0) {
    for (const { sequence, body } of write.events) {
      if ('message' in body.value) continue;
      push.owe(task, sequence, write.now);
      deliveries = true;
    }
  }
  if (write.snapshot !== undefined) events.setSnapshot(task.number, write.snapshot);
  tasks.advance(task, task.version + write.events.length, write.state, write.statusTime);
  return deliveries;
}

/** Starts the first turn of a key, unless it runs already. Inside a transaction only. */
export function startNext({ turns }: Tables, key: string, replica: string): TurnRecord | undefined {
  const turn = turns.open.head(key);
  if (turn === undefined || turn.replica !== undefined) return undefined;
  return turns.run(turn, replica, turn.attempt);
}

/** Refuses an append that contradicts itself, before anything of it is written. */
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
