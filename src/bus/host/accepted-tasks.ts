import { z } from 'zod';
import { LegateError } from '../../protocol/index.ts';
import { RecordSpace, Replica, type Store } from '../../store/index.ts';
import type { Scheduler } from '../../tasks/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { headerNames } from '../exchange.ts';
import {
  type AckDecision,
  type Bus,
  defaultRetryDelaysMs,
  type Delivery,
  type Queue,
} from '../transport/bus.ts';
import type { Slots } from '../transport/slots.ts';

const message = z.object({
  id: z.string(),
  type: z.string(),
  body: z.string(),
  topic: z.string(),
  correlationId: z.string().optional(),
  replyTo: z.string().optional(),
  headers: z.record(z.string(), z.string()),
});

const acceptedTask = z.object({
  /** The replica that answers it. */
  owner: z.string(),
  /** The number of the next attempt. */
  attempt: z.number().default(1),
  message,
});
type AcceptedTask = z.infer<typeof acceptedTask>;

export interface AcceptedTasksOptions {
  /** Shared by the processes of the agent. */
  readonly store: Store;
  readonly bus: Bus;
  readonly agent: string;
  /** The queue that delivered the messages. */
  readonly queue: Queue;
  readonly scheduler: Scheduler;
  readonly logger: Logger;
  /** How long a task runs before its message is acknowledged, in milliseconds. */
  readonly afterMs: number;
  /** Shared by tasks that are taken over and by the broker's deliveries. */
  readonly slots: Slots;
  /** The lease of a process, in milliseconds. */
  readonly leaseMs?: number | undefined;
  /** Handles the message of a process that died, as if the broker had redelivered it. */
  readonly handle: (delivery: Delivery) => Promise<AckDecision>;
}

/** The same number as with the broker's default retry delays. */
const maxAttempts = defaultRetryDelaysMs.length + 1;
const thirtyDays = 30 * 24 * 60 * 60 * 1000;

/**
 * Stores the messages of long tasks and then acknowledges them, so that the broker's timeout for
 * unacknowledged deliveries does not apply to them.
 *
 * - **delivered**: the broker redelivers the message if this process dies.
 * - **accepted**: the message is in the store, under the lease of this process, and acknowledged. If the
 *   process dies, another one takes it over and sends the answer.
 * - **returned**: this process stops, and publishes the message again.
 */
export class AcceptedTasks {
  readonly #options: AcceptedTasksOptions;
  readonly #records: RecordSpace<AcceptedTask>;
  readonly #replica: Replica;
  /** Keys of messages that this process handles. */
  readonly #active = new Set<string>();
  readonly #takenOver = new Set<Promise<void>>();
  #isTakingOver = false;
  /** Releases the reservation of a slot that a delivery still occupies. */
  #awaited: (() => void) | undefined;
  #stopListening: (() => void) | undefined;
  /** The last scan left tasks behind, because no slot was free. */
  #hasMore = false;
  #isStopped = false;
  #leave: (() => Promise<void>) | undefined;

  constructor(options: AcceptedTasksOptions) {
    const { store, scheduler, logger, leaseMs } = options;
    this.#options = options;
    this.#records = new RecordSpace({
      records: store.records,
      space: 'bus-accepted-tasks',
      schema: acceptedTask,
      clock: scheduler,
    });
    const lease = leaseMs === undefined ? {} : { leaseMs };
    this.#replica = new Replica({ store, id: scheduler.uuid(), scheduler, logger, ...lease });
  }

  async start(): Promise<void> {
    this.#stopListening = this.#options.slots.onChange(() => {
      if (this.#hasMore && this.#isRoomy) {
        this.#takeOver().catch((error: unknown) => this.#failed(error));
      }
    });
    this.#leave = await this.#replica.join({ takeOver: () => this.#takeOver() });
  }

  /** Other processes take over the remaining tasks. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#stopListening?.();
    this.#awaited?.();
    await Promise.all(this.#takenOver);
    await this.#leave?.();
  }

  /** Accepts the message after `afterMs`, once `isDurable` returns true. */
  watch(delivery: Delivery, isDurable: () => boolean): Acceptance {
    const { scheduler, afterMs, logger } = this.#options;
    let accepting: Promise<string | undefined> = Promise.resolve(undefined);
    let hasEnded = false;
    const later = (): { cancel(): void } =>
      scheduler.after(afterMs, () => {
        if (!isDurable()) {
          timer = later();
          return;
        }
        accepting = this.#accept(delivery).catch((error: unknown) => {
          logger.warn({ correlationId: delivery.correlationId, error }, 'bus.task.accept_failed');
          // Retries a failure of the store. The broker redelivers a delivery whose channel is lost.
          if (!hasEnded && isStoreFailure(error)) timer = later();
          return undefined;
        });
      });
    let timer = later();
    return {
      end: async (decision) => {
        hasEnded = true;
        timer.cancel();
        const key = await accepting;
        if (key === undefined) return;
        try {
          await this.#settle(key, delivery, decision);
        } finally {
          this.#active.delete(key);
        }
      },
    };
  }

  async #accept(delivery: Delivery): Promise<string> {
    const { agent, scheduler, logger } = this.#options;
    const key = `${agent}/${scheduler.uuid()}`;
    this.#active.add(key);
    try {
      await this.#keep(key, delivery, delivery.attempt);
      await delivery.acknowledge();
    } catch (error) {
      // The broker redelivers it, so no process may take it over from the store.
      await this.#records.write(this.#records.toWrite(key)).finally(() => this.#active.delete(key));
      throw error;
    }
    logger.debug({ correlationId: delivery.correlationId }, 'bus.task.accepted');
    return key;
  }

  async #keep(key: string, delivery: Delivery, attempt: number): Promise<void> {
    const value = { owner: this.#replica.id, attempt, message: messageOf(delivery) };
    const expiresAt = this.#options.scheduler.now() + thirtyDays;
    await this.#records.write(this.#records.toWrite(key, value, { expiresAt }));
  }

  /** A message to retry stays in the store; the next takeover handles it. */
  async #settle(key: string, delivery: Delivery, decision: AckDecision): Promise<void> {
    if (decision.kind === 'retry' && !delivery.isLastAttempt) {
      return this.#keep(key, delivery, delivery.attempt + 1);
    }
    if (decision.kind === 'dead' || decision.kind === 'retry') {
      // Like dead letters of the broker: bounded, with a reason, replayable.
      const { bus, queue } = this.#options;
      const { reason } = decision;
      await bus.bury(queue, delivery, { reason, attempts: delivery.attempt });
    }
    if (decision.kind === 'release') {
      const { bus } = this.#options;
      const { topic, headers, ...sent } = messageOf(delivery);
      // In the dialect of the delivery: its message id would change in another one.
      const dialect = headers[headerNames.dialect] ?? 'legate';
      const dialectHeaders = { ...headers, [headerNames.dialect]: dialect };
      await bus.publish(
        topic,
        { ...sent, headers: dialectHeaders, type: 'task' },
        { mandatory: true },
      );
    }
    await this.#records.write(this.#records.toWrite(key));
  }

  /** Runs one scan at a time. When a task ends, the next scan takes over tasks that were left behind. */
  async #takeOver(): Promise<void> {
    if (this.#isTakingOver || this.#isStopped) return;
    this.#isTakingOver = true;
    this.#hasMore = false;
    try {
      await this.#takeOverWhatFits();
    } finally {
      this.#isTakingOver = false;
      // Another process has taken over the task that the slot was reserved for.
      if (!this.#hasMore) this.#leaveSlot();
    }
  }

  get #isRoomy(): boolean {
    const { slots } = this.#options;
    return this.#awaited === undefined ? slots.hasRoom : !slots.isOverbooked;
  }

  #leaveSlot(): void {
    this.#awaited?.();
    this.#awaited = undefined;
  }

  async #takeOverWhatFits(): Promise<void> {
    const { agent, logger, slots } = this.#options;
    for await (const { key, value, version, expiresAt } of this.#records.list(`${agent}/`)) {
      if (this.#active.has(key)) continue;
      const isOwn = value.owner === this.#replica.id;
      if (!isOwn && !(await this.#replica.dead([value.owner])).has(value.owner)) continue;
      if (!this.#isRoomy) {
        this.#hasMore = true;
        // Reserves the next free slot: new deliveries must not starve tasks of dead processes.
        if (this.#takenOver.size === 0) this.#awaited ??= slots.reserve();
        return;
      }
      const free = this.#awaited ?? slots.reserve();
      this.#awaited = undefined;
      this.#active.add(key);
      const claim = this.#records.toWrite(
        key,
        { ...value, owner: this.#replica.id },
        { ifVersion: version, ...(expiresAt !== undefined && { expiresAt }) },
      );
      let isClaimed = false;
      try {
        isClaimed = await this.#records.write(claim);
      } finally {
        if (!isClaimed) {
          this.#active.delete(key);
          free();
        }
      }
      if (!isClaimed) continue;
      logger.info({ correlationId: value.message.correlationId }, 'bus.task.taken_over');
      const handling = this.#handle(key, value);
      this.#takenOver.add(handling);
      void handling.finally(() => {
        this.#takenOver.delete(handling);
        free();
      });
    }
  }

  /** The replica retries the takeover. */
  #failed(error: unknown): void {
    this.#options.logger.warn({ error }, 'bus.task.take_over_failed');
  }

  async #handle(key: string, { attempt, message: stored }: AcceptedTask): Promise<void> {
    const { handle, logger } = this.#options;
    const delivery: Delivery = {
      ...stored,
      correlationId: stored.correlationId,
      replyTo: stored.replyTo,
      attempt,
      isLastAttempt: attempt >= maxAttempts,
      isRedelivered: true,
      async acknowledge() {},
    };
    try {
      await this.#settle(key, delivery, await handle(delivery));
    } catch (error) {
      logger.warn({ correlationId: stored.correlationId, error }, 'bus.task.take_over_failed');
    } finally {
      this.#active.delete(key);
    }
  }
}

/** The early acknowledgement of one delivery. */
export interface Acceptance {
  /** Call it when the handler has ended with this decision. */
  end(decision: AckDecision): Promise<void>;
}

function isStoreFailure(error: unknown): boolean {
  return error instanceof LegateError && error.code === 'STORE_FAILED';
}

function messageOf(delivery: Delivery): AcceptedTask['message'] {
  const { id, type, body, topic, correlationId, replyTo, headers } = delivery;
  return {
    id,
    type,
    body,
    topic,
    headers: { ...headers },
    ...(correlationId !== undefined && { correlationId }),
    ...(replyTo !== undefined && { replyTo }),
  };
}
