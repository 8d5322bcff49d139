import {
  type CancelTaskRequest,
  type DeleteTaskPushNotificationConfigRequest,
  type GetTaskPushNotificationConfigRequest,
  type GetTaskRequest,
  isTerminal,
  Json,
  type JsonValue,
  LegateError,
  type ListTaskPushNotificationConfigsRequest,
  type ListTaskPushNotificationConfigsResponse,
  type ListTasksRequest,
  type ListTasksResponse,
  type Message,
  type SendMessageRequest,
  type SubscribeToTaskRequest,
  type Task,
  taskNotFound,
  type TaskPushNotificationConfig,
} from '../protocol/index.ts';
import type { Agent, AgentCommand } from '../agents/index.ts';
import { isStoreFailure, ownerKey } from '../store/index.ts';
import { Admissions, type Admitted, hasMessage, taskEnded } from './admissions.ts';
import type { Call } from './call.ts';
import { cancelTask } from './cancel.ts';
import type { CommandOptions, ContextKey } from './commands.ts';
import { closesOnInput, EventStream, type StreamEvent } from './event-stream.ts';
import { Hub, LogReader } from './log-reader.ts';
import { taskOf, withHistory } from './live-task.ts';
import { Maintenance } from './maintenance.ts';
import { type EngineOptions, type EngineSettings, resolveOptions } from './options.ts';
import { listTasks, PageTokens } from './task-list.ts';
import { PushConfigs } from './push-configs.ts';
import type { TurnOutcome } from './turn-run.ts';
import { waitForTurn } from './turn-wait.ts';
import { Turns } from './turns.ts';

export type SendOutcome = { readonly task: Json<Task> } | { readonly message: Json<Message> };

/**
 * The task engine of one agent. All transports use its operations. Each operation loads the task once, for
 * its owner; a task of another owner looks like a missing task.
 *
 * @example
 * const engine = await Engine.start({ agent, store });
 * const outcome = await engine.send({ message: message('hello') }, { caller, version: '1.0' });
 */
export class Engine {
  readonly pushConfigs: PushConfigs;
  readonly #settings: EngineSettings;
  readonly #hub: Hub;
  readonly #turns: Turns;
  readonly #replica: string;
  readonly #admissions: Admissions;
  readonly #maintenance: Maintenance;
  readonly #tokens: PageTokens;
  readonly #unwatch: () => void;

  private constructor(settings: EngineSettings) {
    this.#settings = settings;
    this.#replica = settings.replica.id;
    this.#hub = new Hub((taskId) => settings.store.follow(taskId));
    this.#turns = new Turns(settings, this.#hub, this.#replica);
    this.pushConfigs = new PushConfigs(settings);
    this.#admissions = new Admissions({
      settings,
      hub: this.#hub,
      turns: this.#turns,
      replica: this.#replica,
      pushConfigs: this.pushConfigs,
    });
    this.#maintenance = new Maintenance(settings, this.#hub, this.#turns);
    this.#tokens = new PageTokens(settings.pageTokenKey);
    this.#unwatch = settings.store.watch(
      ({ taskId }) => this.#notice(taskId),
      () => this.#maintenance.poll(),
    );
  }

  /** Starts the engine. First it takes over turns of dead processes. */
  static async start(options: EngineOptions): Promise<Engine> {
    const settings = resolveOptions(options);
    const pageTokenKey = options.pageTokenKey ?? (await sharedKey(settings));
    const engine = new Engine({ ...settings, pageTokenKey });
    try {
      await engine.#maintenance.start();
    } catch (error) {
      engine.#unwatch();
      await engine.#maintenance.stop();
      throw error;
    }
    return engine;
  }

  /** The replica id under which this process runs turns. */
  get replica(): string {
    return this.#replica;
  }

  get agent(): Agent {
    return this.#settings.agent;
  }

  /** Most contexts with unfinished tasks at one time; 0 for no limit. */
  get maxContexts(): number {
    return this.#settings.maxContexts;
  }

  /** Turns that run or wait for a slot in this process. */
  get runningTurns(): number {
    return this.#turns.size;
  }

  async send(request: SendMessageRequest, call: Call): Promise<SendOutcome> {
    const owner = this.#owner(call);
    const admitted = await this.#admissions.admit(request, call, owner, false);
    const historyLength = request.configuration?.historyLength;
    if (admitted.kind === 'running') throw new TypeError('only streams follow a running turn');
    const returnImmediately = request.configuration?.returnImmediately === true;
    if (admitted.kind === 'answered') return withLength(admitted.answer, historyLength);
    tellAdmitted(admitted, call);
    if (returnImmediately && !admitted.isContinuation) {
      return { task: withHistory(admitted.before, historyLength) };
    }
    if (returnImmediately) {
      const { turn, message } = admitted;
      // If the turn is lost before it writes an event, the task shows that too.
      if (admitted.kind === 'started')
        await Promise.race([admitted.run.stored().catch(() => undefined), admitted.outcome]);
      const task = await this.#load(turn.taskId, owner);
      const isTooLate = isTerminal(task.value.status.state);
      if (isTooLate && !hasMessage(task.value, message.messageId)) throw taskEnded(turn.taskId);
      return { task: withHistory(task, historyLength) };
    }
    const outcome =
      admitted.kind === 'started' ? await admitted.outcome : ({ kind: 'queued' } as const);
    // The turn runs again when the store is back; a caller that repeats the message gets the outcome.
    if (outcome.kind === 'lost' && isStoreFailure(outcome.error)) throw outcome.error;
    const answer =
      outcome.kind === 'task' || outcome.kind === 'message'
        ? answerOf(outcome)
        : await this.#outcomeFromStore(admitted, owner, call);
    return withLength(answer, historyLength);
  }

  /**
   * Calls a command of the agent in the queue of a conversation. A command has no task and takes two
   * transactions: one queues it and one ends it.
   */
  async command<Input, Result, Progress>(
    key: ContextKey,
    command: AgentCommand<Input, Result, Progress>,
    input: Input,
    options: CommandOptions<Progress> = {},
  ): Promise<Result> {
    const { onProgress, signal, traceparent, tracestate } = options;
    const request = { command: command.name, input, ...key, traceparent, tracestate };
    const tell = (progress: unknown): void => {
      if (command.progress !== undefined) onProgress?.(command.progress.parse(progress));
    };
    return command.result.parse(await this.#turns.commands.call(request, tell, signal));
  }

  /** Ends running and queued commands of a conversation without effect; returns their ids. */
  cancelCommands(key: ContextKey): Promise<readonly string[]> {
    return this.#turns.commands.cancel(key);
  }

  /** Resolves once the first event is known: earlier failures reject instead of opening a stream. */
  async stream(request: SendMessageRequest, call: Call): Promise<EventStream> {
    this.#requireStreaming();
    const admitted = await this.#follows(request, call);
    if (admitted.kind === 'started' || admitted.kind === 'queued') tellAdmitted(admitted, call);
    return this.#streamOf(admitted, request, call);
  }

  #follows(request: SendMessageRequest, call: Call): Promise<Admitted> {
    return this.#admissions.admit(request, call, this.#owner(call), true);
  }

  async #streamOf(
    admitted: Admitted,
    request: SendMessageRequest,
    call: Call,
  ): Promise<EventStream> {
    const historyLength = request.configuration?.historyLength;
    if (admitted.kind === 'answered') {
      return new EventStream({ first: [onlyEvent(withLength(admitted.answer, historyLength))] });
    }
    if (admitted.kind === 'running') return this.#attach(admitted.taskId, request, call);
    if (admitted.kind === 'started' && this.#settings.agent.replies === 'message') {
      const outcome = await Promise.race([admitted.run.firstEvent(), admitted.outcome]);
      if (outcome?.kind === 'message') {
        admitted.reader?.close();
        return new EventStream({ first: [onlyEvent({ message: outcome.message })] });
      }
    }
    const { taskId } = admitted.turn;
    const reader =
      (admitted.kind === 'started' ? admitted.reader : undefined) ??
      this.#follow(taskId, admitted.version);
    return new EventStream({
      first: [taskEvent(withHistory(admitted.before, historyLength), admitted.version)],
      reader,
      closes: closesOnInput,
      ...(admitted.kind === 'started' && { outcome: admitted.outcome }),
      ...(admitted.isContinuation && { awaitedMessage: admitted.message.messageId }),
      ...(call.signal !== undefined && { signal: call.signal }),
    });
  }

  /**
   * The stream of a turn that an earlier copy of the message has started: the current task, or the events
   * after the last one that the caller has seen, then all further events.
   */
  async #attach(taskId: string, request: SendMessageRequest, call: Call): Promise<EventStream> {
    const { store } = this.#settings;
    if (this.#isProvisional && !(await this.#isTask(taskId, call.signal))) {
      return this.stream(request, call);
    }
    const record = await store.load(taskId, this.#owner(call));
    if (record === undefined) throw taskNotFound(taskId);
    const task = taskOf(record);
    const shown = withHistory(task, request.configuration?.historyLength);
    if (isTerminal(record.state)) return new EventStream({ first: [onlyEvent({ task: shown })] });
    const { messageId } = request.message;
    const isLogged = hasMessage(task.value, messageId);
    if (isLogged && closesOnInput(record.state)) {
      // The turn has just started, or it has ended with a question since the store found it in flight.
      const again = await this.#follows(request, call);
      if (again.kind !== 'running') return this.#streamOf(again, request, call);
    }
    const { lastEventId: seen = 0 } = call;
    // A later message of the task may not be in the log yet; states before it belong to earlier turns.
    const isFirst = task.value.history?.[0]?.messageId === messageId;
    const resumes = isFirst && seen >= 1 && seen <= record.version;
    return new EventStream({
      first: resumes ? [] : [taskEvent(shown, record.version)],
      reader: this.#follow(taskId, resumes ? seen : record.version),
      closes: closesOnInput,
      ...(!isLogged && { awaitedMessage: messageId }),
      ...(call.signal !== undefined && { signal: call.signal }),
    });
  }

  /** Waits for the first output of the agent: true for a task with events, false for a plain message. */
  async #isTask(taskId: string, signal: AbortSignal | undefined): Promise<boolean> {
    const reader = this.#follow(taskId, 1);
    const leave = (): void => reader.close();
    signal?.addEventListener('abort', leave, { once: true });
    try {
      while (reader.take() === undefined) {
        signal?.throwIfAborted();
        await reader.arrival();
      }
      return true;
    } catch (error) {
      if (error instanceof LegateError && error.code === 'TASK_NOT_FOUND') return false;
      throw error;
    } finally {
      signal?.removeEventListener('abort', leave);
      reader.close();
    }
  }

  /** Reads the log after an event. The log may already have later events. */
  #follow(taskId: string, cursor: number): LogReader {
    const { store } = this.#settings;
    const isProvisional = this.#isProvisional;
    return new LogReader({ store, hub: this.#hub, taskId, cursor, isLagging: true, isProvisional });
  }

  async getTask(request: GetTaskRequest, call: Call): Promise<Json<Task>> {
    return withHistory(await this.#load(request.id, this.#owner(call)), request.historyLength);
  }

  listTasks(request: ListTasksRequest, call: Call): Promise<ListTasksResponse> {
    return listTasks(this.#settings, this.#tokens, request, this.#owner(call));
  }

  cancelTask(request: CancelTaskRequest, call: Call): Promise<Json<Task>> {
    return cancelTask({
      settings: this.#settings,
      hub: this.#hub,
      turns: this.#turns,
      replica: this.#replica,
      owner: this.#owner(call),
      request,
      call,
    });
  }

  /**
   * Streams the current task, then its events until it ends. A caller that names the last event it has
   * seen gets exactly the events after it, after any restart and on any replica.
   */
  async subscribe(request: SubscribeToTaskRequest, call: Call): Promise<EventStream> {
    this.#requireStreaming();
    const { store } = this.#settings;
    const { id } = request;
    const record = await store.load(id, this.#owner(call));
    if (record === undefined) throw taskNotFound(id);
    const seen = call.lastEventId;
    const resumes = seen !== undefined && seen >= 1 && seen <= record.version;
    const isOver = isTerminal(record.state) || record.isSuperseded;
    if (isOver && (!resumes || seen === record.version)) {
      if (call.version === '1.0' && !record.isSuperseded) {
        throw new LegateError(
          'UNSUPPORTED_OPERATION',
          `task ${id} has ended; there is nothing to subscribe to, get the task instead`,
          { metadata: { taskId: id } },
        );
      }
      return new EventStream({
        first: [{ ...taskEvent(taskOf(record), record.version), isLast: true }],
      });
    }
    return new EventStream({
      first: resumes ? [] : [taskEvent(taskOf(record), record.version)],
      reader: this.#follow(id, resumes ? seen : record.version),
      ...(call.signal !== undefined && { signal: call.signal }),
    });
  }

  createPushConfig(
    config: TaskPushNotificationConfig,
    call: Call,
  ): Promise<TaskPushNotificationConfig> {
    return this.pushConfigs.create(config, call, this.#owner(call));
  }

  getPushConfig(
    request: GetTaskPushNotificationConfigRequest,
    call: Call,
  ): Promise<TaskPushNotificationConfig> {
    return this.pushConfigs.get(request, this.#owner(call));
  }

  listPushConfigs(
    request: ListTaskPushNotificationConfigsRequest,
    call: Call,
  ): Promise<ListTaskPushNotificationConfigsResponse> {
    return this.pushConfigs.list(request, this.#owner(call));
  }

  deletePushConfig(request: DeleteTaskPushNotificationConfigRequest, call: Call): Promise<void> {
    return this.pushConfigs.delete(request, this.#owner(call));
  }

  /** Resolves when no turn runs in this process. */
  idle(): Promise<void> {
    return this.#turns.idle();
  }

  /** Stops taking over turns. Waits for running turns to end, or hands them over after `graceMs`. */
  async drain(options: { readonly graceMs?: number } = {}): Promise<void> {
    // The replica keeps its lease meanwhile, so no other replica takes over its turns.
    await this.#turns.drain(options.graceMs ?? 0);
  }

  /** Drains, then retires the replica. The store stays open: its owner closes it. */
  async stop(options: { readonly graceMs?: number } = {}): Promise<void> {
    await this.drain(options);
    this.#unwatch();
    await this.#maintenance.stop();
  }

  get #isProvisional(): boolean {
    return this.#settings.agent.replies === 'message';
  }

  #owner({ caller }: Call): string {
    const { agent } = this.#settings;
    return ownerKey({ agent: agent.name, tenant: caller.tenant, subject: caller.subject });
  }

  async #load(taskId: string, owner: string): Promise<Json<Task>> {
    const record = await this.#settings.store.load(taskId, owner);
    if (record === undefined) throw taskNotFound(taskId);
    return taskOf(record);
  }

  /** The outcome of turns that are queued, run on another replica, or were ended by another writer. */
  async #outcomeFromStore(
    admitted: Extract<Admitted, { kind: 'started' | 'queued' }>,
    owner: string,
    call: Call,
  ): Promise<SendOutcome> {
    const { store } = this.#settings;
    const { turn, message } = admitted;
    const answer = await waitForTurn<SendOutcome>(
      { settings: this.#settings, hub: this.#hub, taskId: turn.taskId, signal: call.signal },
      async () => {
        const known = await store.loadTurn(turn.id);
        if (known?.reply !== undefined) return { message: known.reply };
        const record = await store.load(turn.taskId, owner);
        if (record === undefined) throw taskNotFound(turn.taskId);
        // A turn that the store no longer has is one that ended and was deleted.
        const isOver = known?.ended ?? true;
        return isOver ? { task: taskOf(record) } : undefined;
      },
    );
    const wasHandled = 'message' in answer || hasMessage(answer.task.value, message.messageId);
    if (!wasHandled) throw taskEnded(turn.taskId);
    return answer;
  }

  #notice(taskId: string): void {
    this.#hub.wake(taskId);
    if (this.#turns.find(taskId) === undefined) return;
    this.#settings.store
      .load(taskId)
      .then((record) => {
        if (record === undefined || isTerminal(record.state)) this.#turns.stop(taskId, 'lost');
        else if (record.cancelRequested) this.#turns.stop(taskId, 'cancel');
      })
      .catch((error: unknown) => {
        this.#settings.logger.warn({ taskId, error }, 'tasks.notice.failed');
      });
  }

  #requireStreaming(): void {
    if (this.#settings.streaming) return;
    throw new LegateError(
      'UNSUPPORTED_OPERATION',
      'this agent does not stream; send, then poll the task',
    );
  }
}

function tellAdmitted(
  { turn: { taskId }, before }: Extract<Admitted, { kind: 'started' | 'queued' }>,
  { onAdmitted }: Call,
): void {
  onAdmitted?.({ taskId, contextId: before.value.contextId });
}

function answerOf(outcome: Extract<TurnOutcome, { kind: 'task' | 'message' }>): SendOutcome {
  return outcome.kind === 'task' ? { task: outcome.task } : { message: outcome.message };
}

function withLength(answer: SendOutcome, historyLength: number | undefined): SendOutcome {
  return 'task' in answer ? { task: withHistory(answer.task, historyLength) } : answer;
}

function taskEvent(task: Json<Task>, sequence: number): StreamEvent {
  return { sequence, body: Json.ofTask(task), isLast: false };
}

function onlyEvent(answer: SendOutcome): StreamEvent {
  return 'task' in answer
    ? { ...taskEvent(answer.task, 0), isLast: true }
    : { sequence: 0, body: Json.of({ message: answer.message.value }), isLast: true };
}

/** The key of page tokens, the same for every replica of a store. */
async function sharedKey(settings: EngineSettings): Promise<string> {
  const { records } = settings.store;
  const now = settings.scheduler.now();
  const place = { space: 'legate', key: 'page-token-key' };
  const proposed = crypto.randomUUID();
  const value = Json.of<JsonValue>(proposed);
  await records.write([{ ...place, value, ifVersion: 0 }], now);
  const stored = (await records.get(place.space, place.key, now))?.value.value;
  return typeof stored === 'string' ? stored : proposed;
}
