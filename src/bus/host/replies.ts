import { LegateError, type TaskState } from '../../protocol/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { statedIssuer } from '../identity/verifier.ts';
import { errorText, headerNames, type Sender } from '../exchange.ts';
import type { BusMessage, Delivery } from '../transport/bus.ts';
import { isResponseTopic, topics } from '../transport/topics.ts';

/** Sends replies to the reply topics of messages. */
export class Replies {
  readonly #sender: Sender;
  readonly #logger: Logger;

  constructor(options: { sender: Sender; logger: Logger }) {
    this.#sender = options.sender;
    this.#logger = options.logger;
  }

  /** Sends an update. It can get lost: the result is complete. */
  async update(
    delivery: Delivery,
    body: string,
    position: { readonly series: string; readonly sequence: number },
  ): Promise<void> {
    const { replyTo, correlationId } = delivery;
    if (!isResponseTopic(replyTo)) return;
    await this.#sender.send(
      replyTo,
      {
        type: 'update',
        body,
        correlationId,
        requester: requesterOf(delivery),
        persistent: false,
        headers: {
          ...dialectOf(delivery),
          [headerNames.series]: position.series,
          [headerNames.sequence]: String(position.sequence),
        },
      },
      { confirm: false },
    );
  }

  /** Broadcasts the state of a task without its contents. It can get lost. */
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

  /** Returns false if the message has no reply topic, or no queue is bound to it. */
  result(delivery: Delivery, body: string, answers?: 'cancel'): Promise<boolean> {
    return this.#final(delivery, 'result', body, answers);
  }

  /** Returns false if the message has no reply topic, or no queue is bound to it. */
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
    if (replyTo === undefined) return false;
    if (!isResponseTopic(replyTo)) {
      const reason = 'it is not a topic for replies';
      this.#logger.warn({ replyTo, correlationId, type, reason }, 'bus.reply.unroutable');
      return false;
    }
    const headers = {
      ...dialectOf(delivery),
      ...(answers !== undefined && { [headerNames.answers]: answers }),
    };
    const message = { type, body, correlationId, headers, requester: requesterOf(delivery) };
    try {
      await this.#sender.send(replyTo, message, { mandatory: true });
      return true;
    } catch (error) {
      // The caller's queue is gone or never existed. The task and its result are stored.
      if (!(error instanceof LegateError) || error.code !== 'PEER_UNREACHABLE') throw error;
      this.#logger.warn({ replyTo, correlationId, type }, 'bus.reply.unroutable');
      return false;
    }
  }
}

/**
 * The issuer that the request's token states, for the token of the reply. If this host does not verify the
 * token, it is invalid at the receiver of the reply, too, or its sender gets an error only.
 */
function requesterOf({ headers }: BusMessage): string {
  const token = headers[headerNames.token];
  return token === undefined ? '' : statedIssuer(token);
}

/** A reply has the dialect of its request. Senders choose the header, so only the known value is copied. */
function dialectOf({ headers }: BusMessage): Record<string, string> {
  return headers[headerNames.dialect] === 'rockbot' ? { [headerNames.dialect]: 'rockbot' } : {};
}
