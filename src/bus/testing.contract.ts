/** What the tests of the bus share: buses of both kinds, and a caller that remembers its answers. */
import { afterEach, beforeAll, describe } from 'vitest';
import { rabbitMq } from '../../test/support/rabbitmq.ts';
import {
  type LegateError,
  message,
  type SendMessageRequest,
  type SendMessageResponse,
  type StreamResponse,
  type Task,
} from '../protocol/index.ts';
import { headerNames, readError, readResult, readUpdate, Sender } from './exchange.ts';
import type { MessageSigner } from './identity/signer.ts';
import { type Bus, type BusMessage, done } from './transport/bus.ts';
import { openBus } from './transport/open-bus.ts';
import { responseQueue, topics } from './transport/topics.ts';
import { nameOf } from './transport/bus.contract.ts';

export { codeOf, eventually, nameOf } from './transport/bus.contract.ts';

export interface BusTest {
  /** A bus of the kind under test, closed after the test. */
  open(): Promise<Bus>;
  /** Runs after the test, in reverse order. */
  after(cleanup: () => Promise<unknown>): void;
}

/** Runs the same behaviour over every bus. */
export function describeBuses(title: string, body: (bus: BusTest) => void): void {
  for (const type of ['memory', 'rabbitmq'] as const) {
    describe(`${title} (${type})`, () => body(busTest(type)));
  }
}

export function busTest(type: Bus['type']): BusTest {
  const cleanups: (() => Promise<unknown>)[] = [];
  // Starting the server takes long on a busy machine.
  if (type === 'rabbitmq') beforeAll(async () => void (await rabbitMq()), 180_000);
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  });
  return {
    after: (cleanup) => void cleanups.push(cleanup),
    async open() {
      const bus =
        type === 'memory'
          ? await openBus({ type })
          : // An exchange of its own keeps the announcements of other tests away.
            await openBus({ type, url: (await rabbitMq()).url, exchange: nameOf('exchange') });
      cleanups.push(() => bus.close());
      return bus;
    },
  };
}

export interface Answer {
  readonly type: string;
  readonly message: BusMessage;
  readonly result: SendMessageResponse | undefined;
  readonly error: LegateError | undefined;
}

/** A caller on the bus that records all replies by correlation id. */
export class TestCaller {
  readonly name: string;
  readonly answers: Answer[] = [];
  readonly updates: { correlationId: string | undefined; event: StreamResponse }[] = [];
  readonly #sender: Sender;

  private constructor(bus: Bus, name: string, signer: MessageSigner | undefined) {
    this.name = name;
    this.#sender = new Sender({ bus, name, signer });
  }

  static async start(bus: Bus, options: { name?: string; signer?: MessageSigner } = {}) {
    const { name = nameOf('caller'), signer } = options;
    const caller = new TestCaller(bus, name, signer);
    await bus.consume(responseQueue(name), async (delivery) => {
      caller.#take(delivery);
      return done;
    });
    return caller;
  }

  async send(
    agent: string,
    request: SendMessageRequest | string,
    headers: Readonly<Record<string, string>> = {},
    correlationId: string = crypto.randomUUID(),
  ): Promise<string> {
    const body = typeof request === 'string' ? { message: message(request) } : request;
    await this.#sender.send(
      topics.task(agent),
      {
        type: 'task',
        body: JSON.stringify(body),
        correlationId,
        replyTo: topics.response(this.name),
        headers,
      },
      { mandatory: true },
    );
    return correlationId;
  }

  async cancel(agent: string, correlationId: string, id = correlationId): Promise<void> {
    await this.#sender.send(topics.cancel(agent), {
      type: 'cancel',
      body: JSON.stringify({ id }),
      correlationId,
      replyTo: topics.response(this.name),
    });
  }

  /** The replies to one message, without replies to cancellation requests. */
  of(correlationId: string): readonly Answer[] {
    return this.answers.filter(
      ({ message: { correlationId: id, headers } }) =>
        id === correlationId && headers[headerNames.answers] === undefined,
    );
  }

  updatesOf(correlationId: string): readonly StreamResponse[] {
    return this.updates.filter((update) => update.correlationId === correlationId).map(eventOf);
  }

  task(correlationId: string): Task | undefined {
    const result = this.of(correlationId).at(-1)?.result;
    return result !== undefined && 'task' in result ? result.task : undefined;
  }

  state(correlationId: string): string | undefined {
    return this.task(correlationId)?.status.state;
  }

  #take(delivery: BusMessage): void {
    const { type, body, correlationId } = delivery;
    if (type === 'update') {
      this.updates.push({ correlationId, event: readUpdate(body) });
      return;
    }
    this.answers.push({
      type,
      message: delivery,
      result: type === 'result' ? readResult(body) : undefined,
      error: type === 'error' ? readError(body) : undefined,
    });
  }
}

function eventOf({ event }: { event: StreamResponse }): StreamResponse {
  return event;
}
