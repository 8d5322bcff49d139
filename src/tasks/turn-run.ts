import {
  type Agent,
  type Caller,
  type ContextPatch,
  type Reply,
  type Step,
  stepsExtension,
  type TurnEnd,
  type TurnEvent,
} from '../agents/index.ts';
import {
  isInterrupted,
  isTerminal,
  Json,
  LegateError,
  type Message,
  type StreamResponse,
  type Task,
  type TaskState,
  toError,
} from '../protocol/index.ts';
import {
  type ContextWrite,
  type RecordWrite,
  reportedOutage,
  type Store,
  type TurnRecord,
} from '../store/index.ts';
import { inSpan, type Span } from '../telemetry/index.ts';
import type { TurnRequest } from './call.ts';
import {
  endStates,
  EventCheck,
  isSuperseded,
  isTurnEnd,
  statusEvent,
  wasClosed,
} from './agent-events.ts';
import type { Hub } from './log-reader.ts';
import { type LiveTask, closedArtifacts } from './live-task.ts';
import type { EngineSettings } from './options.ts';
import { decideEnd, endAfter, RunControl, type StopCause, withReason } from './run-control.ts';
import { retryWhileUnavailable } from './scheduler.ts';
import { supersede } from './append-end.ts';
import { TaskWriter, TurnLost } from './task-writer.ts';
import { TurnView } from './turn-view.ts';

/** The outcome of a turn. `next`: the next turn of the same key, which this replica has to run. */
export type TurnOutcome =
  | {
      readonly kind: 'task';
      readonly task: Json<Task>;
      readonly next: TurnRecord | undefined;
      /** Whether a cancellation request arrived after the turn had already ended otherwise. */
      readonly isCancelPending: boolean;
    }
  | {
      readonly kind: 'message';
      readonly message: Json<Message>;
      readonly next: TurnRecord | undefined;
    }
  /** A command has ended, and its caller has the result. */
  | { readonly kind: 'command'; readonly next: TurnRecord | undefined; readonly isFailed: boolean }
  /** Released, for another replica to run. */
  | { readonly kind: 'released' }
  /** Another writer ended it, or it could not be stored. */
  | { readonly kind: 'lost'; readonly error: Error };

/** A run in this process: the turn of a message, or a command. */
export interface Run {
  /** The task; for a command its own id. */
  readonly taskId: string;
  readonly contextId: string;
  /** The same for every attempt of the turn; part of every log line. */
  readonly turnId: string;
  readonly attempt: number;
  /** What runs, for log lines: `message`, or the name of a command. */
  readonly what: string;
  /** The owner of the turn, and its caller. */
  readonly owner: string;
  readonly caller: Caller;
  /** W3C trace context of the caller. */
  readonly traceparent: string | undefined;
  readonly tracestate: string | undefined;
  /** The number of the last emitted event. */
  readonly version: number;
  stop(cause: StopCause): void;
  /** Calls back when a stop is requested, or at once if it was before. One callback only. */
  onStop(callback: () => void): void;
  probe(): Promise<void>;
  /** Resolves with an outcome, never rejects. `span`: the parent of spans that the agent starts. */
  run(span?: Span): Promise<TurnOutcome>;
}

export interface TurnRunOptions {
  readonly settings: EngineSettings;
  readonly hub: Hub;
  readonly replica: string;
  readonly owner: string;
  readonly turn: TurnRecord;
  readonly request: TurnRequest;
  readonly message: Message;
  readonly task: LiveTask;
  readonly snapshotVersion: number;
  /** Whether a plain message can still replace the task, because no caller has seen the task. */
  readonly mayReply: boolean;
  /** Ends the turn without a call of the agent. */
  readonly insteadOfAgent?: TurnEnd;
}

/**
 * One turn while it runs in this process.
 *
 * - **running**: the run pulls the agent and emits each of its events.
 * - **stopping**: the signal was aborted (`stop`); the agent can end by itself within the grace time.
 *   The cause of the stop decides the state, whatever the agent emits.
 * - **ended**: the end was stored together with the context's state; or **released**, or **lost**.
 */
export class TurnRun implements Run {
  readonly #options: TurnRunOptions;
  readonly #agent: Agent;
  readonly #store: Store;
  readonly #writer: TaskWriter;
  readonly #check: EventCheck;
  /** The number of the last event before this turn. */
  readonly #before: number;
  /** The turn as its agent sees it. */
  readonly #view: TurnView;
  readonly #control: RunControl;
  readonly what = 'message';
  #isCancelRequested = false;
  /** The agent was called. */
  #hasStarted = false;
  /** The agent did not end by itself. */
  #isUnfinished = false;
  #mayReply: boolean;
  #hasEmitted = false;
  /** The turn may supersede open questions: it starts a task, or continues a superseded one. */
  readonly #takesOver: boolean;
  #onFirstEvent: (() => void) | undefined;
  #span: Span | undefined;
  /** Resolves once the ends of older questions are stored. */
  #superseded: Promise<void> | undefined;

  constructor(options: TurnRunOptions) {
    const { settings, task } = options;
    this.#options = options;
    this.#agent = settings.agent;
    this.#store = settings.store;
    this.#mayReply = options.mayReply;
    this.#control = new RunControl(settings, {
      runsAgain: true,
      onAbort: (reason) => this.#view.abort(reason),
    });
    this.#before = task.version;
    this.#check = new EventCheck(settings.maxEventSize, { isFirstTurn: task.version === 1 });
    this.#writer = new TaskWriter({
      task,
      snapshotVersion: options.snapshotVersion,
      store: settings.store,
      hub: options.hub,
      scheduler: settings.scheduler,
      replica: options.replica,
      turnId: options.turn.id,
      onCancelRequested: () => {
        this.#isCancelRequested = true;
        this.stop('cancel');
      },
      onLost: () => this.stop('lost'),
      onDeliveries: () => settings.push?.wake(),
    });
    const isContinuation = options.request.message !== undefined;
    // After an earlier attempt, the status no longer shows that the task was superseded.
    this.#takesOver = !isContinuation || isSuperseded(task.status) || options.turn.attempt > 1;
    if (isContinuation && !isLogged(task, options.message.messageId)) {
      this.#writer.emit({ message: options.message });
      // In the same write: otherwise the old question would look like the answer to this message.
      this.#status('TASK_STATE_WORKING', {});
    }
    const asksForSteps =
      settings.steps === 'share' && options.request.extensions.includes(stepsExtension);
    this.#view = new TurnView(options, asksForSteps ? (step) => this.#emitStep(step) : undefined);
  }

  get taskId(): string {
    return this.#view.taskId;
  }
  get contextId(): string {
    return this.#view.contextId;
  }
  get turnId(): string {
    return this.#view.turnId;
  }
  get attempt(): number {
    return this.#view.attempt;
  }

  /** Resolves once the agent has emitted an event besides its end. */
  firstEvent(): Promise<undefined> {
    return new Promise((resolve) => {
      if (this.#hasEmitted) resolve(undefined);
      else this.#onFirstEvent = () => resolve(undefined);
    });
  }

  probe(): Promise<void> {
    return this.#writer.probe();
  }

  /** Resolves when all that was emitted so far is stored. */
  stored(): Promise<void> {
    return this.#writer.flush();
  }

  onStop(callback: () => void): void {
    this.#control.onStop(callback);
  }

  stop(cause: StopCause): void {
    // This turn abandons the task, which is the cancellation.
    if (cause === 'cancel' && this.#options.request.cancel === true) return;
    this.#control.stop(cause);
  }

  get owner(): string {
    return this.#options.owner;
  }
  get caller(): Caller {
    return this.#options.request.caller;
  }
  get traceparent(): string | undefined {
    return this.#options.request.traceparent;
  }
  get tracestate(): string | undefined {
    return this.#options.request.tracestate;
  }
  get version(): number {
    return this.#writer.task.version;
  }

  async run(span?: Span): Promise<TurnOutcome> {
    this.#span = span;
    const { settings } = this.#options;
    this.#control.limit();
    try {
      const end = await this.#pull();
      return await this.#end(end);
    } catch (error) {
      return lostOutcome(settings, { taskId: this.taskId, turnId: this.turnId }, error);
    } finally {
      if (this.#superseded !== undefined) await this.#superseded;
      this.#control.clear();
    }
  }

  /** Pulls the agent until it ends; never rejects. */
  async #pull(): Promise<TurnEnd | Reply> {
    let iterator: AsyncIterator<TurnEvent> | undefined;
    let isDone = false;
    try {
      if (this.#options.insteadOfAgent !== undefined) return this.#options.insteadOfAgent;
      // A turn that was stopped in the queue does not start.
      this.#control.throwIfStopped();
      this.#hasStarted = true;
      if (this.#options.request.cancel === true) {
        const end = await this.#control.guard(
          this.#agent.abandon?.(this.#view) ?? Promise.resolve(undefined),
        );
        return { ...end, kind: 'canceled' };
      }
      // A task that a plain message may still replace is not shown to callers.
      if (!this.#mayReply) this.#markWorking();
      if (this.#takesOver && this.#agent.supersedes === true) await this.#supersede();
      iterator = this.#agent.take(this.#view)[Symbol.asyncIterator]();
      for (;;) {
        const result = await this.#control.guard(this.#next(iterator));
        if (result.done === true) {
          isDone = true;
          return { kind: 'completed' };
        }
        this.#control.restartSilence();
        const event = result.value;
        const earlier = this.#check.check(event, this.#writer.task);
        if (earlier !== undefined) await this.#control.guard(this.#refuseClosed(earlier));
        this.#check.accept(event);
        if (isTurnEnd(event)) return event;
        if ('kind' in event && event.kind === 'message') {
          return this.#mayReply ? event : { ...event, kind: 'completed' };
        }
        this.#emit(event);
        if (this.#writer.task.version > this.#options.settings.maxEvents) {
          throw new LegateError(
            'INVALID_AGENT_RESPONSE',
            `the agent's answer is not valid: more than ${this.#options.settings.maxEvents} events (maxEvents)`,
          );
        }
        if (this.#writer.isFull) await this.#control.guard(this.#writer.flush());
      }
    } catch (error) {
      return this.#endOf(error);
    } finally {
      // Lets the agent clean up. Its grace time is over, so the turn does not wait.
      if (!isDone) {
        iterator?.return?.().catch((error: unknown) => {
          this.#view.logger.warn({ error }, 'tasks.agent.cleanup_failed');
        });
      }
    }
  }

  async #refuseClosed(artifactId: string): Promise<void> {
    const { scheduler } = this.#options.settings;
    const completed = await retryWhileUnavailable(scheduler, () =>
      closedArtifacts(this.#store, this.taskId, this.#before),
    );
    if (completed.has(artifactId)) throw wasClosed(artifactId);
  }

  /** Ends older tasks of the conversation that wait for an answer, because this turn has the answer. */
  async #supersede(): Promise<void> {
    const { settings, hub, replica, owner } = this.#options;
    const { contextId, taskId } = this.#view;
    // The log has the message before other tasks name this task as their successor.
    if (this.#view.isContinuation) await this.#control.guard(this.#writer.flush());
    const { written } = await this.#control.guard(
      supersede({ settings, hub, replica, owner, contextId, taskId, isOurs: () => this.#isOurs() }),
    );
    this.#superseded = written;
  }

  async #isOurs(): Promise<boolean> {
    await this.#writer.probe();
    return this.#control.cause !== 'lost';
  }

  #next(iterator: AsyncIterator<TurnEvent>): Promise<IteratorResult<TurnEvent>> {
    return this.#span === undefined ? iterator.next() : inSpan(this.#span, () => iterator.next());
  }

  /** Sets the task to working, unless it is. */
  #markWorking(): void {
    if (this.#writer.task.status.state !== 'TASK_STATE_WORKING') {
      this.#status('TASK_STATE_WORKING', {});
    }
    this.#writer.schedule();
  }

  /** Sends a step to callers that requested steps. */
  #emitStep(step: Step): void {
    this.#emit({ kind: 'working', metadata: { [stepsExtension]: step } });
  }

  #emit(event: Exclude<TurnEvent, TurnEnd>): void {
    if (this.#mayReply) {
      this.#mayReply = false;
      this.#markWorking();
    }
    const ids = { taskId: this.taskId, contextId: this.contextId };
    if (!('kind' in event)) {
      this.#writer.emit({ artifactUpdate: { ...ids, artifact: event, lastChunk: true } });
    } else if (event.kind === 'chunk') {
      this.#writer.emit({
        artifactUpdate: {
          ...ids,
          artifact: event.artifact,
          ...(event.append && { append: true }),
          ...(event.lastChunk && { lastChunk: true }),
        },
      });
    } else if (event.kind === 'working' && (this.#hasEmitted || !isBare(event))) {
      this.#status('TASK_STATE_WORKING', event);
    }
    this.#writer.schedule();
    this.#hasEmitted = true;
    this.#onFirstEvent?.();
    this.#onFirstEvent = undefined;
  }

  #status(state: TaskState, said: Pick<TurnEnd, 'parts' | 'metadata'>): void {
    this.#writer.emit(this.#statusEvent(state, said));
  }

  #statusEvent(state: TaskState, said: Pick<TurnEnd, 'parts' | 'metadata'>): StreamResponse {
    return statusEvent(this.#writer.task, state, said, this.#options.settings.scheduler);
  }

  /** The end of a turn whose agent threw, or was stopped. */
  #endOf(error: unknown): TurnEnd {
    this.#isUnfinished = true;
    return endAfter(error, {
      isStopped: this.#control.cause !== undefined,
      logger: this.#view.logger,
    });
  }

  async #end(event: TurnEnd | Reply): Promise<TurnOutcome> {
    const { cause } = this.#control;
    if (cause === 'lost') {
      // If the store was unavailable for too long, no other replica has ended the turn.
      throw this.#writer.failure ?? new TurnLost('the turn was ended by another writer');
    }
    const isCutOff = cause === 'shutdown' && this.#isUnfinished;
    if (isCutOff && (this.#agent.onInterrupted === 'run-again' || !this.#hasStarted)) {
      return this.#release();
    }
    // Before the end: the last chunk may still be pending. After a question, artifacts can continue.
    if (event.kind === 'completed' && cause === undefined) {
      for (const artifactId of this.#check.open) this.#writer.complete(artifactId);
    }
    const kept = await this.#view.writes();
    const isReply = 'kind' in event && event.kind === 'message';
    // Read again: a stop may have been requested meanwhile.
    const stopped = this.#control.cause;
    if (isReply && (stopped === undefined || stopped === 'shutdown')) {
      return this.#endWithReply(event, kept);
    }
    const end: TurnEnd = isReply ? { ...event, kind: 'completed' } : event;
    return this.#endWithStatus(end, kept);
  }

  /** Lets another replica run the turn. */
  async #release(): Promise<TurnOutcome> {
    const { turn, replica } = this.#options;
    if (this.#hasStarted) await this.#writer.flush();
    await this.#store.release({ id: turn.id, replica, started: this.#hasStarted });
    return { kind: 'released' };
  }

  /** Ends the turn with a plain message, which replaces the task. */
  async #endWithReply(
    { parts, metadata, context }: Reply,
    kept: readonly RecordWrite[],
  ): Promise<TurnOutcome> {
    const message = Json.of<Message>({
      messageId: this.#options.settings.scheduler.uuid(),
      contextId: this.contextId,
      role: 'ROLE_AGENT',
      parts,
      ...(metadata !== undefined && { metadata }),
    });
    const { written } = this.#writer.end({ reply: message, ...endWrites(this, context, kept) });
    return { kind: 'message', message, next: await written };
  }

  async #endWithStatus(own: TurnEnd, kept: readonly RecordWrite[]): Promise<TurnOutcome> {
    const { settings } = this.#options;
    const { cause } = this.#control;
    const about = { settings, isUnfinished: this.#isUnfinished, view: this.#view };
    const decided = cause === undefined ? own : decideEnd(own, cause, about);
    const end = this.#check.marked(settings.showErrors ? withReason(decided) : decided);
    const { task, written } = this.#writer.end({
      event: this.#statusEvent(endStates[end.kind], end),
      ...endWrites(this, end.context, kept),
    });
    const next = await written;
    const isCancelPending = this.#isCancelRequested && !isTerminal(task.value.status.state);
    return { kind: 'task', task, next, isCancelPending };
  }
}

/** Whether an event has only the state, which the start of the turn has already set. */
function isBare({ parts, metadata }: Pick<TurnEnd, 'parts' | 'metadata'>): boolean {
  return parts === undefined && metadata === undefined;
}

/** The outcome of a turn or a command whose end could not be stored. */
export function lostOutcome(
  { store, logger }: EngineSettings,
  ids: { readonly taskId?: string; readonly turnId: string },
  error: unknown,
): TurnOutcome {
  const outage = reportedOutage(store, error);
  if (outage !== undefined) logger.debug({ ...ids, ...outage }, 'tasks.turn.lost');
  else if (!(error instanceof TurnLost)) logger.error({ ...ids, error }, 'tasks.turn.lost');
  return { kind: 'lost', error: toError(error) };
}

/** The writes in the transaction that ends a turn or a command, besides the end itself. */
export function endWrites(
  { owner, contextId }: { readonly owner: string; readonly contextId: string },
  patch: ContextPatch | undefined,
  kept: readonly RecordWrite[],
): { context?: ContextWrite; records?: readonly RecordWrite[] } {
  const records = [...kept, ...(patch?.records ?? [])];
  return {
    ...(patch !== undefined && {
      context: {
        owner,
        contextId,
        ...(patch.value !== undefined && { value: Json.of(patch.value) }),
        ...(patch.log !== undefined && { log: patch.log.map((entry) => Json.of(entry)) }),
      },
    }),
    ...(records.length > 0 && { records }),
  };
}

/**
 * Whether an earlier attempt has written the turn's message to the log. The message is written together
 * with the status `working`, so a task that still asks lacks it. It may have another message with that id.
 */
function isLogged({ status, history }: LiveTask, id: string): boolean {
  return !isInterrupted(status.state) && history.some(({ messageId }) => messageId === id);
}
