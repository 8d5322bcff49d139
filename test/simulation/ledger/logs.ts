import { isDeepStrictEqual } from 'node:util';
import {
  isJsonObject,
  isTerminal,
  Json,
  type Task,
  type TaskState,
} from '../../../src/protocol/index.ts';
import type { Admission, Append, AppendOutcome, LogEvent } from '../../../src/store/index.ts';
import type { StreamEvent } from '../../../src/tasks/index.ts';
import type { Report } from '../violation.ts';
import { Replay } from './replay.ts';

/** What is known of one task. */
export interface TaskAccount {
  readonly id: string;
  /** How many tasks there were before it. */
  readonly order: number;
  readonly contextId: string;
  /** Event n stands at index n - 1. */
  readonly events: LogEvent[];
  readonly replay: Replay;
  state: TaskState;
  cancelRequested: boolean;
  /** When it was last written to. */
  changedAt: number;
  /** It was answered with a plain message instead. */
  isGone: boolean;
}

/**
 * Every task's log as it was written. Rules: numbers without gaps and without repeats; what has ended
 * stays as it is; snapshots, answers and streams show what the log says.
 */
export class Logs {
  readonly #report: Report;
  readonly #now: () => number;
  readonly #tasks = new Map<string, TaskAccount>();

  constructor(report: Report, now: () => number) {
    this.#report = report;
    this.#now = now;
  }

  get(taskId: string): TaskAccount | undefined {
    return this.#tasks.get(taskId);
  }

  all(): Iterable<TaskAccount> {
    return this.#tasks.values();
  }

  create(admission: Admission, task: Task): TaskAccount {
    const { taskId, contextId } = admission;
    if (this.#tasks.has(taskId)) this.#report('a new task has a new id', taskId);
    const replay = new Replay(taskId);
    replay.add({ task });
    const account: TaskAccount = {
      id: taskId,
      order: this.#tasks.size,
      contextId,
      events: [{ sequence: 1, body: Json.of({ task }) }],
      replay,
      state: task.status.state,
      cancelRequested: false,
      changedAt: this.#now(),
      isGone: false,
    };
    this.#tasks.set(taskId, account);
    return account;
  }

  append(append: Append, outcome: AppendOutcome): TaskAccount | undefined {
    const task = this.#tasks.get(append.taskId);
    const version = task?.events.length ?? 0;
    if (outcome.kind !== 'appended') {
      const isStale = task === undefined || task.isGone || isTerminal(task.state);
      if (outcome.kind === 'version-conflict' && !isStale && version === append.version) {
        this.#report('only a stale append conflicts', `${append.taskId} at ${version}`);
      }
      return undefined;
    }
    if (task === undefined || task.isGone) {
      this.#report('events belong to a task', append.taskId);
      return undefined;
    }
    if (isTerminal(task.state)) {
      this.#report(
        'terminal states never change',
        `${task.id} was ${task.state}, and ${append.state} was written`,
      );
    }
    if (append.version !== version || append.events.some(isMisnumbered(version))) {
      this.#report(
        'event numbers have no gap and no duplicate',
        `${task.id} at ${version}: appended ${append.events.map(({ sequence }) => sequence).join()}`,
      );
    }
    if (outcome.cancelRequested !== task.cancelRequested) {
      this.#report('an append reports a cancel request', task.id);
    }
    task.changedAt = this.#now();
    if (append.reply !== undefined) {
      task.isGone = true;
      return task;
    }
    for (const event of append.events) {
      const body = event.body.value;
      if ('message' in body && task.replay.hasMessage(body.message.messageId)) {
        this.#report('a follow-up is noted once', `${body.message.messageId} in ${task.id}`);
      }
      task.events.push(event);
      task.replay.add(body);
    }
    task.state = append.state;
    this.#checkSuccessor(task);
    if (task.replay.status.state !== append.state) {
      this.#report(
        'the state of a task is that of its last status',
        `${task.id}: ${append.state}, but the log says ${task.replay.status.state}`,
      );
    }
    if (append.snapshot !== undefined) {
      const { version: shown, body } = append.snapshot;
      this.showTask(task.id, shown, body.value, 'a snapshot');
    }
    return task;
  }

  #checkSuccessor(task: TaskAccount): void {
    const [told] = task.replay.status.message?.parts ?? [];
    const successor = isJsonObject(told?.data) ? told.data['superseded_by'] : undefined;
    if (typeof successor !== 'string') return;
    const { order = 0, events = [] } = this.#tasks.get(successor) ?? {};
    const isContinued = events.some(({ body }) => 'message' in body.value);
    if (order < task.order && !isContinued) {
      this.#report('a question is answered by what came later', `${task.id} by ${successor}`);
    }
  }

  /** Checks a task that somebody was shown against the log up to its version. */
  showTask(taskId: string, version: number, shown: Task, where: string): void {
    const task = this.#tasks.get(taskId);
    if (task === undefined || version > task.events.length) {
      this.#report('what is shown is in the log', `${where}: ${taskId} at ${version}`);
      return;
    }
    const replayed = version === task.events.length ? task.replay : replayTo(task, version);
    if (!isDeepStrictEqual(replayed.task(), shown)) {
      this.#report(
        'a task that is shown equals its replayed log',
        `${where}: ${taskId} at ${version} shows ${JSON.stringify(shown)}, the log says ${JSON.stringify(replayed.task())}`,
      );
    }
  }

  /** Checks an event that a subscriber got after the one numbered `previous`. */
  showEvent(taskId: string, previous: number, event: StreamEvent): void {
    const task = this.#tasks.get(taskId);
    const expected = task === undefined ? 0 : nextVisible(task.events, previous);
    if (event.sequence !== expected) {
      this.#report(
        'a subscriber sees each event once and in order',
        `${taskId}: after ${previous} came ${event.sequence} instead of ${expected}`,
      );
    } else if (!isSame(task?.events[expected - 1]?.body, event.body)) {
      this.#report(
        'a subscriber sees what is in the log',
        `${taskId}: event ${expected} is ${event.body.text}`,
      );
    }
  }
}

/** The number of the next event that goes to subscribers; callers' own messages do not. */
export function nextVisible(events: readonly LogEvent[], after: number): number {
  let sequence = after + 1;
  for (;;) {
    const event = events[sequence - 1];
    if (event === undefined || !('message' in event.body.value)) return sequence;
    sequence += 1;
  }
}

/** To compare texts costs more than everything else, and mostly it is the very same value. */
export function isSame<T>(a: Json<T> | undefined, b: Json<T>): boolean {
  return a === b || a?.text === b.text;
}

function isMisnumbered(version: number): (event: LogEvent, index: number) => boolean {
  return ({ sequence }, index) => sequence !== version + 1 + index;
}

function replayTo(task: TaskAccount, version: number): Replay {
  const replay = new Replay(task.id);
  for (const { body } of task.events.slice(0, version)) replay.add(body.value);
  return replay;
}
