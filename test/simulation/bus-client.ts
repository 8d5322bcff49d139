import { type Bus, ownResponseQueue, topics } from '../../src/bus/index.ts';
import {
  fromJsonRpcError,
  type JsonObject,
  type LegateError,
  type Message,
  type SendMessageResponse,
} from '../../src/protocol/index.ts';
import type { Random } from './random.ts';
import { agentName } from './scripted-agent.ts';
import type { Report } from './violation.ts';
import type { Lane } from './virtual-time.ts';

/** What came back for a message. */
export type BusAnswer =
  | { readonly kind: 'result'; readonly result: SendMessageResponse }
  | { readonly kind: 'error'; readonly error: LegateError }
  /** Nothing, for a long time. */
  | { readonly kind: 'silence' };

const name = 'clients';
/** Milliseconds after which a sender repeats itself. */
const patience = 4_000;

/**
 * The other end of the bus: everybody who sends tasks over it. Rules: the updates that one delivery
 * gives rise to come in order; whatever is answered was asked.
 */
export class BusClient {
  readonly #bus: Bus;
  readonly #outside: Lane;
  readonly #report: Report;
  readonly #waiting = new Map<string, Set<(answer: BusAnswer) => void>>();
  readonly #asked = new Set<string>();
  /** The number of the last update of each series. */
  readonly #series = new Map<string, number>();
  /** Answers that came. */
  answers = 0;

  constructor(options: { readonly bus: Bus; readonly outside: Lane; readonly report: Report }) {
    this.#bus = options.bus;
    this.#outside = options.outside;
    this.#report = options.report;
  }

  async start(): Promise<void> {
    await this.#bus.consume(ownResponseQueue(name), async (delivery) => {
      const { type, body, correlationId = '', headers } = delivery;
      if (!this.#asked.has(correlationId)) this.#report('only what was asked is answered', body);
      if (type === 'update') this.#update(headers);
      else if (headers['answers'] !== 'cancel') {
        this.answers += 1;
        for (const resolve of this.#waiting.get(correlationId) ?? []) resolve(read(type, body));
      }
      return { kind: 'done' };
    });
  }

  /** Sends a message and waits for its result. */
  async ask(message: Message, from: string, random: Random): Promise<BusAnswer> {
    const { messageId } = message;
    this.#asked.add(messageId);
    await this.#outside.sleep(random.next());
    const { promise, resolve } = Promise.withResolvers<BusAnswer>();
    const waiting = this.#waiting.get(messageId) ?? new Set();
    this.#waiting.set(messageId, waiting.add(resolve));
    const timer = this.#outside.after(patience, () => resolve({ kind: 'silence' }));
    await this.#bus.publish(topics.task(agentName), {
      type: 'task',
      body: JSON.stringify({ message }),
      correlationId: messageId,
      replyTo: topics.response(name),
      headers: { from },
    });
    try {
      return await promise;
    } finally {
      timer.cancel();
      waiting.delete(resolve);
      if (waiting.size === 0) this.#waiting.delete(messageId);
    }
  }

  /** Wishes that what became of a message be cancelled, whose task it need not know. */
  async cancel(messageId: string, from: string): Promise<void> {
    this.#asked.add(messageId);
    await this.#bus.publish(topics.cancel(agentName), {
      type: 'cancel',
      body: JSON.stringify({ id: messageId }),
      correlationId: messageId,
      replyTo: topics.response(name),
      headers: { from },
    });
  }

  #update(headers: Readonly<Record<string, string>>): void {
    const { series = '', sequence = '' } = headers;
    const last = this.#series.get(series) ?? -1;
    if (!(Number(sequence) > last)) {
      this.#report('updates come in order', `${series}: ${sequence} after ${last}`);
    }
    this.#series.set(series, Number(sequence));
  }
}

function read(type: string, body: string): BusAnswer {
  const value = JSON.parse(body) as JsonObject;
  return type === 'result'
    ? { kind: 'result', result: value as unknown as SendMessageResponse }
    : { kind: 'error', error: fromJsonRpcError(value['error']) };
}
