import type { Server, ServerResponse } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import { Server as NetServer } from 'node:net';
import { setImmediate as loopTurn } from 'node:timers/promises';
import { sleep, waitAtMost } from '../time/index.ts';

/** Lets turns end by themselves for `graceMs`, hands over the others, and ends streams. */
export type Drain = (options: { readonly graceMs: number }) => Promise<void>;

/** How often new connections are looked for before the port is closed, in milliseconds. */
const acceptMs = 25;
/**
 * How many times they are looked for at most. Counted and not timed: on an overloaded machine,
 * connections are accepted as late as the timer fires.
 */
const acceptRounds = 10;
/**
 * After the port was closed, the server waits until no request came for this time, in milliseconds: one
 * may be on its way on every idle connection, and would be reset.
 */
const quietMs = 100;
/** Longest wait for that, in milliseconds. */
const lingerMs = 1_000;
/** How long responses that are being sent may still take at the end, in milliseconds. */
const flushMs = 1_000;

/**
 * Shuts a server down without resetting a request:
 *
 * 1. New requests are held for a moment, until no more connections come: closing the port resets those
 *    that the kernel has accepted and the process has not. Then the port is closed, and the requests
 *    are handled. Idle connections stay open; a request that arrives on one is answered with
 *    `Connection: close`, after which the client closes it.
 * 2. Turns are drained, and streams end with them.
 * 3. Responses are sent to their end, and the connections that are left are closed.
 */
export async function shutDown(options: {
  readonly server: Server | SecureServer;
  readonly responses: OpenResponses;
  /** Holds requests from now on, until it is disposed of. */
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
  await drain({ graceMs: Math.max(0, drainMs - (performance.now() - start)) });
  await waitAtMost(flushMs, responses.finished());
  // Also stops the timer by which `node:http` checks its timeouts.
  server.close();
  server.closeAllConnections();
  await isClosed;
}

/** Stops listening; idle connections stay open. Resolves when the last connection has ended. */
function closePort(server: Server | SecureServer): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  // `close` of `node:http` would destroy idle connections at once. Servers of Bun have no other.
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

/** Waits until no request has come for a while, or no connection is left. */
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

/** The responses of a server that have not been sent to their end. */
export class OpenResponses {
  readonly #open = new Set<ServerResponse>();
  #isClosing = false;
  #finished: (() => void)[] = [];
  #lastAt = performance.now();

  /** When the last request came, by `performance.now()`. */
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

  /** From now on every response closes its connection, also those under way that have no head yet. */
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
