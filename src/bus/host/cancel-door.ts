import { LegateError } from '../../protocol/index.ts';
import type { Call, Engine } from '../../tasks/index.ts';
import { type Identification, identify, readCancel, resultText } from '../exchange/index.ts';
import { type Bus, type Delivery, done, type Verdict } from '../transport/index.ts';
import type { CancelWishes } from './cancel-wishes.ts';
import type { Jobs } from './job.ts';
import type { Replies } from './replies.ts';

export interface CancelDoorOptions {
  readonly engine: Engine;
  readonly bus: Bus;
  readonly jobs: Jobs;
  readonly replies: Replies;
  readonly wishes: CancelWishes;
  readonly identification: Identification;
  readonly closing: AbortSignal;
}

/** Marks the copy of a wish that is sent round once more. */
const echo = 'echo';

/**
 * The door by which wishes to cancel come in. Every process of an agent hears of each wish, for one
 * of them may be at work on the task under a store of its own; and one of them is responsible, for
 * tasks that wait for their caller and for those that have not left the queue.
 */
export class CancelDoor {
  readonly #options: CancelDoorOptions;
  #begun = 0;
  #settled = 0;

  constructor(options: CancelDoorOptions) {
    this.#options = options;
  }

  /** A copy for this process: stops the turn if it runs here. Its end is told by the task door. */
  async overhear(delivery: Delivery): Promise<Verdict> {
    const { engine, jobs } = this.#options;
    try {
      const call = await this.#call(delivery);
      const job = jobs.find(delivery.correlationId, call.caller);
      if (job === undefined) return done;
      if (job.ids === undefined) job.isCancelled = true;
      else await engine.cancelTask({ id: job.ids.taskId }, call);
      return done;
    } catch (error) {
      // The copy that all share is answered; this one is not. A store that fails may be back.
      if (error instanceof LegateError && error.code !== 'STORE_FAILED') return done;
      throw error;
    }
  }

  /** Wishes that were dealt with here, and whether there are others in hand. */
  get progress(): { readonly settled: number; readonly isBusy: boolean } {
    return { settled: this.#settled, isBusy: this.#begun > this.#settled };
  }

  /** The one copy that all processes share: it is answered. */
  async handle(delivery: Delivery): Promise<Verdict> {
    this.#begun += 1;
    try {
      return await this.#handle(delivery);
    } finally {
      this.#settled += 1;
    }
  }

  async #handle(delivery: Delivery): Promise<Verdict> {
    const { engine, jobs, replies } = this.#options;
    if (delivery.headers[echo] !== undefined) return done;
    try {
      const request = readCancel(delivery.body);
      const call = await this.#call(delivery);
      const id = jobs.find(delivery.correlationId, call.caller)?.ids?.taskId ?? request.id;
      try {
        const task = await engine.cancelTask({ ...request, id }, call);
        await replies.result(delivery, resultText({ task }), 'cancel');
      } catch (error) {
        const isUnknown = error instanceof LegateError && error.code === 'TASK_NOT_FOUND';
        if (!isUnknown || delivery.correlationId !== id) throw error;
        await this.#keep(delivery, id, call);
      }
      return done;
    } catch (error) {
      if (!(error instanceof LegateError) || error.code === 'STORE_FAILED') throw error;
      await replies.error(delivery, error, 'cancel');
      return done;
    }
  }

  /**
   * Its caller does not know the task's id, nor do we: the message is still on its way. Whoever takes
   * it from now on finds the wish; whoever took it a moment ago hears of the wish once more.
   */
  async #keep(delivery: Delivery, correlationId: string, { caller }: Call): Promise<void> {
    const { bus, wishes } = this.#options;
    await wishes.keep(correlationId, caller);
    const { topic, body, replyTo, headers } = delivery;
    await bus.publish(topic, {
      type: 'cancel',
      body,
      correlationId,
      ...(replyTo !== undefined && { replyTo }),
      headers: { ...headers, [echo]: 'yes' },
    });
  }

  async #call(delivery: Delivery): Promise<Call> {
    const { identification, closing } = this.#options;
    const caller = await identify(delivery, identification);
    return { caller, version: '1.0', signal: closing };
  }
}
