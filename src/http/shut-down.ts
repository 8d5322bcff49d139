import type { Server, ServerResponse } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import { Server as NetServer } from 'node:net';
import { setImmediate as loopTurn } from 'node:timers/promises';
import { sleep, waitAtMost } from '../time/index.ts';

/** Waits up to `graceMs` for turns to end, hands over the remaining turns, and ends streams. */
export type Drain = (options: { readonly graceMs: number }) => Promise<void>;

/** Interval of the checks for new connections before the port is closed, in milliseconds. */
const acceptMs = 25;
/**
 * Maximum number of these checks. A count and not a time: on an overloaded machine, connections are
 * accepted as late as the timer fires.
 */
const acceptRounds = 10;
/**
 * After the port was closed, the server waits until no request arrived for this time, in milliseconds. A
 * request can be in transit on every idle connection, and closing the connection would reset it.
 */
const quietMs = 100;
/** Longest wait for that, in milliseconds. */
const lingerMs = 1_000;
/** How long the server waits for open responses after the drain, in milliseconds. */
const flushMs = 1_000;

/**
 * Shuts a server down without resetting a request:
 *
 * 1. The server holds new requests until no more connections arrive. Closing the port resets connections
 *    that the kernel has accepted and the process has not. Then it closes the port and handles the held
 *    requests. Idle connections stay open. A request on an idle connection is answered with
 *    `Connection: close`, after which the client closes the connection.
 * 2. It drains turns, and streams end with them.
 * 3. It waits for open responses, then closes the remaining connections.
 */
export async function shutDown(options: {
  readonly server: Server | SecureServer;
  readonly responses: OpenResponses;
  /** Holds new requests until the returned value is disposed of. */
  readonly hold: () => Disposable;
  readonly drain: Drain;
  readonly drainMs: number;
}): Promise<void> {
  const { server, responses, hold, drain, drainMs } = options;
  const held = hold();
  await accepted(server, responses);
  const isClosed = closePort(server);
  held[Symbol.dispose]();
  const start = performance.now();
  await linger(responses, isClosed, Math.min(lingerMs, drainMs));
  try {
    await drain({ graceMs: Math.max(0, drainMs - (performance.now() - start)) });
  } finally {
    await waitAtMost(flushMs, responses.finished());
    // Also stops the timer by which `node:http` checks its timeouts.
    server.close();
    server.closeAllConnections();
    await isClosed;
  }
}

/** Stops listening; idle connections stay open. Resolves when the last connection has ended. */
function closePort(server: Server | SecureServer): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  // `close` of `node:http` would destroy idle connections immediately. Servers of Bun have no other method.
  const isOfNet: boolean = server instanceof NetServer;
  if (isOfNet) NetServer.prototype.close.call(server, () => resolve());
  else server.close(() => resolve());
  return promise;
}

/** Waits until the process has accepted all connections that clients have made. */
async function accepted(server: Server | SecureServer, responses: OpenResponses): Promise<void> {
  let isQuiet = performance.now() - responses.lastAt >= acceptMs;
  const onConnection = (): void => void (isQuiet = false);
  server.on('connection', onConnection);
  // After two turns, the event loop has looked for connections at least once.
  await loopTurn();
  await loopTurn();
  for (let round = 0; !isQuiet && round < acceptRounds; round += 1) {
    isQuiet = true;
    await sleep(acceptMs);
    await loopTurn();
  }
  server.removeListener('connection', onConnection);
}

/** Waits until no request arrived for `quietMs`, or no connection is left. */
async function linger(
  responses: OpenResponses,
  isClosed: Promise<void>,
  milliseconds: number,
): Promise<void> {
  const start = performance.now();
  let isOver = false;
  void isClosed.then(() => (isOver = true));
  for (;;) {
    const quietAt = Math.max(start, responses.lastAt) + quietMs;
    const left = Math.min(quietAt, start + milliseconds) - performance.now();
    if (isOver || left <= 0) return;
    await waitAtMost(left, isClosed);
  }
}

/** The open responses of a server. */
export class OpenResponses {
  readonly #open = new Set<ServerResponse>();
  #isClosing = false;
  #finished: (() => void)[] = [];
  #lastAt = performance.now();

  /** When the last request arrived, by `performance.now()`. */
  get lastAt(): number {
    return this.#lastAt;
  }

  add(response: ServerResponse): void {
    this.#lastAt = performance.now();
    if (this.#isClosing) response.setHeader('connection', 'close');
    this.#open.add(response);
    response.once('close', () => {
      this.#open.delete(response);
      if (this.#open.size === 0) for (const resolve of this.#finished.splice(0)) resolve();
    });
  }

  /** From now on every response closes its connection, also open responses without headers yet. */
  closeConnections(): void {
    this.#isClosing = true;
    for (const response of this.#open) {
      if (!response.headersSent) response.setHeader('connection', 'close');
    }
  }

  /** Resolves when no response is open. */
  finished(): Promise<void> {
    if (this.#open.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#finished.push(resolve));
  }
}
