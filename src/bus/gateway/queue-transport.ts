import type { Caller } from '../../agents/index.ts';
import type { RemoteFrame, TaskTransport } from '../../client/index.ts';
import { errorMessage, LegateError } from '../../protocol/index.ts';
import { type Logger, LogSummary } from '../../telemetry/index.ts';
import { backoff, retry } from '../../time/index.ts';
import {
  headerNames,
  type Identification,
  identify,
  readError,
  readResult,
  readUpdate,
  sendCancel,
  type Sender,
  sendTask,
} from '../exchange.ts';
import type { MessageSigner } from '../identity/signer.ts';
import {
  type AckDecision,
  type Bus,
  type BusMessage,
  type Consumption,
  type Delivery,
  done,
} from '../transport/bus.ts';
import { streamQueue, topics } from '../transport/topics.ts';

export interface QueueTransportOptions {
  readonly sender: Pick<Sender, 'send'>;
  /** The agent's name on the bus. */
  readonly agent: string;
  readonly replies: Pick<ReplyBox, 'topic' | 'open' | 'close'>;
  /** The id of the gateway's task: the agent deduplicates messages by it, and its answers carry it. */
  readonly correlationId: string;
  /** The caller on whose behalf messages are sent. */
  readonly principal: Caller;
}

/**
 * One task of an agent on the bus. After a restart the gateway sends the message again: the agent's host
 * deduplicates it and sends the task's updates again, as a new series.
 */
export function queueTransport(options: QueueTransportOptions): TaskTransport {
  const { sender, agent, replies, correlationId, principal } = options;
  const exchange = { correlationId, replyTo: replies.topic, principal };
  let isCancelling = false;
  return {
    resume: 'resend',
    isLossy: true,
    async *send(request, { signal }) {
      const inbox = replies.open(correlationId, agent);
      const send = (): Promise<void> => sendTask(sender, agent, request, exchange);
      try {
        await send();
        yield* framesOf(inbox, signal, { send, isCancelling: () => isCancelling });
      } finally {
        replies.close(correlationId, inbox);
      }
    },
    cancel({ taskId }) {
      isCancelling = true;
      return sendCancel(sender, agent, taskId ?? correlationId, exchange);
    },
  };
}

/** Between attempts to send a task again after a reconnect, in milliseconds. */
const resendPauses = { initialMs: 200, maximumMs: 5_000 };

async function* framesOf(
  inbox: Inbox,
  signal: AbortSignal,
  { send, isCancelling }: { send: () => Promise<void>; isCancelling: () => boolean },
): AsyncGenerator<RemoteFrame> {
  let series: string | undefined;
  let next = 0;
  for (;;) {
    const message = await inbox.next(signal);
    if (message === undefined) throw signal.reason;
    if (message === 'reopened') {
      // Consuming may work again before publishing does.
      await retry(send, {
        delays: (failures) => backoff(failures, resendPauses),
        isRetryable: (error) => error instanceof LegateError && error.code === 'UNAVAILABLE',
        signal,
      });
      continue;
    }
    const { type, body, headers } = message;
    if (headers[headerNames.answers] !== undefined) {
      // The agent refuses to cancel its task: the gateway stops waiting for it.
      if (type === 'error' && isCancelling() && isRefusal(readError(body))) throw readError(body);
      continue;
    }
    if (type === 'error') throw readError(body);
    if (type !== 'update') {
      yield { response: readResult(body), isFinal: true };
      return;
    }
    const own = headers[headerNames.series] ?? '';
    const sequence = Number(headers[headerNames.sequence] ?? 0);
    const isRestart = own !== series;
    if (isRestart) next = 0;
    series = own;
    if (sequence < next) continue;
    yield { response: readUpdate(body), isRestart, isGap: sequence > next };
    next = sequence + 1;
  }
}

/** Whether the agent refuses to cancel. A task that it has not received yet is cancelled on arrival. */
function isRefusal({ code }: LegateError): boolean {
  return code === 'TASK_NOT_CANCELABLE';
}

/** The maximum number of updates buffered for a slow reader; the result contains what is dropped. */
const MAX_BUFFERED = 1_000;

export interface ReplyBoxOptions extends Identification {
  readonly bus: Bus;
  /** Signs our requests. Replies to requests of other senders are then ignored. */
  readonly signer?: MessageSigner | undefined;
  /** Unique for each process. */
  readonly name: string;
  readonly logger: Logger;
}

/** The answers to one task, in the order of their arrival. */
export class Inbox {
  /** The required sender of signed replies. */
  readonly agent: string;
  #waiting: (BusMessage | 'reopened')[] = [];
  #wake: (() => void) | undefined;

  constructor(agent: string) {
    this.agent = agent;
  }

  put(message: BusMessage): void {
    if (message.type === 'update' && this.#waiting.length >= MAX_BUFFERED) return;
    this.#waiting.push(message);
    this.#wake?.();
  }

  /** Replies may have been lost, so the reader has to send the message again. */
  reopen(): void {
    this.#waiting.push('reopened');
    this.#wake?.();
  }

  /** The next reply; undefined once the signal is aborted and the inbox is empty. */
  async next(signal: AbortSignal): Promise<BusMessage | 'reopened' | undefined> {
    for (;;) {
      const message = this.#waiting.shift();
      if (message !== undefined || signal.aborted) return message;
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          signal.removeEventListener('abort', wake);
          this.#wake = undefined;
          resolve();
        };
        this.#wake = wake;
        signal.addEventListener('abort', wake, { once: true });
      });
    }
  }
}

/** The reply queue of one process, with an inbox for each of its tasks. */
export class ReplyBox {
  readonly topic: string;
  readonly #options: ReplyBoxOptions;
  readonly #strayLogger: LogSummary;
  readonly #inboxes = new Map<string, Inbox>();
  #consumption: Consumption | undefined;

  constructor(options: ReplyBoxOptions) {
    this.#options = options;
    this.#strayLogger = new LogSummary(options.logger, 'count');
    this.topic = topics.response(options.name);
  }

  async start(): Promise<void> {
    const { bus, name } = this.#options;
    // In order, so that updates keep their order.
    const take = (delivery: Delivery): Promise<AckDecision> => this.#take(delivery);
    this.#consumption = await bus.consume(streamQueue(name), take, {
      prefetch: 200,
      concurrency: 1,
      onReopened: () => {
        for (const inbox of this.#inboxes.values()) inbox.reopen();
      },
    });
  }

  /** Collects the answers with this correlation id. */
  open(correlationId: string, agent: string): Inbox {
    const inbox = new Inbox(agent);
    this.#inboxes.set(correlationId, inbox);
    return inbox;
  }

  close(correlationId: string, inbox: Inbox): void {
    if (this.#inboxes.get(correlationId) === inbox) this.#inboxes.delete(correlationId);
  }

  async stop(): Promise<void> {
    await this.#consumption?.close();
  }

  async #take(delivery: Delivery): Promise<AckDecision> {
    const { correlationId = '', headers, type } = delivery;
    const inbox = this.#inboxes.get(correlationId);
    if (inbox === undefined) {
      // Updates and replies to cancellations can arrive after the end of a task; a result should not.
      const isLate = type === 'update' || headers[headerNames.answers] !== undefined;
      if (!isLate) this.#strayLogger.warn({ correlationId, type }, 'bus.reply.unmatched');
      return done;
    }
    try {
      const requester = this.#options.signer?.issuer;
      const { method, subject } = await identify(delivery, this.#options, { requester });
      const isProved = method === 'message-token';
      if (isProved && subject !== inbox.agent) throw new Error(`signed by ${subject}`);
      if (!isProved && this.#options.verifier?.knows(inbox.agent) === true) {
        throw new Error(`${inbox.agent} signs its messages, and this one is not signed`);
      }
      inbox.put(delivery);
    } catch (error) {
      const reason = errorMessage(error);
      this.#strayLogger.warn({ correlationId, reason }, 'bus.reply.unauthenticated');
    }
    return done;
  }
}
