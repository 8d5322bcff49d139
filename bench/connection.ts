import { connect, type Socket } from 'node:net';

export interface HttpAnswer {
  readonly status: number;
  /** The end of the body: the whole of a short one, the last few kilobytes of a long one. */
  readonly tail: string;
  /** The length of the body. */
  readonly bytes: number;
}

const tailLength = 4096;

/**
 * A kept-alive HTTP/1.1 connection with one request at a time. Written for the load generator:
 * `node:http` costs more per request than some of the servers under test.
 *
 * States: idle, `head` (waiting for the end of the header), `sized` (content-length known), `chunked`.
 */
export class Connection {
  readonly #socket: Socket;
  #pending = '';
  #state: 'idle' | 'head' | 'sized' | 'chunked' = 'idle';
  #status = 0;
  #tail = '';
  #bytes = 0;
  /** Bytes of the body, or of the current chunk, that are still missing. */
  #missing = 0;
  #settle: ((answer: HttpAnswer) => void) | undefined;
  #fail: ((error: Error) => void) | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (data) => this.#receive(data.toString('latin1')));
    socket.on('error', (error) => this.#fail?.(error));
    socket.on('close', () => this.#fail?.(new Error('the server closed the connection')));
  }

  static open(port: number): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => resolve(new Connection(socket)));
      socket.once('error', reject);
    });
  }

  /** Sends a whole request, header and body, and waits for the whole response. */
  send(request: string): Promise<HttpAnswer> {
    return new Promise((resolve, reject) => {
      this.#state = 'head';
      this.#tail = '';
      this.#bytes = 0;
      this.#settle = resolve;
      this.#fail = reject;
      this.#socket.write(request, 'latin1');
    });
  }

  /** Sends a request and stops reading. */
  ignore(request: string): void {
    this.#socket.pause();
    this.#socket.write(request, 'latin1');
  }

  close(): void {
    this.#fail = undefined;
    this.#socket.destroy();
  }

  #receive(text: string): void {
    this.#pending = this.#pending === '' ? text : this.#pending + text;
    if (this.#state === 'head' && !this.#readHead()) return;
    if (this.#state === 'sized') this.#readSized();
    else if (this.#state === 'chunked') this.#readChunks();
  }

  #readHead(): boolean {
    const end = this.#pending.indexOf('\r\n\r\n');
    if (end < 0) return false;
    const head = this.#pending.slice(0, end);
    this.#pending = this.#pending.slice(end + 4);
    this.#status = Number(head.slice(9, 12));
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    this.#state = length === undefined ? 'chunked' : 'sized';
    this.#missing = Number(length ?? 0);
    return true;
  }

  #readSized(): void {
    if (this.#pending.length < this.#missing) return;
    this.#keep(this.#pending.slice(0, this.#missing));
    this.#pending = this.#pending.slice(this.#missing);
    this.#finish();
  }

  #readChunks(): void {
    let at = 0;
    for (;;) {
      if (this.#missing === 0) {
        const lineEnd = this.#pending.indexOf('\r\n', at);
        if (lineEnd < 0) break;
        const size = Number.parseInt(this.#pending.slice(at, lineEnd), 16);
        // The last chunk is empty and followed by an empty line.
        if (size === 0) {
          if (this.#pending.length < lineEnd + 4) break;
          this.#pending = this.#pending.slice(lineEnd + 4);
          this.#finish();
          return;
        }
        at = lineEnd + 2;
        this.#missing = size + 2;
      }
      const piece = this.#pending.slice(at, at + this.#missing);
      this.#missing -= piece.length;
      at += piece.length;
      this.#keep(piece);
      if (this.#missing > 0) break;
    }
    this.#pending = this.#pending.slice(at);
  }

  #keep(piece: string): void {
    this.#bytes += piece.length;
    const tail = this.#tail === '' ? piece : this.#tail + piece;
    this.#tail = tail.length > tailLength ? tail.slice(-tailLength) : tail;
  }

  #finish(): void {
    this.#state = 'idle';
    this.#fail = undefined;
    this.#settle?.({ status: this.#status, tail: this.#tail, bytes: this.#bytes });
  }
}
