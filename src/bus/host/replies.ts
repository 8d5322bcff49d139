import { LegateError, type TaskState } from '../../protocol/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { errorText, headerNames, type Sender } from '../exchange/index.ts';
import { type BusMessage, type Delivery, isResponseTopic, topics } from '../transport/index.ts';

/** Answers to those who sent a message and said where they listen. */
export class Replies {
  readonly #sender: Sender;
  readonly #logger: Logger;

  constructor(options: { sender: Sender; logger: Logger }) {
    this.#sender = options.sender;
    this.#logger = options.logger;
  }

  /** What happens on the way. It may be lost: the result has all of it. */
  async update(
    delivery: Delivery,
    body: string,
    place: { readonly series: string; readonly sequence: number },
  ): Promise<void> {
    const { replyTo, correlationId } = delivery;
    if (!isResponseTopic(replyTo)) return;
    await this.#sender.send(
      replyTo,
      {
        type: 'update',
        body,
        correlationId,
        persistent: false,
        headers: {
          [headerNames.series]: place.series,
          [headerNames.sequence]: String(place.sequence),
        },
      },
      { confirm: false },
    );
  }

  /** Tells whoever listens which state a task has come to, without its contents. It may be lost. */
  broadcast(
    ids: { readonly taskId: string; readonly contextId: string },
    state: TaskState,
    correlationId: string | undefined,
  ): void {
    const body = JSON.stringify({ statusUpdate: { ...ids, status: { state } } });
    const update = { type: 'update', body, correlationId, persistent: false } as const;
    this.#sender.send(topics.status, update, { confirm: false }).catch((error: unknown) => {
      this.#logger.debug({ error }, 'bus.status.publish_failed');
    });
  }

  /** Whether there was somebody to tell. */
  result(delivery: Delivery, body: string, answers?: 'cancel'): Promise<boolean> {
    return this.#final(delivery, 'result', body, answers);
  }

  /** Whether there was somebody to tell. */
  error(delivery: BusMessage, error: unknown, answers?: 'cancel'): Promise<boolean> {
    return this.#final(delivery, 'error', errorText(error), answers);
  }

  async #final(
    delivery: BusMessage,
    type: 'result' | 'error',
    body: string,
    answers: 'cancel' | undefined,
  ): Promise<boolean> {
    const { replyTo, correlationId } = delivery;
    if (!isResponseTopic(replyTo)) return false;
    const headers = answers === undefined ? {} : { [headerNames.answers]: answers };
    const message = { type, body, correlationId, headers };
    try {
      await this.#sender.send(replyTo, message, { mandatory: true });
      return true;
    } catch (error) {
      // Whoever asked is gone for good, or never listened. The task and its result are stored.
      if (!(error instanceof LegateError) || error.code !== 'PEER_UNREACHABLE') throw error;
      this.#logger.warn({ replyTo, correlationId, type }, 'bus.reply.unroutable');
      return false;
    }
  }
}
