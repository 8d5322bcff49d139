import { z } from 'zod';
import type { Caller } from '../../agents/index.ts';
import { LegateError } from '../../protocol/index.ts';
import { admit, outcomeText, type Service, serviceOperations } from '../../service/index.ts';
import { digestOf, RecordSpace, type Store } from '../../store/index.ts';
import type { Call, Scheduler } from '../../tasks/index.ts';
import { sleep } from '../../time/index.ts';
import { type Identification, identify, readCancel } from '../exchange.ts';
import {
  type Bus,
  type Consumption,
  type Delivery,
  done,
  type AckDecision,
} from '../transport/bus.ts';
import { cancelQueue, ownCancelQueue } from '../transport/topics.ts';
import { foreignTaskId, isForeign } from './foreign-tasks.ts';
import type { TaskConsumer } from './task-consumer.ts';
import type { Replies } from './replies.ts';

const oneDay = 24 * 60 * 60 * 1000;
/** The maximum number of pending cancellations of one caller. */
const maxPending = 1_000;

/** Stores cancellation requests for tasks that are still queued. */
export class PendingCancellations {
  readonly #requests: RecordSpace<true>;
  readonly #former: RecordSpace<true>;
  readonly #scheduler: Scheduler;
  readonly #agent: string;

  constructor(options: { store: Store; scheduler: Scheduler; agent: string }) {
    const { store, scheduler, agent } = options;
    const common = { records: store.records, schema: z.literal(true), clock: scheduler };
    this.#requests = new RecordSpace({ ...common, space: 'bus-cancellations' });
    this.#former = new RecordSpace({ ...common, space: 'bus-cancel-wishes' });
    this.#scheduler = scheduler;
    this.#agent = agent;
  }

  /** Moves the requests that earlier versions stored in another space. */
  async adopt(): Promise<void> {
    for await (const { key, expiresAt } of this.#former.list()) {
      const expiry = expiresAt === undefined ? {} : { expiresAt };
      await this.#requests.write(
        this.#requests.toWrite(key, true, expiry),
        this.#former.toWrite(key),
      );
    }
  }

  /** Rejects with `RATE_LIMITED` when too many requests of the sender are pending. */
  async keep(correlationId: string, sender: Caller): Promise<void> {
    let pending = 0;
    for await (const _ of this.#requests.keys(this.#prefix(sender))) {
      pending += 1;
      if (pending < maxPending) continue;
      throw new LegateError(
        'RATE_LIMITED',
        `${maxPending} cancellations of this caller are waiting for their tasks: cancel again once these have arrived`,
      );
    }
    const key = this.#key(correlationId, sender);
    const expiresAt = this.#scheduler.now() + oneDay;
    await this.#requests.write(this.#requests.toWrite(key, true, { expiresAt }));
  }

  /** Whether the sender has requested the cancellation of this task; removes the request. */
  async take(correlationId: string | undefined, sender: Caller): Promise<boolean> {
    if (correlationId === undefined) return false;
    const { tenant, subject } = sender;
    // Earlier versions had one digest as the key.
    const former = digestOf(this.#agent, tenant, subject, correlationId);
    const keys = [this.#key(correlationId, sender), former];
    const found = await Promise.all(keys.map((key) => this.#requests.get(key)));
    if (found.every((each) => each === undefined)) return false;
    await this.#requests.write(...keys.map((key) => this.#requests.toWrite(key)));
    return true;
  }

  #key(correlationId: string, sender: Caller): string {
    return this.#prefix(sender) + digestOf(correlationId);
  }

  #prefix({ tenant, subject }: Caller): string {
    return `${digestOf(this.#agent, tenant, subject)}/`;
  }
}

export interface CancelConsumerOptions {
  readonly service: Service;
  readonly bus: Bus;
  readonly tasks: Pick<TaskConsumer, 'find'>;
  readonly replies: Replies;
  readonly cancellations: PendingCancellations;
  readonly identification: Identification;
  readonly scheduler: Scheduler;
  /** Aborts after the host has drained. */
  readonly closing: AbortSignal;
}

/** Marks a request that is broadcast a second time. */
const echo = 'echo';

const { cancelTask } = serviceOperations;

/**
 * Consumes cancellation requests. Every process of an agent gets a copy of each request, because one
 * of them may run the task with a store of its own. A shared queue delivers a further copy to one process,
 * for tasks that wait for their caller or are still queued.
 */
export class CancelConsumer {
  readonly #options: CancelConsumerOptions;
  #started = 0;
  #settled = 0;

  constructor(options: CancelConsumerOptions) {
    this.#options = options;
  }

  /**
   * Starts to consume, and handles waiting requests before it resolves, so that tasks that were
   * already cancelled are not started (best effort).
   */
  async start(name: string, replica: string): Promise<readonly Consumption[]> {
    const { bus, cancellations } = this.#options;
    await cancellations.adopt();
    const own = await bus.consume(ownCancelQueue(name, replica), (copy) =>
      this.#handleOwnCopy(copy),
    );
    try {
      return [own, await this.#startShared(name)];
    } catch (error) {
      await own.close();
      throw error;
    }
  }

  async #startShared(name: string): Promise<Consumption> {
    const { bus, scheduler } = this.#options;
    const queue = cancelQueue(name);
    const waiting = (await bus.inspect(queue.name))?.messages ?? 0;
    const shared = await bus.consume(queue, async (delivery) => {
      this.#started += 1;
      return this.#handle(delivery).finally(() => (this.#settled += 1));
    });
    try {
      for (let look = 0; look < 40 && this.#settled < waiting; look += 1) {
        const isIdle = this.#started === this.#settled;
        // Another process may have consumed them.
        if (look > 3 && isIdle && (await bus.inspect(queue.name))?.messages === 0) break;
        await sleep(25, undefined, scheduler);
      }
    } catch (error) {
      await shared.close();
      throw error;
    }
    return shared;
  }

  /** This process's copy: stops the turn if it runs here. The task consumer sends the result. */
  async #handleOwnCopy(delivery: Delivery): Promise<AckDecision> {
    const { service, tasks } = this.#options;
    try {
      const sender = await this.#identify(delivery);
      const job = tasks.find(delivery.correlationId, sender);
      if (job === undefined) return done;
      if (job.ids === undefined) job.isCancelled = true;
      else await cancelTask.perform(service, { id: job.ids.taskId }, this.#within(job.call));
      return done;
    } catch (error) {
      // Only the shared copy is answered. A store failure is retried.
      if (error instanceof LegateError && error.code !== 'STORE_FAILED') return done;
      throw error;
    }
  }

  /** The shared copy, which is answered. */
  async #handle(delivery: Delivery): Promise<AckDecision> {
    const { service, tasks, replies } = this.#options;
    const { correlationId, headers, replyTo = '', topic } = delivery;
    if (headers[echo] !== undefined) return done;
    let caller: Caller | undefined;
    try {
      const request = readCancel(delivery.body);
      caller = await this.#identify(delivery);
      const job = tasks.find(correlationId, caller);
      // A caller at its limit can still cancel what runs here.
      using _permit = job === undefined ? await admit(service, caller, replyTo) : undefined;
      const isOfCaller = isForeign(delivery);
      const named = isOfCaller ? foreignTaskId(caller, request.id) : request.id;
      const id = job?.ids?.taskId ?? named;
      const call = this.#within(job?.call ?? { caller, version: '1.0' });
      try {
        const task = await cancelTask.perform(service, { ...request, id }, call);
        await replies.result(delivery, outcomeText({ task }), 'cancel');
      } catch (error) {
        const isUnknown = error instanceof LegateError && error.code === 'TASK_NOT_FOUND';
        if (!isUnknown || correlationId === undefined) throw error;
        if (!isOfCaller && correlationId !== id) throw error;
        await this.#keep(delivery, correlationId, caller);
      }
      return done;
    } catch (error) {
      if (!(error instanceof LegateError) || error.code === 'STORE_FAILED') throw error;
      service.audit.denied(error, { address: replyTo, what: topic, caller });
      await replies.error(delivery, error, 'cancel');
      return done;
    }
  }

  /**
   * The task is unknown: its message is still queued. The process that consumes it later finds the stored
   * request; a process that consumed it just now gets the request a second time.
   */
  async #keep(delivery: Delivery, correlationId: string, sender: Caller): Promise<void> {
    const { bus, cancellations } = this.#options;
    await cancellations.keep(correlationId, sender);
    const { topic, body, replyTo, headers } = delivery;
    await bus.publish(topic, {
      type: 'cancel',
      body,
      correlationId,
      ...(replyTo !== undefined && { replyTo }),
      headers: { ...headers, [echo]: 'yes' },
    });
  }

  async #identify(delivery: Delivery): Promise<Caller> {
    return identify(delivery, this.#options.identification);
  }

  #within(call: Call): Call {
    return { ...call, signal: this.#options.closing };
  }
}
