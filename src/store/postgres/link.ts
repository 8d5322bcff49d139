import type { ConnectionOptions } from 'node:tls';
import { Client, type ClientConfig } from 'pg';
import { invalidConfiguration } from '../../protocol/index.ts';
import { Deadline, retry, until, waitAtMost } from '../../time/index.ts';
import { closed, unreachable } from './failure.ts';

/** The address of a database, and its connection settings. */
export interface Place {
  /** Host, port and database, for display: contains no secret. */
  readonly name: string;
  readonly client: ClientConfig;
  /** Behind a pooler in transaction mode, where statements must not be prepared. @default false */
  readonly isPooled?: boolean;
}

export interface PlaceOptions {
  /** `postgres://user:password@host:port/database`, with the parameters of libpq. */
  readonly url: string;
  /** TLS. If unset, the url's `sslmode` decides. */
  readonly ssl?: boolean | ConnectionOptions;
  /** Timeout for connecting, in milliseconds. @default 5_000 */
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

/** Closes a connection. One that doesn't respond is cut off after the timeout for connecting. */
export async function endClient(client: Client, place: Place): Promise<void> {
  await waitAtMost(place.client.connectionTimeoutMillis ?? 5_000, client.end());
  client.connection.stream.destroy();
}

/** Delays between attempts to connect, in milliseconds. The last one repeats. */
const pauses = [20, 50, 100, 200, 500, 1_000];

/**
 * One connection that reconnects after it broke.
 *
 * - **idle**: not requested yet.
 * - **connecting**: the link retries with growing delays until it succeeds. Callers wait, but not
 *   longer than `waitMs` after the connection was lost.
 * - **open**: callers get the connection at once.
 * - **closed**: final.
 */
export class Link {
  readonly #place: Place;
  readonly #waitMs: number;
  readonly #prepare: (client: Client) => Promise<void>;
  readonly #closing = new AbortController();
  /** The attempts in progress. */
  #connecting: Promise<Client> | undefined;
  #client: Client | undefined;
  /** When the connection was lost, on the monotonic clock. */
  #downSince: number | undefined;
  #failure: unknown;

  /** `prepare` runs on every new connection before callers get it. */
  constructor(
    place: Place,
    options: { readonly waitMs: number; readonly prepare?: (client: Client) => Promise<void> },
  ) {
    this.#place = place;
    this.#waitMs = options.waitMs;
    this.#prepare = options.prepare ?? (async () => {});
  }

  /** Resolves with the connection once it is open. */
  async client(): Promise<Client> {
    if (this.#client !== undefined) return this.#client;
    const { signal } = this.#closing;
    signal.throwIfAborted();
    const connecting = this.#connect();
    const downFor = this.#downSince === undefined ? 0 : performance.now() - this.#downSince;
    const left = this.#waitMs - downFor;
    if (left <= 0) throw unreachable(this.#place.name, this.#failure);
    const reason = () => unreachable(this.#place.name, this.#failure);
    using deadline = new Deadline({ signal, milliseconds: left, reason });
    return await until(connecting, deadline.signal);
  }

  get isOpen(): boolean {
    return this.#client !== undefined;
  }

  /** Closes a connection that does not respond. All operations that wait for it fail. */
  cut(client: Client): void {
    client.connection.stream.destroy();
  }

  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort(closed(this.#place.name));
    const client = this.#client;
    this.#client = undefined;
    if (client !== undefined) await endClient(client, this.#place);
  }

  #connect(): Promise<Client> {
    const { signal } = this.#closing;
    if (this.#connecting === undefined) {
      this.#connecting = retry(() => this.#attempt(), {
        delays: (failures) => pauses[Math.min(failures, pauses.length) - 1],
        signal,
      }).finally(() => (this.#connecting = undefined));
      // Only `close` ends the attempts. Waiting callers get the reason of the signal.
      this.#connecting.catch(() => undefined);
    }
    return this.#connecting;
  }

  async #attempt(): Promise<Client> {
    const client = new Client({ ...this.#place.client, pipeline: true });
    client.on('error', (error) => this.#lose(client, error));
    client.on('end', () => this.#lose(client, new Error('the connection was closed')));
    try {
      await client.connect();
      await this.#prepare(client);
      this.#closing.signal.throwIfAborted();
    } catch (error) {
      this.#downSince ??= performance.now();
      this.#failure = error;
      // Releases the socket, whether the connection was open or not.
      client.end().catch(() => {});
      throw error;
    }
    this.#client = client;
    this.#downSince = undefined;
    return client;
  }

  #lose(client: Client, error: Error): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    this.#downSince = performance.now();
    this.#failure = error;
    // Most outages are short: reconnecting early spares the next caller the wait.
    if (!this.#closing.signal.aborted) void this.#connect();
  }
}
