import type { Engine, EventStream, StreamEvent } from '../../src/tasks/index.ts';
import type { Conditions } from './conditions.ts';
import { type Health, placeOf } from './health.ts';
import type { Random } from './random.ts';
import type { Connection, Life, Replica } from './replica.ts';
import type { Report } from './violation.ts';
import type { Lane } from './virtual-time.ts';

/** The connection broke: the request may or may not have been served. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';
  /** The other side said nothing, though nothing stood in its way. */
  readonly isSilence: boolean;

  constructor(why: string, isSilence = false) {
    super(why);
    this.isSilence = isSilence;
  }
}

/** Milliseconds after which a client believes that nobody is there. */
const patience = 3_000;

export interface NetworkOptions {
  readonly replicas: readonly Replica[];
  readonly conditions: Conditions;
  /** The time of the clients. */
  readonly outside: Lane;
  readonly report: Report;
  readonly health: Health;
}

/** The way from clients to whichever process a load balancer chooses. */
export class Network {
  readonly #options: NetworkOptions;

  constructor(options: NetworkOptions) {
    this.#options = options;
  }

  /** One request, one answer. */
  async request<T>(
    random: Random,
    work: (engine: Engine, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const life = await this.#connect(random);
    const { outside, conditions, health } = this.#options;
    const gone = new AbortController();
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const lose = (why: string, isSilence = false): void => {
      gone.abort(new ConnectionLost(why));
      reject(new ConnectionLost(why, isSilence));
    };
    const connection: Connection = { cut: () => lose('cut'), closing() {} };
    life.connections.add(connection);
    const timer = outside.after(patience, () => {
      lose('no answer', health.isWell(placeOf(life.name)));
    });
    const answer = (settle: () => void): void => {
      const isLost = random.chance(conditions.lostAnswers);
      outside.after(random.next(), isLost ? () => lose('the answer was lost') : settle);
    };
    life.lane.after(random.next(), () => {
      work(life.engine, gone.signal).then(
        (value) => answer(() => resolve(value)),
        (error: Error) => answer(() => reject(error)),
      );
    });
    try {
      return await promise;
    } finally {
      timer.cancel();
      life.connections.delete(connection);
    }
  }

  /** A request that is answered by a stream. */
  async open(
    random: Random,
    work: (engine: Engine, signal: AbortSignal) => Promise<EventStream>,
  ): Promise<Subscription> {
    const gone = new AbortController();
    try {
      const { life, stream } = await this.request(random, async (engine, signal) => {
        signal.addEventListener('abort', () => gone.abort(signal.reason), { once: true });
        const opened = await work(engine, gone.signal);
        return { life: this.#lifeOf(engine), stream: opened };
      });
      if (life === undefined) throw new ConnectionLost('cut');
      return new Subscription({ ...this.#options, life, stream, gone, random });
    } catch (error) {
      gone.abort(error);
      throw error;
    }
  }

  #lifeOf(engine: Engine): Life | undefined {
    return this.#options.replicas.find(({ life }) => life?.engine === engine)?.life;
  }

  async #connect(random: Random): Promise<Life> {
    const lives: Life[] = [];
    for (const { life } of this.#options.replicas) if (life !== undefined) lives.push(life);
    if (lives.length > 0) return random.pick(lives);
    await this.#options.outside.sleep(random.between(10, 50));
    throw new ConnectionLost('nobody is there');
  }
}

interface SubscriptionOptions {
  readonly life: Life;
  readonly stream: EventStream;
  /** Tells the process that the reader has gone. */
  readonly gone: AbortController;
  readonly random: Random;
  readonly outside: Lane;
  readonly report: Report;
  readonly health: Health;
}

/** A stream as its reader sees it: it gives events in order, or breaks. */
export class Subscription implements Connection {
  readonly #options: SubscriptionOptions;
  #isOver = false;
  #fail: ((error: Error) => void) | undefined;

  constructor(options: SubscriptionOptions) {
    this.#options = options;
    options.life.connections.add(this);
  }

  /** The next event. Rejects with `ConnectionLost` when the connection breaks. */
  async next(): Promise<StreamEvent> {
    const { stream, outside, random, health, life } = this.#options;
    if (this.#isOver) throw new ConnectionLost('closed');
    const { promise, resolve, reject } = Promise.withResolvers<StreamEvent>();
    this.#fail = reject;
    const timer = outside.after(patience, () => {
      this.close();
      reject(new ConnectionLost('silence', health.isWell(placeOf(life.name))));
    });
    stream.next().then(
      (event) => void outside.after(random.next(), () => this.#deliver(event, resolve)),
      (error: Error) => void outside.after(random.next(), () => reject(error)),
    );
    try {
      return await promise;
    } finally {
      timer.cancel();
    }
  }

  cut(): void {
    this.close();
    this.#fail?.(new ConnectionLost('cut'));
  }

  closing(): void {
    this.cut();
  }

  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#options.life.connections.delete(this);
    this.#options.gone.abort(new ConnectionLost('closed'));
    this.#options.stream.close();
  }

  #deliver(event: StreamEvent | undefined, resolve: (event: StreamEvent) => void): void {
    if (this.#isOver) return;
    if (event === undefined) {
      this.#options.report('a stream closes after its last event', 'it closed before');
      return;
    }
    if (event.isLast) this.close();
    resolve(event);
  }
}
