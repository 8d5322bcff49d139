import type { Caller } from '../../agents/index.ts';
import {
  endsTurn,
  Json,
  LegateError,
  type SendMessageRequest,
  type StreamResponse,
  type TaskState,
  toLegateError,
} from '../../protocol/index.ts';
import {
  admit,
  inTenant,
  outcomeText,
  RequestMeter,
  type Service,
  serviceOperations,
} from '../../service/index.ts';
import type { Call, EventStream, Scheduler, SendOutcome } from '../../tasks/index.ts';
import { headerNames, type Identification, identify, readTask } from '../exchange.ts';
import {
  type AckDecision,
  type BusMessage,
  type Delivery,
  done,
  release,
} from '../transport/bus.ts';
import type { AcceptedTasks } from './accepted-tasks.ts';
import { asForeign } from './foreign-tasks.ts';
import type { PendingCancellations } from './cancellations.ts';
import type { Replies } from './replies.ts';

/** A task message that this process handles. */
export interface Job {
  readonly key: string;
  readonly delivery: Delivery;
  /** As it was sent, until it is prepared for the engine. */
  request: SendMessageRequest;
  /** The sender in its own tenant; `call` has the tenant that the request names. */
  readonly sender: Caller;
  call: Call;
  /** Numbers the updates of this delivery: each delivery starts a new series. */
  readonly updates: { readonly series: string; sequence: number };
  /** Known once the message is admitted. */
  ids: { readonly taskId: string; readonly contextId: string } | undefined;
  /** Its caller cancelled it before the task was known. */
  isCancelled: boolean;
  /** The broker redelivered a message that this process is still handling. */
  isRepeated: boolean;
  /** The state that was broadcast last. */
  state: TaskState | undefined;
}

export interface TaskConsumerOptions {
  readonly service: Service;
  readonly replies: Replies;
  readonly cancellations: PendingCancellations;
  readonly identification: Identification;
  readonly scheduler: Scheduler;
  /** Messages whose tasks were cancelled before they started, as `keyOf`: the agent is not run. */
  readonly unwanted: Set<string>;
  /** Broadcasts the states of tasks. */
  readonly broadcastsStates: boolean;
  /** Keeps messages of long tasks, so that they can be acknowledged before their end. */
  readonly accepted?: AcceptedTasks | undefined;
  /** Called with the reply to each message. */
  readonly onAnswered: (answer: TaskState | LegateError) => void;
}

/** The turn was interrupted by the shutdown. */
class Stopping extends Error {}

/** A message that can't be decoded or authenticated: a retry would not help. */
class Unusable extends Error {}

const { sendMessage, sendStreamingMessage, getTask, cancelTask } = serviceOperations;

/**
 * Consumes tasks from the bus. A delivery is settled once its turn has ended, the end is stored, and
 * the reply is sent. With a shared store, long turns are acknowledged earlier. If the process dies, the
 * broker redelivers the message, or another process takes it over from the store; the engine
 * deduplicates it by its message id.
 */
export class TaskConsumer {
  readonly #options: TaskConsumerOptions;
  /** The messages that are being handled, by caller and correlation id. */
  readonly #jobs = new Map<string, Job>();
  /** Aborts when the host stops. */
  readonly #stopping = new AbortController();

  constructor(options: TaskConsumerOptions) {
    this.#options = options;
  }

  /** The host stops: unfinished deliveries are requeued. */
  stop(): void {
    this.#stopping.abort(new Stopping('the host stops'));
  }

  /** Handles a delivery of the broker, and acknowledges it early if the store is shared. */
  async take(delivery: Delivery): Promise<AckDecision> {
    const { accepted } = this.#options;
    if (accepted === undefined) return this.handle(delivery);
    let job: Job | undefined;
    const acceptance = accepted.watch(delivery, () => job?.ids !== undefined);
    let decision: AckDecision = { kind: 'retry', reason: 'the handler failed' };
    try {
      decision = await this.handle(delivery, (started) => (job = started));
      return decision;
    } finally {
      await acceptance.end(decision);
    }
  }

  async handle(delivery: Delivery, onStarted?: (job: Job) => void): Promise<AckDecision> {
    const { service, identification, replies, onAnswered, scheduler } = this.#options;
    const startedAt = scheduler.now();
    let caller: Caller | undefined;
    let job: Job | undefined;
    using meter = new RequestMeter('amqp');
    meter.operation = 'sendMessage';
    try {
      const request = await usable(() => readTask(delivery.body));
      caller = await usable(() => identify(delivery, identification));
      // Before admission: a cancellation that arrives meanwhile must find the job.
      job = this.#job(delivery, request, caller);
      job.isRepeated = this.#jobs.get(job.key)?.delivery.id === delivery.id;
      this.#jobs.set(job.key, job);
      using _permit = await admit(service, caller, delivery.replyTo ?? '');
      Object.assign(job, await asForeign(service, delivery, request, job.call));
      onStarted?.(job);
      const outcome = await this.#answer(job);
      // The broker has redelivered the message meanwhile: the later delivery sends the answer.
      if (this.#isSuperseded(job)) return done;
      await replies.result(delivery, outcomeText(outcome));
      const { state } = 'task' in outcome ? outcome.task.value.status : completed;
      this.#broadcast(job, state);
      const { correlationId } = delivery;
      const durationMs = scheduler.now() - startedAt;
      service.logger.info({ ...job.ids, correlationId, state, durationMs }, 'bus.task.ended');
      onAnswered(state);
      return done;
    } catch (error) {
      const isStopping = this.#stopping.signal.aborted;
      const { code } = toLegateError(error instanceof Unusable ? error.cause : error);
      meter.error = isStopping ? 'UNAVAILABLE' : code;
      return await this.#refuse(delivery, caller, error);
    } finally {
      // The broker may have redelivered the same message meanwhile.
      if (job !== undefined && this.#jobs.get(job.key) === job) this.#jobs.delete(job.key);
    }
  }

  /** The job of a caller's message that is being handled here. */
  find(correlationId: string | undefined, sender: Caller): Job | undefined {
    return correlationId === undefined ? undefined : this.#jobs.get(keyOf(correlationId, sender));
  }

  /** Whether a redelivery of the same message is handled here. */
  #isSuperseded(job: Job): boolean {
    const latest = this.#jobs.get(job.key);
    return latest !== undefined && latest !== job && latest.delivery.id === job.delivery.id;
  }

  /** The transport refused the message: its sender gets the reason. */
  async refused(message: BusMessage, reason: string): Promise<void> {
    await this.#options.replies.error(message, new LegateError('INVALID_REQUEST', reason));
  }

  #job(delivery: Delivery, request: SendMessageRequest, sender: Caller): Job {
    const { correlationId, headers } = delivery;
    const { traceparent, tracestate } = headers;
    const call: Call = {
      caller: sender,
      version: '1.0',
      signal: this.#stopping.signal,
      ...(traceparent !== undefined && { traceparent }),
      ...(tracestate !== undefined && { tracestate }),
    };
    return {
      key: keyOf(correlationId ?? delivery.id, sender),
      delivery,
      request,
      sender,
      call: inTenant(call, request.tenant),
      updates: { series: this.#options.scheduler.uuid(), sequence: 0 },
      ids: undefined,
      isCancelled: false,
      isRepeated: false,
      state: undefined,
    };
  }

  /** Sends the message to the engine; a redelivery joins the turn that runs already. */
  async #answer(job: Job): Promise<SendOutcome> {
    const { service, cancellations, unwanted } = this.#options;
    const { request, sender, call, delivery } = job;
    const message = keyOf(request.message.messageId, call.caller);
    // A cancellation can also reach the job during the query.
    if (await cancellations.take(delivery.correlationId, sender)) job.isCancelled = true;
    if (job.isCancelled) unwanted.add(message);
    try {
      for (;;) {
        const stream = await sendStreamingMessage.perform(service, request, call);
        const outcome = await this.#follow(job, stream);
        if (outcome !== undefined) return outcome;
        this.#stopping.signal.throwIfAborted();
      }
    } finally {
      unwanted.delete(message);
    }
  }

  /** Forwards events until the turn has ended; undefined if the stream closed before that. */
  async #follow(job: Job, stream: EventStream): Promise<SendOutcome | undefined> {
    const { service } = this.#options;
    try {
      for (;;) {
        const next = stream.take() ?? (await stream.next());
        if (next === undefined) return undefined;
        const { body, isLast } = next;
        const event = body.value;
        if ('message' in event) return { message: Json.of(event.message) };
        if ('task' in event) {
          if (isLast) return { task: Json.of(event.task) };
          await this.#known(job, event.task.id, event.task.contextId);
          if (event.task.status.state === 'TASK_STATE_WORKING') {
            // An earlier delivery started the turn, and the caller may have missed its updates.
            await this.#update(job, event, () => body.text);
          }
        } else if (isLast && job.ids !== undefined && isFirst(job)) {
          const task = await stream.result();
          const { taskId: id } = job.ids;
          return { task: task ?? (await getTask.perform(service, { id }, job.call)) };
        } else {
          await this.#update(job, event, () => body.text);
          const outcome = endsTurn(event) ? await this.#outcome(job) : undefined;
          if (outcome !== undefined) return outcome;
        }
      }
    } finally {
      stream.close();
    }
  }

  /** The answer to the message, once there is one. */
  async #outcome({ request, call }: Job): Promise<SendOutcome | undefined> {
    try {
      return await sendMessage.perform(this.#options.service, request, call);
    } catch (error) {
      if (error instanceof LegateError && error.code === 'MESSAGE_IN_FLIGHT') return undefined;
      throw error;
    }
  }

  async #known(job: Job, taskId: string, contextId: string): Promise<void> {
    if (job.ids === undefined && !job.isRepeated) {
      const { correlationId } = job.delivery;
      const from = job.sender.displayName ?? job.sender.subject;
      this.#options.service.logger.info(
        { taskId, contextId, correlationId, from },
        'bus.task.started',
      );
    }
    job.ids = { taskId, contextId };
    if (job.isCancelled) {
      const { service } = this.#options;
      await cancelTask.perform(service, { id: taskId }, job.call).catch((error: unknown) => {
        // The task ended first: the answer is that end.
        if (!(error instanceof LegateError) || error.code !== 'TASK_NOT_CANCELABLE') throw error;
      });
    }
  }

  async #update(job: Job, event: StreamResponse, text: () => string): Promise<void> {
    if (this.#isSuperseded(job)) return;
    if ('statusUpdate' in event) this.#broadcast(job, event.statusUpdate.status.state);
    const wanted = job.delivery.headers[headerNames.updates];
    if (wanted === 'none' || (wanted === 'status' && 'artifactUpdate' in event)) return;
    await this.#options.replies.update(job.delivery, text(), job.updates);
    job.updates.sequence += 1;
  }

  #broadcast(job: Job, state: TaskState): void {
    const { broadcastsStates, replies } = this.#options;
    if (!broadcastsStates || job.state === state || job.ids === undefined) return;
    job.state = state;
    replies.broadcast(job.ids, state, job.delivery.correlationId);
  }

  async #refuse(
    delivery: Delivery,
    caller: Caller | undefined,
    thrown: unknown,
  ): Promise<AckDecision> {
    const { service, replies, onAnswered } = this.#options;
    if (this.#stopping.signal.aborted) return release;
    const isUnusable = thrown instanceof Unusable;
    const error = toLegateError(isUnusable ? thrown.cause : thrown);
    const { correlationId, replyTo = '', topic } = delivery;
    service.audit.denied(error, { address: replyTo, what: topic, caller });
    if (!isUnusable && isRetryable(error)) {
      service.logger.error({ correlationId, error: thrown }, 'bus.task.failed');
      if (delivery.isLastAttempt) await replies.error(delivery, error);
      onAnswered(error);
      return { kind: 'retry', reason: error.message };
    }
    const wasSent = await replies.error(delivery, error);
    onAnswered(error);
    return wasSent && !isUnusable ? done : { kind: 'dead', reason: error.message };
  }
}

async function usable<T>(read: () => T | Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    throw new Unusable('the message cannot be used', { cause });
  }
}

/** A message that starts a task is part of it; a message to an existing task may have come too late. */
function isFirst({ request }: Job): boolean {
  return request.message.taskId === undefined;
}

const completed = { state: 'TASK_STATE_COMPLETED' } as const;

/** Errors that a retry may resolve. */
function isRetryable({ code }: LegateError): boolean {
  return code === 'INTERNAL' || code === 'STORE_FAILED' || code === 'UNAVAILABLE';
}

/** Callers choose the ids of messages and correlation ids, so these are unique per caller only. */
export function keyOf(id: string, { tenant, subject }: Caller): string {
  return JSON.stringify([tenant, subject, id]);
}
