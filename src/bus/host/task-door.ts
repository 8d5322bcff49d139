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
import type { Call, Engine, EventStream, Scheduler, SendOutcome } from '../../tasks/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import {
  headerNames,
  type Identification,
  identify,
  readTask,
  resultText,
} from '../exchange/index.ts';
import { type BusMessage, type Delivery, done, release, type Verdict } from '../transport/index.ts';
import type { CancelWishes } from './cancel-wishes.ts';
import type { Job, Jobs } from './job.ts';
import type { Replies } from './replies.ts';
import { Telling } from './telling.ts';

export interface TaskDoorOptions {
  readonly engine: Engine;
  readonly jobs: Jobs;
  readonly replies: Replies;
  readonly wishes: CancelWishes;
  readonly identification: Identification;
  readonly logger: Logger;
  readonly scheduler: Scheduler;
  /** Milliseconds for which updates are held back, since the result may make them needless. */
  readonly updateGraceMs: number;
  /** The agent may answer with a plain message, and there is no task until it does otherwise. */
  readonly repliesWithMessage: boolean;
  /** Aborts when nothing is waited for any more. */
  readonly closing: AbortSignal;
  /** Messages whose tasks were cancelled before they began: the agent is not asked. */
  readonly unwanted: Set<string>;
  /** Told how each message was answered. */
  readonly onAnswered: (answer: TaskState | LegateError) => void;
  /** Told of the states that tasks come to. */
  readonly onState: (job: Job, state: TaskState) => void;
}

/** The turn did not come to its end here. */
class Stopping extends Error {}

/**
 * The door by which tasks come in from the bus. A delivery is settled once its turn has ended, that
 * end is stored, and its caller was told: whatever fails before, the broker gives it out again, and
 * the engine knows a message that it has seen.
 */
export class TaskDoor {
  readonly #options: TaskDoorOptions;
  /** What is waited for. No signal for each: many tasks are under way, and each would weigh much. */
  readonly #waits = new Set<{ close(): void }>();
  #isStopped = false;

  constructor(options: TaskDoorOptions) {
    this.#options = options;
  }

  /** The host stops: what is not over is left for others. */
  stop(): void {
    this.#isStopped = true;
    for (const wait of this.#waits) wait.close();
  }

  async handle(delivery: Delivery): Promise<Verdict> {
    const { identification, replies, onAnswered, jobs } = this.#options;
    let request: SendMessageRequest;
    let caller: Caller;
    try {
      request = readTask(delivery.body);
      const known = identify(delivery, identification);
      caller = known instanceof Promise ? await known : known;
    } catch (thrown) {
      const error = toLegateError(thrown);
      await replies.error(delivery, error);
      onAnswered(error);
      return { kind: 'dead', reason: error.message };
    }
    let job: Job | undefined;
    try {
      const call = this.#call(delivery, caller, request);
      job = {
        delivery,
        request,
        call,
        telling: wantedBy(delivery) === 'none' ? undefined : this.#telling(delivery),
        ids: undefined,
        isCancelled: false,
        state: undefined,
      };
      jobs.add(job);
      const outcome = await this.#answer(job);
      if (job.telling !== undefined) await job.telling.end();
      await replies.result(delivery, resultText(outcome));
      const { state } = 'task' in outcome ? outcome.task.value.status : completed;
      this.#tell(job, state);
      onAnswered(state);
      return done;
    } catch (error) {
      return await this.#refuse(delivery, error);
    } finally {
      if (job !== undefined) {
        job.telling?.stop();
        jobs.remove(job);
      }
    }
  }

  /** The transport did not hand it out: its sender is told why. */
  async refused(message: BusMessage, reason: string): Promise<void> {
    await this.#options.replies.error(message, new LegateError('INVALID_REQUEST', reason));
  }

  /** The updates of one delivery are a series of their own, and numbered. */
  #telling(delivery: Delivery): Telling {
    const { replies, scheduler, updateGraceMs: graceMs } = this.#options;
    const series = scheduler.uuid();
    let sequence = -1;
    const send = (text: string): Promise<void> => {
      sequence += 1;
      return replies.update(delivery, text, { series, sequence });
    };
    return new Telling({ send, scheduler, graceMs });
  }

  #call(delivery: Delivery, caller: Caller, { tenant }: SendMessageRequest): Call {
    const { correlationId, headers } = delivery;
    const { traceparent, tracestate } = headers;
    if (tenant !== undefined && tenant !== caller.tenant && caller.tenant !== '') {
      throw new LegateError('PERMISSION_DENIED', 'the caller does not belong to this tenant');
    }
    return {
      caller: tenant === undefined ? caller : { ...caller, tenant },
      version: '1.0',
      // A first message without a context is known again by this when the broker repeats it.
      ...(correlationId !== undefined && { idempotencyKey: correlationId }),
      ...(traceparent !== undefined && { traceparent }),
      ...(tracestate !== undefined && { tracestate }),
    };
  }

  async #answer(job: Job): Promise<SendOutcome> {
    const { engine, wishes, unwanted } = this.#options;
    const { request, call, delivery } = job;
    const { messageId } = request.message;
    const isUnwanted = wishes.mayExist && (await wishes.take(delivery.correlationId, call.caller));
    if (isUnwanted) unwanted.add(messageId);
    try {
      return await (this.#isAwaited(job)
        ? this.#wait(job)
        : this.#follow(job, await engine.stream(request, call)));
    } catch (error) {
      const taskId = taskInFlight(error);
      if (taskId === undefined) throw error;
      // It came before: whoever runs it, runs it once.
      if (isUnwanted) job.isCancelled = true;
      return await this.#join(job, taskId);
    } finally {
      unwanted.delete(messageId);
    }
  }

  /** Whether only the end matters to the caller, and is all there is to wait for. */
  #isAwaited({ telling, request }: Job): boolean {
    if (this.#options.repliesWithMessage || this.#isStopped) return false;
    return telling === undefined && request.configuration?.returnImmediately !== true;
  }

  /** Waits until the turn is over. */
  #wait(job: Job): Promise<SendOutcome> {
    const { engine, closing: signal } = this.#options;
    return new Promise((resolve, reject) => {
      const wait = { close: () => reject(new Stopping('the host stops')) };
      this.#waits.add(wait);
      const onAdmitted: Call['onAdmitted'] = ({ taskId, contextId }) => {
        this.#known(job, taskId, contextId).catch(reject);
        this.#tell(job, 'TASK_STATE_WORKING');
      };
      engine.send(job.request, { ...job.call, onAdmitted, signal }).then(
        (outcome) => {
          this.#waits.delete(wait);
          resolve(outcome);
        },
        (error: unknown) => {
          this.#waits.delete(wait);
          reject(error);
        },
      );
    });
  }

  /** Passes on what happens, until the turn is over. */
  async #follow(job: Job, stream: EventStream): Promise<SendOutcome> {
    const { engine, scheduler } = this.#options;
    this.#waits.add(stream);
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
          return { task: task ?? (await engine.getTask({ id: job.ids.taskId }, job.call)) };
        } else {
          await this.#update(job, event, () => body.text);
          const outcome = endsTurn(event) ? await this.#outcome(job) : undefined;
          if (outcome !== undefined) return outcome;
        }
      }
    } finally {
      this.#waits.delete(stream);
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
    const { engine } = this.#options;
    let stream: EventStream | undefined;
    try {
      if (job.ids === undefined) {
        const task = await engine.getTask({ id: taskId }, job.call);
        await this.#known(job, taskId, task.value.contextId);
      }
      stream = await engine.subscribe({ id: taskId }, job.call);
      this.#waits.add(stream);
      if (this.#isStopped) stream.close();
      for await (const { body } of stream) {
        await this.#update(job, body.value, () => body.text);
        // It may have come to this before anybody watched; or it waits for its turn still.
        const outcome = endsTurn(body.value) ? await this.#outcome(job) : undefined;
        if (outcome !== undefined) return outcome;
      }
    } catch (error) {
      if (!isOver(error)) throw error;
    } finally {
      if (stream !== undefined) this.#waits.delete(stream);
    }
    return undefined;
  }

  /** The answer to the message, once there is one. */
  async #outcome({ request, call }: Job): Promise<SendOutcome | undefined> {
    try {
      return await this.#options.engine.send(request, call);
    } catch (error) {
      if (taskInFlight(error) !== undefined) return undefined;
      throw error;
    }
  }

  async #known(job: Job, taskId: string, contextId: string) {
    job.ids = { taskId, contextId };
    if (job.isCancelled) {
      await this.#options.engine.cancelTask({ id: taskId }, job.call).catch((error: unknown) => {
        // It ended first: then that end is the answer.
        if (!(error instanceof LegateError) || error.code !== 'TASK_NOT_CANCELABLE') throw error;
      });
    }
    return job.ids;
  }

  async #update(job: Job, event: StreamResponse, text: () => string): Promise<void> {
    if ('statusUpdate' in event) this.#tell(job, event.statusUpdate.status.state);
    if (job.telling === undefined) return;
    if (wantedBy(job.delivery) === 'status' && 'artifactUpdate' in event) return;
    await job.telling.tell(event, text());
  }

  #tell(job: Job, state: TaskState): void {
    if (job.state === state) return;
    job.state = state;
    this.#options.onState(job, state);
  }

  async #refuse(delivery: Delivery, thrown: unknown): Promise<Verdict> {
    const { replies, logger, onAnswered } = this.#options;
    if (thrown instanceof Stopping || this.#isStopped) return release;
    const error = toLegateError(thrown);
    if (isOurFault(error)) {
      logger.error({ correlationId: delivery.correlationId, error: thrown }, 'bus.task.failed');
      if (delivery.isLastAttempt) await replies.error(delivery, error);
      onAnswered(error);
      return { kind: 'retry', reason: error.message };
    }
    const wasTold = await replies.error(delivery, error);
    onAnswered(error);
    return wasTold ? done : { kind: 'dead', reason: error.message };
  }
}

/** Which updates the sender of a task wants to hear: `all`, `status` or `none`. */
function wantedBy({ headers }: Delivery): string | undefined {
  return headers[headerNames.updates];
}

/** A message that began its task is in it; one to a task that was there may have come too late. */
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

/** Errors that another attempt may not meet again. */
function isOurFault({ code }: LegateError): boolean {
  return code === 'INTERNAL' || code === 'STORE_FAILED' || code === 'UNAVAILABLE';
}
