import type { Server } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import type { Socket } from 'node:net';
import { PlainConnection, type PlainHost } from './plain-connection.ts';
import type { PlainRequest } from './plain-request.ts';
import type { PlainResponse } from './plain-response.ts';

/** Answers a plain request. */
export type PlainHandler = (request: PlainRequest, response: PlainResponse) => void;

/**
 * Takes the connections of a server of `node:http` before it does, and answers plain requests itself,
 * which costs half as much. A connection on which anything else comes is given to `node:http`, with
 * all that has come, and stays there.
 */
export class PlainConnections implements PlainHost {
  readonly firstRequestMs: number;
  readonly keepAliveMs: number;
  readonly #server: Server | SecureServer;
  readonly #accept: readonly Function[];
  readonly #handle: PlainHandler;
  readonly #connections = new Set<PlainConnection>();
  readonly #keepAliveLine: string;
  #date = '';
  #lastLines = '';
  /** The second that they are of. */
  #second = 0;
  #isClosing = false;

  constructor(server: Server | SecureServer, handle: PlainHandler) {
    const event = 'setSecureContext' in server ? 'secureConnection' : 'connection';
    const { keepAliveTimeout } = server;
    this.firstRequestMs = server.headersTimeout;
    // A second more than is told, as Node has it: a caller's request may be on its way.
    this.keepAliveMs = keepAliveTimeout === 0 ? 0 : keepAliveTimeout + 1_000;
    this.#keepAliveLine =
      keepAliveTimeout === 0
        ? ''
        : `Keep-Alive: timeout=${Math.floor(keepAliveTimeout / 1_000)}\r\n`;
    this.#server = server;
    this.#handle = handle;
    this.#accept = server.listeners(event);
    server.removeAllListeners(event);
    server.on(event, (socket: Socket) => this.#connections.add(new PlainConnection(socket, this)));
  }

  get isClosing(): boolean {
    return this.#isClosing;
  }

  /** Closes connections on which nothing is under way; the others close with their answers. */
  closeIdle(): void {
    this.#isClosing = true;
    for (const connection of this.#connections) if (connection.isIdle) connection.close();
  }

  closeAll(): void {
    for (const connection of this.#connections) connection.destroy();
  }

  lastLines(isLast: boolean): string {
    const second = Math.floor(Date.now() / 1_000);
    if (second !== this.#second) {
      this.#second = second;
      this.#date = `Date: ${new Date(second * 1_000).toUTCString()}\r\n`;
      this.#lastLines = `${this.#date}Connection: keep-alive\r\n${this.#keepAliveLine}`;
    }
    if (isLast) return this.#date;
    return this.#isClosing ? `${this.#date}Connection: close\r\n` : this.#lastLines;
  }

  handle(request: PlainRequest, response: PlainResponse): void {
    this.#handle(request, response);
  }

  handOver(socket: Socket): void {
    for (const accept of this.#accept) accept.call(this.#server, socket);
  }

  refuseSilence(socket: Socket): void {
    const error = Object.assign(new Error('nothing came'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
    if (!this.#server.emit('clientError', error, socket)) socket.destroy();
  }

  forget(connection: PlainConnection): void {
    this.#connections.delete(connection);
  }
}
