import type { Socket } from 'node:net';
import { type PlainHead, plainHead } from './plain-head.ts';
import { PlainRequest } from './plain-request.ts';
import { type Answering, PlainResponse } from './plain-response.ts';

/** What a connection asks of the server that it belongs to. */
export interface PlainHost {
  /** How long it may be idle before and between requests, in milliseconds; 0 for ever. */
  readonly firstRequestMs: number;
  readonly keepAliveMs: number;
  /** Whether it ends with the answer that is under way. */
  readonly isClosing: boolean;
  lastLines(isLast: boolean): string;
  handle(request: PlainRequest, response: PlainResponse): void;
  /** Gives the connection to `node:http`, which reads what is in the socket first. */
  handOver(socket: Socket): void;
  /** Tells somebody who said nothing that it took too long, and closes. */
  refuseSilence(socket: Socket): void;
  forget(connection: PlainConnection): void;
}

/** So much may come while a request is being answered before no more is read, in bytes. */
const maxEarly = 65_536;

/**
 * One connection, for as long as its requests are plain and come whole.
 *
 * - **idle**: nothing is under way, and nothing of a next request has come.
 * - **answering**: a request is with the doors, or its answer was not read yet. What comes waits.
 * - **left**: it is closed, or belongs to `node:http` since something came that is not plain.
 */
export class PlainConnection implements Answering {
  readonly #socket: Socket;
  readonly #host: PlainHost;
  #response: PlainResponse | undefined;
  /** What came while a request was being answered. */
  #early: Buffer | undefined;
  /** The last one: those who call again and again send the same. */
  #head: PlainHead | undefined;

  readonly #listeners: readonly (readonly [event: string, listener: (piece: Buffer) => void])[] = [
    ['data', (piece) => this.#onData(piece)],
    ['drain', () => this.#onDrain()],
    // Whoever says that nothing more comes has gone: so `node:http` takes it, too.
    ['end', () => this.#socket.end()],
    // Told by the close that follows.
    ['error', () => undefined],
    ['close', () => this.#onClose()],
    ['timeout', () => this.#onTimeout()],
  ];

  constructor(socket: Socket, host: PlainHost) {
    this.#socket = socket;
    this.#host = host;
    for (const [event, listener] of this.#listeners) socket.on(event, listener);
    socket.setTimeout(host.firstRequestMs);
  }

  get isIdle(): boolean {
    return this.#response === undefined;
  }

  /** Closes once what was written has been sent. */
  close(): void {
    this.#socket.destroySoon();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  lastLines(isLast: boolean): string {
    return this.#host.lastLines(isLast);
  }

  answered(isLast: boolean): void {
    this.#response = undefined;
    if (isLast || this.#host.isClosing) this.close();
    else this.#takeEarly();
  }

  #onData(piece: Buffer): void {
    if (this.#response !== undefined || this.#socket.writableNeedDrain) this.#keep(piece);
    else this.#take(piece);
  }

  #takeEarly(): void {
    const early = this.#early;
    if (early === undefined || this.#socket.writableNeedDrain) return;
    this.#early = undefined;
    this.#socket.resume();
    this.#take(early);
  }

  #keep(piece: Buffer): void {
    this.#early = this.#early === undefined ? piece : Buffer.concat([this.#early, piece]);
    // As long as more is read, we see when the caller leaves.
    if (this.#early.length > maxEarly) this.#socket.pause();
  }

  #take(piece: Buffer): void {
    const isFirst = this.#head === undefined;
    const head = this.#read(piece);
    const start = head?.text.length ?? 0;
    if (head === undefined || piece.length !== start + head.bodyLength) {
      return this.#handOver(piece);
    }
    if (isFirst) this.#socket.setTimeout(this.#host.keepAliveMs);
    const request = new PlainRequest(head, piece.subarray(start), this.#socket);
    this.#response = new PlainResponse(request, this);
    this.#host.handle(request, this.#response);
  }

  #read(piece: Buffer): PlainHead | undefined {
    const last = this.#head;
    if (last !== undefined && piece.toString('latin1', 0, last.text.length) === last.text)
      return last;
    const head = plainHead(piece);
    if (head !== undefined) this.#head = head;
    return head;
  }

  #handOver(piece: Buffer): void {
    const socket = this.#socket;
    this.#leave();
    socket.setTimeout(0);
    socket.unshift(piece);
    this.#host.handOver(socket);
  }

  #leave(): void {
    for (const [event, listener] of this.#listeners) this.#socket.off(event, listener);
    this.#host.forget(this);
  }

  #onDrain(): void {
    if (this.#response === undefined) this.#takeEarly();
    else this.#response.emit('drain');
  }

  #onClose(): void {
    this.#leave();
    this.#response?.close();
  }

  #onTimeout(): void {
    if (this.#response !== undefined) this.#socket.setTimeout(this.#host.keepAliveMs);
    else if (this.#head === undefined) this.#host.refuseSilence(this.#socket);
    else this.destroy();
  }
}
