import type { TurnEnd } from '../agents/index.ts';
import { isTerminal, type Message, taskNotFound } from '../protocol/index.ts';
import {
  isStoreFailure,
  reportedOutage,
  type TaskRecord,
  type TurnRecord,
} from '../store/index.ts';
import { decodeTurnRequest, type TurnRequest } from './call.ts';
import { InFlightTurns } from './in-flight.ts';
import { requestCancel } from './cancel.ts';
import { commandRequestOf, isCommand } from './command-run.ts';
import { Commands } from './commands.ts';
import type { Hub } from './log-reader.ts';
import { LiveTask } from './live-task.ts';
import type { EngineSettings } from './options.ts';
import { appendEnd } from './append-end.ts';
import { engineEnd } from './agent-events.ts';
import { retryWhileUnavailable } from './scheduler.ts';
import { TurnLost } from './task-writer.ts';
import { interruptedEnd, type StopCause } from './run-control.ts';
import { type Run, type TurnOutcome, TurnRun } from './turn-run.ts';
import { TurnMeter } from './turn-meter.ts';
import { turnIdOf } from './turn-view.ts';

/**
 * The turns that run in this process. A turn given to `start` or `resume` is already marked as
 * running under this replica in the store. The next turn of its key then runs in this process too.
 */
export class Turns {
  readonly inFlight = new InFlightTurns();
  readonly commands: Commands;
  readonly #settings: EngineSettings;
  readonly #hub: Hub;
  readonly #replica: string;
  /** By task: a task has at most one running turn. */
  readonly #running = new Map<string, Run>();
  readonly #byKey = new Map<string, Run>();
  /** Start functions of turns that wait for a slot, in order of arrival. */
  readonly #waiting = new Set<() => void>();
  /** Turns that run or wait. */
  #active = 0;
  /** Turns that run: at most `maxRunningTurns`. */
  #slots = 0;
  /** Claims and cancellations that a drain waits for, in addition to the turns. */
  readonly #background = new Set<Promise<unknown>>();
  #idle: (() => void)[] = [];
  #isDraining = false;
  #isClosed = false;
  readonly #meter: TurnMeter;
  /** Turns abandoned here because the store was unavailable for too long, with their attempt. */
  #abandoned = new Map<number, number>();
  /**
   * Turns that can't start here, such as those that a newer version of Legate has stored. A takeover holds
   * them until it ends, so that it finds other turns, and then releases them for other replicas.
   */
  readonly #held = new Map<number, TurnRecord>();

  constructor(settings: EngineSettings, hub: Hub, replica: string) {
    this.#settings = settings;
    this.#hub = hub;
    this.#replica = replica;
    this.#meter = new TurnMeter(settings);
    this.commands = new Commands({ settings, hub, turns: this, replica });
  }

  get size(): number {
    return this.#active;
  }

  /** Whether new turns are refused. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  find(taskId: string): Run | undefined {
    return this.#running.get(taskId);
  }

  /** Runs a turn that was just admitted. */
  start(options: {
    turn: TurnRecord;
    owner: string;
    request: TurnRequest;
    message: Message;
    task: LiveTask;
    snapshotVersion: number;
    mayReply: boolean;
    insteadOfAgent?: TurnEnd;
  }): { run: TurnRun; outcome: Promise<TurnOutcome> } {
    const run = new TurnRun({
      ...options,
      settings: this.#settings,
      hub: this.#hub,
      replica: this.#replica,
    });
    return { run, outcome: this.run(run, options.turn) };
  }

  run(run: Run, turn: TurnRecord): Promise<TurnOutcome> {
    if (this.#isClosed) run.stop('shutdown');
    return this.#execute(run, turn);
  }

  /**
   * Runs turns that no live replica runs: claims them in the store and resumes them here. Returns their
   * number. With `sparesExpired`, a replica whose lease has expired counts as alive.
   */
  takeOver(limit: number, { sparesExpired = false } = {}): Promise<number> {
    if (this.#isDraining) return Promise.resolve(0);
    return this.#inBackground(this.#claim(limit, sparesExpired));
  }

  /** Lets other replicas take over the turns that can't start here. */
  async releaseHeld(): Promise<void> {
    for (const { id } of this.#held.values()) {
      await this.#settings.store.release({ id, replica: this.#replica });
      this.#held.delete(id);
    }
  }

  async #claim(limit: number, sparesExpired: boolean): Promise<number> {
    const { store, agent } = this.#settings;
    const snapshot = this.inFlight.snapshot();
    const abandoned = this.#abandoned;
    this.#abandoned = new Map();
    try {
      const turns = await store.takeOver({
        agent: agent.name,
        replica: this.#replica,
        limit,
        sparesExpired,
        inFlight: [...snapshot.keys, ...Array.from(this.#held.values(), ({ key }) => key)],
      });
      for (const turn of turns) {
        if (await snapshot.isStarted(turn)) continue;
        const failed = abandoned.get(turn.id);
        if (failed === undefined) this.follow(turn);
        else this.#runAgain(turn, failed);
      }
      return turns.length;
    } catch (error) {
      for (const [id, attempt] of abandoned) this.#abandoned.set(id, attempt);
      throw error;
    } finally {
      snapshot.end();
    }
  }

  /** Runs a turn from the store: a queued one, or one whose replica died. */
  async resume(turn: TurnRecord): Promise<void> {
    const { store, agent, maxAttempts, logger } = this.#settings;
    using _ = this.inFlight.running(turn);
    this.#byKey.get(turn.key)?.stop('lost');
    if (isCommand(turn)) {
      const command = commandRequestOf(turn);
      if (command === undefined) return await this.#dropCommand(turn);
      await this.run(this.commands.run(turn, command), turn);
      return;
    }
    const record = await store.load(turn.taskId);
    if (record === undefined) throw taskNotFound(turn.taskId);
    const request = decodeTurnRequest(turn);
    // The end of the task also ended the turn.
    if (isTerminal(record.state)) return;
    const isTakenOver = turn.attempt > 1;
    if (isTakenOver) {
      const { taskId, attempt } = turn;
      logger.warn({ taskId, turnId: turnIdOf(turn), attempt }, 'tasks.turn.taken_over');
      // Awaited: the key stays in flight until the next turn has started.
      const isLastResort = agent.abandon === undefined || attempt > maxAttempts;
      if (record.cancelRequested && isLastResort)
        return await this.#endWith(turn, record, { kind: 'canceled' });
      if (!record.cancelRequested && agent.onInterrupted !== 'run-again')
        return await this.#endWith(turn, record, interruptedEnd());
      if (attempt > maxAttempts) {
        const end = engineEnd(
          'failed',
          'interrupted',
          `The task was interrupted ${maxAttempts} times and is not retried again.`,
        );
        return await this.#endWith(turn, record, end);
      }
    }
    const task = LiveTask.from(record);
    const message = request.message ?? task.history[0];
    if (message === undefined) throw taskNotFound(turn.taskId);
    const { run, outcome } = this.start({
      turn,
      owner: record.owner,
      // The dead process may have started remote work, which only the agent can end.
      request: isTakenOver && record.cancelRequested ? abandoning(request) : request,
      message,
      task,
      snapshotVersion: record.snapshot.version,
      mayReply: false,
    });
    if (record.cancelRequested) run.stop('cancel');
    await outcome;
  }

  /** Stops turns that another replica took over, for example after the lease of this one expired. */
  async probe(): Promise<void> {
    await Promise.all(Array.from(this.#running.values(), (run) => run.probe()));
  }

  /** Stops the turn of a task, if it runs here. */
  stop(taskId: string, cause: StopCause): boolean {
    const run = this.#running.get(taskId);
    run?.stop(cause);
    return run !== undefined;
  }

  /**
   * Stops taking over turns. Waits up to `graceMs` for running turns to end, then stops them and starts no
   * new ones. Resolves once no turn runs in this process, and no call can claim one for it.
   */
  async drain(graceMs: number): Promise<void> {
    this.#isDraining = true;
    const timer = this.#settings.scheduler.after(graceMs, () => this.#close());
    while (this.#isBusy || this.inFlight.isClaiming) {
      await this.inFlight.claimed();
      await this.idle();
    }
    timer.cancel();
    this.#close();
    await this.releaseHeld().catch((error: unknown) => {
      // The end of this replica's lease frees them too.
      this.#settings.logger.debug({ error }, 'tasks.turn.release_failed');
    });
  }

  /** Resolves when no turn runs here. */
  async idle(): Promise<void> {
    while (this.#isBusy) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  get #isBusy(): boolean {
    return this.#active > 0 || this.#background.size > 0;
  }

  #close(): void {
    this.#isClosed = true;
    for (const run of this.#running.values()) run.stop('shutdown');
  }

  async #execute(run: Run, turn: TurnRecord): Promise<TurnOutcome> {
    const place = this.inFlight.running(turn);
    // Another replica took over the other run of the key: the store gives a key to one turn at a time.
    this.#byKey.get(turn.key)?.stop('lost');
    this.#running.set(run.taskId, run);
    this.#byKey.set(turn.key, run);
    this.#active += 1;
    let hasSlot = false;
    try {
      hasSlot = this.#takeSlot() || (await this.#nextSlot(run));
      const outcome = await this.#meter.measure(run);
      this.#leave(run, turn);
      if ('next' in outcome && outcome.next !== undefined) this.follow(outcome.next);
      if (outcome.kind === 'task' && outcome.isCancelPending) this.#cancelAfter(run);
      if (outcome.kind === 'lost' && !(outcome.error instanceof TurnLost)) {
        this.#abandoned.set(turn.id, turn.attempt);
      }
      return outcome;
    } finally {
      this.#leave(run, turn);
      this.#active -= 1;
      if (hasSlot) this.#leaveSlot();
      this.#settle();
      place[Symbol.dispose]();
    }
  }

  #takeSlot(): boolean {
    if (this.#slots >= this.#settings.maxRunningTurns) return false;
    this.#slots += 1;
    return true;
  }

  /** Waits for a slot. False if a stop was requested: the turn then ends without a slot. */
  #nextSlot(run: Run): Promise<boolean> {
    return new Promise((resolve) => {
      const start = (): void => resolve(true);
      this.#waiting.add(start);
      run.onStop(() => {
        if (this.#waiting.delete(start)) resolve(false);
      });
    });
  }

  /** Passes the slot to the turn that has waited longest. */
  #leaveSlot(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#slots -= 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }

  /**
   * Handles a cancellation request that arrived after the turn had ended otherwise. There may be no other
   * replica to handle it.
   */
  #cancelAfter({ taskId, owner, caller }: Run): void {
    const [settings, hub, replica] = [this.#settings, this.#hub, this.#replica];
    const target = { settings, hub, replica, turns: this, owner, taskId, caller };
    const work = retryWhileUnavailable(settings.scheduler, () =>
      requestCancel({ ...target, metadata: undefined }),
    );
    this.#inBackground(work).catch((error: unknown) => {
      settings.logger.error({ taskId, error }, 'tasks.cancel.failed');
    });
  }

  #leave(run: Run, { key }: TurnRecord): void {
    if (this.#running.get(run.taskId) === run) this.#running.delete(run.taskId);
    if (this.#byKey.get(key) === run) this.#byKey.delete(key);
  }

  #settle(): void {
    if (!this.#isBusy) for (const resolve of this.#idle.splice(0)) resolve();
  }

  #inBackground<T>(work: Promise<T>): Promise<T> {
    const tracked = work.finally(() => {
      this.#background.delete(tracked);
      this.#settle();
    });
    this.#background.add(tracked);
    return tracked;
  }

  /** Runs a turn that the store gave to this replica. */
  follow(turn: TurnRecord): void {
    this.#inBackground(this.#take(turn)).catch((error: unknown) => this.#notStarted(turn, error));
  }

  /** Runs a turn again whose last attempt failed here, which the store has not recorded. */
  #runAgain(turn: TurnRecord, failed: number): void {
    this.#inBackground(this.#take({ ...turn, attempt: failed + 1 })).catch((error: unknown) => {
      this.#abandoned.set(turn.id, failed);
      this.#notStarted(turn, error);
    });
  }

  #take(turn: TurnRecord): Promise<void> {
    return this.#isDraining
      ? this.#settings.store.release({ id: turn.id, replica: this.#replica })
      : this.resume(turn);
  }

  /** Logs a turn that could not start. A later takeover finds it again. */
  #notStarted(turn: TurnRecord, error: unknown): void {
    const { store, logger } = this.#settings;
    const ids = { taskId: turn.taskId, turnId: turnIdOf(turn) };
    const outage = reportedOutage(store, error);
    if (outage !== undefined) return logger.debug({ ...ids, ...outage }, 'tasks.turn.not_started');
    // After a failure of the store, the turn can start here.
    if (!isStoreFailure(error)) this.#held.set(turn.id, turn);
    return logger.error({ ...ids, error }, 'tasks.turn.not_started');
  }

  /** Ends a command without effect: its stored request is invalid. */
  async #dropCommand(turn: TurnRecord): Promise<void> {
    const { store, scheduler, logger } = this.#settings;
    logger.error({ turnId: turnIdOf(turn) }, 'tasks.command.unreadable');
    const now = scheduler.now();
    const ended = await store.commands.end({ turn, replica: this.#replica, now });
    this.#hub.wake(turn.taskId);
    if (ended.kind === 'ended' && ended.next !== undefined) this.follow(ended.next);
  }

  async #endWith(turn: TurnRecord, record: TaskRecord, end: TurnEnd): Promise<void> {
    const outcome = await appendEnd({
      settings: this.#settings,
      hub: this.#hub,
      replica: this.#replica,
      record,
      end,
      turn,
    });
    if (outcome.kind === 'appended' && outcome.next !== undefined) this.follow(outcome.next);
  }
}

/** The same turn, in which the agent abandons the task. */
function abandoning(request: TurnRequest): TurnRequest {
  const { message: _, ...rest } = request;
  return { ...rest, cancel: true };
}
