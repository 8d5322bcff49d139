import type { Client } from 'pg';
import { closed, isBreak, overrun, storeFailure, unanswered } from './failure.ts';
import { StoreMeter } from '../store-meter.ts';
import { Link, type Place } from './link.ts';
import { deadline, type Row, send, type Statement, type Value } from './statement.ts';
import type { TrafficCount } from './open-postgres.ts';

/** Maximum statements in flight on one connection. Further statements are refused. */
const underWayLimit = 10_000;

/**
 * Runs independent statements, each in its own transaction, over a few connections. A statement is sent
 * at once, behind those in flight on its connection.
 */
export class Pipeline {
  readonly #place: Place;
  readonly #answerMs: number;
  readonly #traffic: TrafficCount;
  readonly #meter = new StoreMeter('postgres');
  readonly #onFailure: ((failure: unknown) => void) | undefined;
  readonly #links: readonly { readonly link: Link; underWay: number }[];
  #isClosed = false;

  constructor(
    place: Place,
    options: {
      readonly connections: number;
      readonly waitMs: number;
      readonly answerMs: number;
      readonly traffic: TrafficCount;
      /** Called with every write that failed. */
      readonly onFailure?: (failure: unknown) => void;
      /** Prepares every new connection before its first use. */
      readonly prepare?: (client: Client) => Promise<void>;
    },
  ) {
    this.#place = place;
    this.#onFailure = options.onFailure;
    this.#answerMs = options.answerMs;
    this.#traffic = options.traffic;
    this.#links = Array.from({ length: options.connections }, () => ({
      link: new Link(place, options),
      underWay: 0,
    }));
  }

  /** Resolves once every connection is open. */
  async open(): Promise<void> {
    await Promise.all(this.#links.map(({ link }) => link.client()));
  }

  /** Runs a read. Retries once if the connection breaks meanwhile. */
  read(statement: Statement, values: readonly Value[]): Promise<readonly Row[]> {
    return this.#meter.measure('read', async () => {
      try {
        return await this.#run(statement, values);
      } catch (error) {
        if (!(error instanceof Broken)) throw storeFailure(this.#place.name, error);
      }
      return this.#once(statement, values);
    });
  }

  /**
   * Runs a write. Sends it only once: the database may have executed it although the response was lost.
   */
  write(statement: Statement, values: readonly Value[]): Promise<readonly Row[]> {
    return this.#meter.measure('write', async () => {
      try {
        return await this.#once(statement, values);
      } catch (error) {
        this.#onFailure?.(error);
        throw error;
      }
    });
  }

  /** Statements in flight. */
  get pending(): number {
    return this.#links.reduce((sum, { underWay }) => sum + underWay, 0);
  }

  /** The number of open connections. */
  get connected(): number {
    return this.#links.filter(({ link }) => link.isOpen).length;
  }

  async #once(statement: Statement, values: readonly Value[]): Promise<readonly Row[]> {
    try {
      return await this.#run(statement, values);
    } catch (error) {
      if (error instanceof Broken) throw unanswered(this.#place.name, error.cause);
      throw storeFailure(this.#place.name, error);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#links.map(({ link }) => link.close()));
  }

  async #run(statement: Statement, values: readonly Value[]): Promise<readonly Row[]> {
    if (this.#isClosed) throw closed(this.#place.name);
    // Statements for a broken connection wait until it is open again.
    const open = this.#links.filter(({ link }) => link.isOpen);
    const lanes = open.length > 0 ? open : this.#links;
    const lane = lanes.reduce((best, each) => (each.underWay < best.underWay ? each : best));
    if (lane.underWay >= underWayLimit) throw overrun(this.#place.name);
    lane.underWay += 1;
    try {
      const client = await lane.link.client();
      return await this.#ask(lane.link, client, statement, values);
    } finally {
      lane.underWay -= 1;
    }
  }

  #ask(
    link: Link,
    client: Client,
    statement: Statement,
    values: readonly Value[],
  ): Promise<readonly Row[]> {
    this.#traffic.roundTrips += 1;
    this.#traffic.statements += 1;
    return new Promise((resolve, reject) => {
      const timeout = deadline(this.#answerMs, () => link.cut(client));
      send(client, statement, values, this.#place, (error, rows) => {
        timeout.end();
        if (error === undefined) resolve(rows);
        else reject(isBreak(error) ? new Broken(error) : error);
      });
    });
  }
}

/** The connection broke before the response arrived. */
class Broken extends Error {
  constructor(cause: unknown) {
    super('the connection broke', { cause });
  }
}
