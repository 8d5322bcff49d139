import {
  isTerminal,
  Json,
  LegateError,
  type Message,
  type SendMessageRequest,
  type Task,
  taskNotFound,
} from '../protocol/index.ts';
import type { Admission, AdmitOutcome, PushRegistration, TurnRecord } from '../store/index.ts';
import {
  type Call,
  checkExtensions,
  checkMediaTypes,
  contextMismatch,
  dedupeOf,
  encodeTurnRequest,
  type TurnRequest,
} from './call.ts';
import { engineEnd, timestamp } from './agent-events.ts';
import { type Hub, LogReader } from './log-reader.ts';
import { LiveTask, taskOf } from './live-task.ts';
import type { EngineSettings } from './options.ts';
import type { PushConfigs } from './push-configs.ts';
import type { TurnOutcome, TurnRun } from './turn-run.ts';
import type { Turns } from './turns.ts';

export type Admitted = StartedTurn | QueuedTurn | AnsweredTurn | RunningTurn;

interface AdmittedTurn {
  readonly turn: TurnRecord;
  readonly message: Message;
  readonly isContinuation: boolean;
  /** The task before the turn started, and its version. */
  readonly before: Json<Task>;
  readonly version: number;
}

export interface StartedTurn extends AdmittedTurn {
  readonly kind: 'started';
  readonly run: TurnRun;
  readonly outcome: Promise<TurnOutcome>;
  /** Follows the log of a new task from its second event on, if requested. */
  readonly reader: LogReader | undefined;
}

export interface QueuedTurn extends AdmittedTurn {
  readonly kind: 'queued';
}

/** The message is a duplicate of one that has been answered. */
export interface AnsweredTurn {
  readonly kind: 'answered';
  readonly answer: { readonly task: Json<Task> } | { readonly message: Json<Message> };
}

/** The message is a duplicate, its first turn is in flight, and the caller follows that turn. */
export interface RunningTurn {
  readonly kind: 'running';
  readonly taskId: string;
}

/** A message that starts a task, ready for the store. */
interface Draft {
  readonly message: Message & { readonly taskId: string; readonly contextId: string };
  readonly task: Json<Task>;
  readonly turnRequest: TurnRequest;
  readonly admission: Admission;
}

/** Admits messages: checks the protocol, ownership, duplicates and limits, then writes to the store. */
export class Admissions {
  readonly #settings: EngineSettings;
  readonly #hub: Hub;
  readonly #turns: Turns;
  readonly #replica: string;
  readonly #pushConfigs: PushConfigs;

  constructor(options: {
    settings: EngineSettings;
    hub: Hub;
    turns: Turns;
    replica: string;
    pushConfigs: PushConfigs;
  }) {
    this.#settings = options.settings;
    this.#hub = options.hub;
    this.#turns = options.turns;
    this.#replica = options.replica;
    this.#pushConfigs = options.pushConfigs;
  }

  /** `follow`: the caller reads the log from the turn's first event on. */
  async admit(
    request: SendMessageRequest,
    call: Call,
    owner: string,
    follow: boolean,
  ): Promise<Admitted> {
    const { message, configuration } = request;
    if (this.#turns.isClosed) throw stopping();
    const unavailable = this.#settings.agent.unavailable?.();
    if (unavailable !== undefined) {
      throw new LegateError('UNAVAILABLE', unavailable, { retryAfter: unavailableRetrySeconds });
    }
    checkExtensions(this.#settings.requiredExtensions, call);
    checkMediaTypes(message, this.#settings.inputModes);
    const inline = configuration?.taskPushNotificationConfig;
    const push =
      inline === undefined ? undefined : await this.#pushConfigs.registration(inline, call);
    return message.taskId === undefined
      ? this.#startTurn(request, call, owner, push, follow)
      : this.#continue({ ...request, taskId: message.taskId }, call, owner, push, follow);
  }

  async #startTurn(
    request: SendMessageRequest,
    call: Call,
    owner: string,
    push: PushRegistration | undefined,
    follow: boolean,
  ): Promise<Admitted> {
    const draft = this.#draft(request, call, owner, push);
    using _ = this.#turns.inFlight.claiming(draft.admission.key);
    const { store } = this.#settings;
    let outcome = await store.admit(draft.admission);
    const isOverLimit = outcome.kind === 'context-limit';
    if (isOverLimit) outcome = await store.admit({ ...draft.admission, maxContexts: 0 });
    if (outcome.kind !== 'admitted') {
      return await this.#refuse(outcome, owner, draft.message, follow);
    }
    return this.#admitted(draft, outcome, { request, owner, follow, isOverLimit });
  }

  /** Creates the admission of a message that starts a task. */
  #draft(
    request: SendMessageRequest,
    call: Call,
    owner: string,
    push: PushRegistration | undefined,
  ): Draft {
    const { scheduler, agent, maxContexts } = this.#settings;
    const now = scheduler.now();
    const taskId = call.newTaskId ?? scheduler.uuid();
    const contextId = request.message.contextId ?? scheduler.uuid();
    const message = { ...request.message, contextId, taskId };
    const task = Json.of<Task>({
      id: taskId,
      contextId,
      status: { state: 'TASK_STATE_SUBMITTED', timestamp: timestamp(now) },
      history: [message],
    });
    const turnRequest = this.#turnRequest(request, call);
    const admission: Admission = {
      agent: agent.name,
      owner,
      key: agent.serialise === 'task' ? taskId : `${owner}\n${contextId}`,
      taskId,
      contextId,
      replica: this.#replica,
      now,
      request: encodeTurnRequest(turnRequest),
      dedupe: this.#dedupe(request.message, request.message.contextId, call, now),
      task,
      push,
      maxContexts,
    };
    return { message, task, turnRequest, admission };
  }

  #admitted(
    { message, task, turnRequest }: Draft,
    outcome: Extract<AdmitOutcome, { kind: 'admitted' }>,
    {
      request,
      owner,
      follow,
      isOverLimit,
    }: { request: SendMessageRequest; owner: string; follow: boolean; isOverLimit: boolean },
  ): StartedTurn | QueuedTurn {
    const { turn } = outcome;
    if (!outcome.running) {
      return { kind: 'queued', turn, message, isContinuation: false, before: task, version: 1 };
    }
    if (isOverLimit) {
      this.#settings.logger.warn({ contextId: message.contextId }, 'tasks.context_limit');
    }
    const { agent } = this.#settings;
    const reader = follow ? this.#reader(turn.taskId) : undefined;
    const started = this.#turns.start({
      turn,
      owner,
      request: turnRequest,
      message,
      task: new LiveTask(task.value, 1),
      snapshotVersion: 1,
      mayReply: agent.replies === 'message' && request.configuration?.returnImmediately !== true,
      ...(isOverLimit && {
        insteadOfAgent: engineEnd(
          'failed',
          'context_limit',
          'The agent has reached its limit of open conversations. Try again later.',
        ),
      }),
    });
    const { run, outcome: ended } = started;
    return {
      kind: 'started',
      turn,
      message,
      isContinuation: false,
      before: task,
      version: 1,
      run,
      outcome: ended,
      reader,
    };
  }

  async #continue(
    { taskId, ...request }: SendMessageRequest & { readonly taskId: string },
    call: Call,
    owner: string,
    push: PushRegistration | undefined,
    follow: boolean,
  ): Promise<Admitted> {
    const { store, scheduler, agent } = this.#settings;
    const known = await store.load(taskId, owner);
    if (known === undefined) throw taskNotFound(taskId);
    const { contextId } = known;
    if (request.message.contextId !== undefined && request.message.contextId !== contextId) {
      throw contextMismatch(contextId);
    }
    if (push !== undefined) await this.#pushConfigs.checkLimit(taskId, push);
    const now = scheduler.now();
    const message = { ...request.message, contextId, taskId };
    const turnRequest = { ...this.#turnRequest(request, call), message };
    const key = agent.serialise === 'task' ? taskId : `${owner}\n${contextId}`;
    using _ = this.#turns.inFlight.claiming(key);
    const outcome = await store.admit({
      agent: agent.name,
      owner,
      key,
      taskId,
      contextId,
      replica: this.#replica,
      now,
      request: encodeTurnRequest(turnRequest),
      dedupe: this.#dedupe(request.message, contextId, call, now),
      maxContexts: 0,
    });
    if (outcome.kind !== 'admitted') return await this.#refuse(outcome, owner, message, follow);
    if (push !== undefined) await store.push.put(taskId, push);
    const record = (await store.load(taskId)) ?? known;
    const before = taskOf(record);
    // The end of the task also ended the turn, before it started or after it ran on another replica.
    if (isTerminal(record.state)) return answered(before, message);
    const admitted = {
      turn: outcome.turn,
      message,
      isContinuation: true,
      before,
      version: record.version,
    };
    if (!outcome.running) return { kind: 'queued', ...admitted };
    const started = this.#turns.start({
      turn: outcome.turn,
      owner,
      request: turnRequest,
      message,
      task: LiveTask.from(record),
      snapshotVersion: record.snapshot.version,
      mayReply: false,
    });
    return { kind: 'started', ...admitted, ...started, reader: undefined };
  }

  /** Maps a failed admission to an answer or an error for the sender. */
  async #refuse(
    outcome: Exclude<AdmitOutcome, { kind: 'admitted' }>,
    owner: string,
    message: Message & { readonly taskId: string },
    follow: boolean,
  ): Promise<AnsweredTurn | RunningTurn> {
    const { taskId } = message;
    switch (outcome.kind) {
      case 'duplicate': {
        if (!outcome.ended) {
          if (follow && this.#settings.duplicateStreams === 'attach') {
            return { kind: 'running', taskId: outcome.taskId };
          }
          this.#settings.logger.warn({ taskId: outcome.taskId }, 'tasks.message.in_flight');
          throw new LegateError(
            'MESSAGE_IN_FLIGHT',
            'this message is still being processed; get its task, or retry once it has ended',
            { metadata: { taskId: outcome.taskId }, retryAfter: 1 },
          );
        }
        if (outcome.reply !== undefined)
          return { kind: 'answered', answer: { message: outcome.reply } };
        const record = await this.#settings.store.load(outcome.taskId, owner);
        if (record === undefined) throw taskNotFound(outcome.taskId);
        return answered(taskOf(record), message);
      }
      case 'reused':
        throw new LegateError(
          'MESSAGE_ID_REUSED',
          'message.messageId: is already used by a message with different content; use a unique id for each message',
        );
      case 'task-ended':
        throw taskEnded(taskId);
      case 'task-not-found':
        throw taskNotFound(taskId);
      case 'context-limit':
        throw new LegateError('UNAVAILABLE', 'too many conversations are open', { retryAfter: 30 });
    }
  }

  #turnRequest(request: SendMessageRequest, call: Call): TurnRequest {
    const { extensions } = this.#settings;
    return {
      caller: call.caller,
      metadata: request.metadata,
      acceptedOutputModes: request.configuration?.acceptedOutputModes ?? [],
      extensions: call.extensions?.filter((uri) => extensions.includes(uri)) ?? [],
      traceparent: call.traceparent,
      tracestate: call.tracestate,
    };
  }

  #dedupe(message: Message, contextId: string | undefined, call: Call, now: number) {
    return dedupeOf(message, contextId, call, now + this.#settings.messageCacheTtlMs);
  }

  /** The log has only the task itself, and no further event before the turn runs. */
  #reader(taskId: string): LogReader {
    const { store, agent } = this.#settings;
    const isProvisional = agent.replies === 'message';
    return new LogReader({
      store,
      hub: this.#hub,
      taskId,
      cursor: 1,
      isLagging: false,
      isProvisional,
    });
  }
}

/** The answer for a turn that has ended. Throws if its task ended before it handled the message. */
function answered(task: Json<Task>, { messageId }: Message): AnsweredTurn {
  if (!hasMessage(task.value, messageId)) throw taskEnded(task.value.id);
  return { kind: 'answered', answer: { task } };
}

/** Whether the history of a task contains a message. */
export function hasMessage({ history }: Task, messageId: string): boolean {
  return history?.some((message) => message.messageId === messageId) === true;
}

export function taskEnded(taskId: string): LegateError {
  return new LegateError(
    'UNSUPPORTED_OPERATION',
    `task ${taskId} has ended and accepts no more messages; send one without taskId to start a new task`,
    { metadata: { taskId } },
  );
}

/** `Retry-After` of an unavailable agent, in seconds. */
const unavailableRetrySeconds = 5;

/** The error for messages that arrive while the process stops. */
export function stopping(): LegateError {
  return new LegateError('UNAVAILABLE', 'the server is shutting down; retry the request', {
    retryAfter: 1,
  });
}
