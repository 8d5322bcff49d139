import { clearTimeout, setTimeout } from 'node:timers';
import type { ConnectionOptions } from 'node:tls';
import { Client, type ClientConfig } from 'pg';
import { invalidConfiguration } from '../../protocol/index.ts';
import { closed, unreachable } from './failure.ts';

/** Where a database is, and how to speak with it. */
export interface Place {
  /** Host, port and database: for people, without a secret. */
  readonly name: string;
  readonly client: ClientConfig;
  /** Behind a pooler that gives each transaction another session: nothing may be prepared. @default false */
  readonly isPooled?: boolean;
}

export interface PlaceOptions {
  /** `postgres://user:password@host:port/database`, with the parameters of libpq. */
  readonly url: string;
  /** TLS; the url's `sslmode` decides where this is unset. */
  readonly ssl?: boolean | ConnectionOptions;
  /** How long a connection may take to be made, in milliseconds. @default 5_000 */
  readonly connectTimeoutMs?: number;
}

export function placeOf(options: PlaceOptions, settings: ClientConfig = {}): Place {
  const url = URL.parse(options.url);
  if (url === null || !/^postgres(ql)?:$/.test(url.protocol)) {
    throw invalidConfiguration(
      'store.url: must be an address like postgres://user:password@host:5432/database',
    );
  }
  const host = url.hostname || url.searchParams.get('host') || 'localhost';
  return {
    name: `${host}:${url.port || '5432'}${url.pathname}`,
    client: {
      connectionString: options.url,
      fallback_application_name: 'legate',
      connectionTimeoutMillis: options.connectTimeoutMs ?? 5_000,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      ...(options.ssl !== undefined && { ssl: options.ssl }),
      ...settings,
    },
  };
}

// Named imports, so that a test's fake timers do not stop the database.

/** Pauses between attempts to connect, in milliseconds; the last one repeats. */
const pauses = [20, 50, 100, 200, 500, 1_000];

interface Waiter {
  readonly resolve: (client: Client) => void;
  readonly reject: (error: Error) => void;
}

/**
 * One connection that comes back after it broke.
 *
 * - **idle**: no caller has asked for it yet.
 * - **connecting**: attempts are made, with growing pauses, until one succeeds. Callers wait,
 *   but not longer than `waitMs` after the connection was lost.
 * - **open**: callers get it at once.
 * - **closed**: for good.
 */
export class Link {
  readonly #place: Place;
  readonly #waitMs: number;
  readonly #prepare: (client: Client) => Promise<void>;
  readonly #waiters = new Set<Waiter>();
  #client: Client | undefined;
  #isConnecting = false;
  #isClosed = false;
  /** When it was lost, on the monotonic clock. */
  #downSince: number | undefined;
  #failure: unknown;
  #pause: { timer: NodeJS.Timeout; end: () => void } | undefined;

  /** `prepare` is done with every new connection before anybody gets it. */
  constructor(
    place: Place,
    options: { readonly waitMs: number; readonly prepare?: (client: Client) => Promise<void> },
  ) {
    this.#place = place;
    this.#waitMs = options.waitMs;
    this.#prepare = options.prepare ?? (async () => {});
  }

  /** The connection, once it is there. */
  async client(): Promise<Client> {
    if (this.#client !== undefined) return this.#client;
    if (this.#isClosed) throw closed(this.#place.name);
    void this.#connect();
    const downFor = this.#downSince === undefined ? 0 : performance.now() - this.#downSince;
    const left = this.#waitMs - downFor;
    if (left <= 0) throw unreachable(this.#place.name, this.#failure);
    return new Promise<Client>((resolve, reject) => {
      const timer = setTimeout(
        () => waiter.reject(unreachable(this.#place.name, this.#failure)),
        left,
      );
      const settle = <T>(done: (value: T) => void) => {
        return (value: T): void => {
          clearTimeout(timer);
          this.#waiters.delete(waiter);
          done(value);
        };
      };
      const waiter: Waiter = { resolve: settle(resolve), reject: settle(reject) };
      this.#waiters.add(waiter);
    });
  }

  get isOpen(): boolean {
    return this.#client !== undefined;
  }

  /** Cuts a connection that does not answer; whatever waits for it fails. */
  cut(client: Client): void {
    client.connection.stream.destroy();
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const waiter of this.#waiters) waiter.reject(closed(this.#place.name));
    this.#pause?.end();
    const client = this.#client;
    this.#client = undefined;
    await client?.end();
  }

  async #connect(): Promise<void> {
    if (this.#isConnecting) return;
    this.#isConnecting = true;
    try {
      for (let attempt = 0; !this.#isClosed; attempt += 1) {
        if (await this.#attempt()) return;
        await this.#rest(pauses[Math.min(attempt, pauses.length - 1)] ?? 0);
      }
    } finally {
      this.#isConnecting = false;
    }
  }

  async #attempt(): Promise<boolean> {
    const client = new Client({ ...this.#place.client, pipeline: true });
    client.on('error', (error) => this.#lose(client, error));
    client.on('end', () => this.#lose(client, new Error('the connection was closed')));
    try {
      await client.connect();
      await this.#prepare(client);
    } catch (error) {
      this.#downSince ??= performance.now();
      this.#failure = error;
      // Whether it was ever open or not: nothing of it may stay behind.
      client.end().catch(() => {});
      return false;
    }
    if (this.#isClosed) {
      await client.end();
      return true;
    }
    this.#client = client;
    this.#downSince = undefined;
    for (const waiter of this.#waiters) waiter.resolve(client);
    return true;
  }

  #lose(client: Client, error: Error): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    this.#downSince = performance.now();
    this.#failure = error;
    // Most losses are short: to have the connection back early costs the next caller no wait.
    if (!this.#isClosed) void this.#connect();
  }

  #rest(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#pause = undefined;
        resolve();
      };
      const timer = setTimeout(end, milliseconds).unref();
      this.#pause = { timer, end };
    });
  }
}
