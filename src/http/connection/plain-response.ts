import { EventEmitter } from 'node:events';
import { type HeaderFields, headerLines, statusLine } from './header-lines.ts';
import type { PlainRequest } from './plain-request.ts';

/** Where an answer goes. */
export interface Answering {
  /** The last lines of every head: the date, and what becomes of the connection. */
  lastLines(isLast: boolean): string;
  /** Called when all of the answer was written, and whether none may follow it. */
  answered(isLast: boolean): void;
}

/**
 * The answer to a plain request, written as `node:http` would write it.
 *
 * - **new**: nothing was said.
 * - **begun**: the head is made and goes out with the first bytes of the body.
 * - **over**: all is written, or the caller has gone; `close` was emitted.
 */
export class PlainResponse extends EventEmitter {
  readonly req: PlainRequest;
  statusCode = 200;
  readonly #answering: Answering;
  #state: 'new' | 'begun' | 'over' = 'new';
  #isEnded = false;
  #isChunked = false;
  /** The connection ends with it. */
  #isLast = false;
  #fields: Record<string, string | number | readonly string[]> | undefined;
  /** Made and not sent yet. */
  #head = '';

  constructor(request: PlainRequest, answering: Answering) {
    super();
    this.req = request;
    this.#answering = answering;
  }

  get headersSent(): boolean {
    return this.#state !== 'new';
  }

  get destroyed(): boolean {
    return this.#state === 'over';
  }

  get writableEnded(): boolean {
    return this.#isEnded;
  }

  get writableNeedDrain(): boolean {
    return this.#state !== 'over' && this.req.socket.writableNeedDrain;
  }

  hasHeader(name: string): boolean {
    return this.#fields !== undefined && name.toLowerCase() in this.#fields;
  }

  setHeader(name: string, value: string | number | readonly string[]): this {
    this.#requireNew();
    this.#fields ??= {};
    this.#fields[name.toLowerCase()] = value;
    return this;
  }

  writeHead(status: number, headers: HeaderFields = {}): this {
    this.#requireNew();
    const fields = this.#fields === undefined ? headers : { ...this.#fields, ...headers };
    this.#isChunked = hasBody(status) && !('content-length' in fields);
    this.#begin(status, fields, this.#isChunked ? 'Transfer-Encoding: chunked\r\n' : '');
    return this;
  }

  /** The same with lines that `headerLines` made before, and the length of the body. */
  writeLines(status: number, lines: string, length: number): this {
    this.#requireNew();
    const set = this.#fields === undefined ? '' : headerLines(this.#fields);
    this.#start(status, set + lines, `Content-Length: ${length}\r\n`);
    return this;
  }

  flushHeaders(): void {
    if (this.#state === 'new') this.writeHead(this.statusCode);
    if (this.#state === 'begun') this.#send('');
  }

  write(text: string | Uint8Array): boolean {
    if (this.#state === 'new') this.writeHead(this.statusCode);
    if (this.#state === 'over' || this.#isEnded) return false;
    if (text.length === 0) return true;
    if (!this.#isChunked) return this.#send(text);
    if (typeof text === 'string') {
      return this.#send(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
    }
    this.#send(`${text.length.toString(16)}\r\n`);
    this.#send(text);
    return this.#send('\r\n');
  }

  end(text: string | Uint8Array = ''): this {
    if (this.#state === 'over' || this.#isEnded) return this;
    if (this.#state === 'new') {
      const framing = `Content-Length: ${Buffer.byteLength(text)}\r\n`;
      this.#begin(this.statusCode, this.#fields ?? {}, hasBody(this.statusCode) ? framing : '');
    }
    if (!this.#isChunked) {
      this.#send(text);
    } else if (typeof text === 'string' && text !== '') {
      this.#send(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n0\r\n\r\n`);
    } else {
      this.write(text);
      this.#send('0\r\n\r\n');
    }
    this.#isEnded = true;
    this.emit('finish');
    this.close();
    this.#answering.answered(this.#isLast);
    return this;
  }

  /** Breaks the connection off. */
  destroy(): this {
    this.req.socket.destroy();
    return this;
  }

  /** Nothing can be said any more. */
  close(): void {
    if (this.#state === 'over') return;
    this.#state = 'over';
    this.emit('close');
  }

  #begin(status: number, fields: HeaderFields, framing: string): void {
    const lines = headerLines(fields);
    this.#isLast = fields['connection'] === 'close';
    this.#start(status, lines, framing);
  }

  #start(status: number, lines: string, framing: string): void {
    const last = this.#answering.lastLines(this.#isLast);
    this.#head = `${statusLine(status)}${lines}${last}${framing}\r\n`;
    this.statusCode = status;
    this.#state = 'begun';
  }

  #send(text: string | Uint8Array): boolean {
    const { socket } = this.req;
    const head = this.#head;
    this.#head = '';
    if (typeof text === 'string') return socket.write(head + text);
    if (head !== '') socket.write(head);
    return socket.write(text);
  }

  #requireNew(): void {
    if (this.#state === 'new') return;
    throw new Error('the head of this answer was sent already');
  }
}

function hasBody(status: number): boolean {
  return status !== 204 && status !== 304;
}
