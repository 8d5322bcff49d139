import type { Caller } from '../../agents/index.ts';
import {
  isInterrupted,
  isTerminal,
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
  type Service,
  serviceOperations,
} from '../../service/index.ts';
import type { Call, EventStream, Scheduler, SendOutcome } from '../../tasks/index.ts';
import { headerNames, readTask } from '../exchange/payloads.ts';
import { type Identification, identify } from '../exchange/sender.ts';
import {
  type BusMessage,
  type Delivery,
  done,
  release,
  type AckDecision,
} from '../transport/bus.ts';
import type { PendingCancellations } from './cancellations.ts';
import type { Job, Jobs } from './jobs.ts';
import type { Replies } from './replies.ts';

export interface TaskConsumerOptions {
  readonly service: Service;
  readonly jobs: Jobs;
  readonly replies: Replies;
  readonly cancellations: PendingCancellations;
  readonly identification: Identification;
  readonly scheduler: Scheduler;
  /** Messages whose tasks were cancelled before they started: the agent is not asked. */
  readonly unwanted: Set<string>;
  /** Broadcasts the states of tasks. */
  readonly broadcastsStates: boolean;
  /** Called with the reply to each message. */
  readonly onAnswered: (answer: TaskState | LegateError) => void;
}

/** The turn was interrupted by the shutdown. */
class Stopping extends Error {}

/** A message that can't be decoded or authenticated: a retry would not help. */
class Unusable extends Error {}

const { sendMessage, sendStreamingMessage, getTask, subscribeToTask, cancelTask } =
  serviceOperations;

/**
 * Consumes tasks from the bus. A delivery is settled once its turn has ended, the end is stored, and
 * the reply is sent. After an earlier failure the broker redelivers the message, and the engine
 * deduplicates it.
 */
export class TaskConsumer {
  readonly #options: TaskConsumerOptions;
  readonly #streams = new Set<EventStream>();
  #isStopped = false;

  constructor(options: TaskConsumerOptions) {
    this.#options = options;
  }

  /** The host stops: unfinished deliveries are requeued. */
  stop(): void {
    this.#isStopped = true;
    for (const stream of this.#streams) stream.close();
  }

  async handle(delivery: Delivery): Promise<AckDecision> {
    const { service, identification, replies, onAnswered, jobs } = this.#options;
    let caller: Caller | undefined;
    let job: Job | undefined;
    try {
      const request = await usable(() => readTask(delivery.body));
      caller = await usable(() => identify(delivery, identification));
      using _permit = await admit(service, caller, delivery.replyTo ?? '');
      job = this.#job(delivery, request, caller);
      jobs.add(job);
      const outcome = await this.#answer(job);
      await replies.result(delivery, outcomeText(outcome));
      const { state } = 'task' in outcome ? outcome.task.value.status : completed;
      this.#broadcast(job, state);
      onAnswered(state);
      return done;
    } catch (error) {
      return await this.#refuse(delivery, caller, error);
    } finally {
      if (job !== undefined) jobs.remove(job);
    }
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
      // Deduplicates redeliveries of a first message without a context.
      ...(correlationId !== undefined && { idempotencyKey: correlationId }),
      ...(traceparent !== undefined && { traceparent }),
      ...(tracestate !== undefined && { tracestate }),
    };
    return {
      delivery,
      request,
      sender,
      call: inTenant(call, request.tenant),
      updates: { series: this.#options.scheduler.uuid(), sequence: 0 },
      ids: undefined,
      isCancelled: false,
      state: undefined,
    };
  }

  async #answer(job: Job): Promise<SendOutcome> {
    const { service, cancellations, unwanted } = this.#options;
    const { request, sender, call, delivery } = job;
    const { messageId } = request.message;
    const isUnwanted = await cancellations.take(delivery.correlationId, sender);
    if (isUnwanted) unwanted.add(messageId);
    try {
      return await this.#follow(job, await sendStreamingMessage.perform(service, request, call));
    } catch (error) {
      const taskId = taskInFlight(error);
      if (taskId === undefined) throw error;
      // A redelivery: the turn runs already.
      if (isUnwanted) job.isCancelled = true;
      return await this.#join(job, taskId);
    } finally {
      unwanted.delete(messageId);
    }
  }

  /** Passes on what happens, until the turn is over. */
  async #follow(job: Job, stream: EventStream): Promise<SendOutcome> {
    const { service, scheduler } = this.#options;
    this.#streams.add(stream);
    try {
      for (;;) {
        const next = this.#isStopped ? undefined : (stream.take() ?? (await stream.next()));
        if (next === undefined) throw new Stopping('the host stops');
        const { body, isLast } = next;
        const event = body.value;
        if ('message' in event) return { message: Json.of(event.message) };
        if ('task' in event) {
          if (isLast) return { task: Json.of(event.task) };
          const ids = await this.#known(job, event.task.id, event.task.contextId);
          const timestamp = new Date(scheduler.now()).toISOString();
          const status = { state: 'TASK_STATE_WORKING', timestamp } as const;
          const working: StreamResponse = { statusUpdate: { ...ids, status } };
          await this.#update(job, working, () => JSON.stringify(working));
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
      this.#streams.delete(stream);
      stream.close();
    }
  }

  /** Waits for the end of a turn that runs already, here or elsewhere. */
  async #join(job: Job, taskId: string): Promise<SendOutcome> {
    for (;;) {
      const answered = (await this.#outcome(job)) ?? (await this.#watch(job, taskId));
      if (answered !== undefined) return answered;
      if (this.#isStopped) throw new Stopping('the host stops');
    }
  }

  /** Passes on what happens in a task until the message is answered, or the task is over. */
  async #watch(job: Job, taskId: string): Promise<SendOutcome | undefined> {
    const { service } = this.#options;
    let stream: EventStream | undefined;
    try {
      if (job.ids === undefined) {
        const task = await getTask.perform(service, { id: taskId }, job.call);
        await this.#known(job, taskId, task.value.contextId);
      }
      stream = await subscribeToTask.perform(service, { id: taskId }, job.call);
      this.#streams.add(stream);
      if (this.#isStopped) stream.close();
      for await (const { body } of stream) {
        await this.#update(job, body.value, () => body.text);
        // The state may be older than the subscription, or the message may still be queued.
        const outcome = endsTurn(body.value) ? await this.#outcome(job) : undefined;
        if (outcome !== undefined) return outcome;
      }
    } catch (error) {
      if (!isOver(error)) throw error;
    } finally {
      if (stream !== undefined) this.#streams.delete(stream);
    }
    return undefined;
  }

  /** The answer to the message, once there is one. */
  async #outcome({ request, call }: Job): Promise<SendOutcome | undefined> {
    try {
      return await sendMessage.perform(this.#options.service, request, call);
    } catch (error) {
      if (taskInFlight(error) !== undefined) return undefined;
      throw error;
    }
  }

  async #known(job: Job, taskId: string, contextId: string) {
    job.ids = { taskId, contextId };
    if (job.isCancelled) {
      const { service } = this.#options;
      await cancelTask.perform(service, { id: taskId }, job.call).catch((error: unknown) => {
        // It ended first: then that end is the answer.
        if (!(error instanceof LegateError) || error.code !== 'TASK_NOT_CANCELABLE') throw error;
      });
    }
    return job.ids;
  }

  async #update(job: Job, event: StreamResponse, text: () => string): Promise<void> {
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
    if (thrown instanceof Stopping || this.#isStopped) return release;
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

/** A message that started its task is in it; one to a task that was there may have come too late. */
function isFirst({ request }: Job): boolean {
  return request.message.taskId === undefined;
}

const completed = { state: 'TASK_STATE_COMPLETED' } as const;

function endsTurn(event: StreamResponse): boolean {
  if (!('statusUpdate' in event) && !('task' in event)) return false;
  const { state } = ('task' in event ? event.task : event.statusUpdate).status;
  return isTerminal(state) || isInterrupted(state);
}

/** The task ended in between, or a plain message took its place. */
function isOver(error: unknown): boolean {
  return (
    error instanceof LegateError &&
    (error.code === 'UNSUPPORTED_OPERATION' || error.code === 'TASK_NOT_FOUND')
  );
}

function taskInFlight(error: unknown): string | undefined {
  return error instanceof LegateError && error.code === 'MESSAGE_IN_FLIGHT'
    ? error.metadata?.taskId
    : undefined;
}

/** Errors that a retry may resolve. */
function isRetryable({ code }: LegateError): boolean {
  return code === 'INTERNAL' || code === 'STORE_FAILED' || code === 'UNAVAILABLE';
}
