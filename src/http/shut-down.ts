import type { Server } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import { Server as NetServer } from 'node:net';
import type { OpenResponses } from './open-responses.ts';
import { waitAtMost } from './wait-at-most.ts';

/** Lets turns end by themselves for `graceMs`, hands over the others, and ends streams. */
export type Drain = (options: { readonly graceMs: number }) => Promise<void>;

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
 * 1. The port is closed. Idle connections stay open; a request that arrives on one is answered with
 *    `Connection: close`, after which the client closes it.
 * 2. Turns are drained, and streams end with them.
 * 3. Responses are sent to their end, and the connections that are left are closed.
 */
export async function shutDown(options: {
  readonly server: Server | SecureServer;
  readonly responses: OpenResponses;
  readonly drain: Drain;
  readonly drainMs: number;
}): Promise<void> {
  const { server, responses, drain, drainMs } = options;
  // `close` of `node:http` would destroy idle connections at once.
  const isClosed = new Promise<void>((resolve) => {
    NetServer.prototype.close.call(server, () => resolve());
  });
  const start = performance.now();
  await linger(responses, isClosed, Math.min(lingerMs, drainMs));
  await drain({ graceMs: Math.max(0, drainMs - (performance.now() - start)) });
  await waitAtMost(flushMs, responses.finished());
  // Also stops the timer by which `node:http` checks its timeouts.
  server.close();
  server.closeAllConnections();
  await isClosed;
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
