import type { ServerWritableStream } from '@grpc/grpc-js';

/** What of a server stream is used here. */
export type Sink = Pick<ServerWritableStream<Buffer, Buffer>, 'cancelled' | 'on' | 'write'>;

/**
 * Messages on their way to one caller. At most `limit` bytes beyond one message wait for the caller
 * to read; `send` resolves once there is room again, or nobody to send to.
 *
 * The stream's own measure counts messages, whatever their size, so the bytes are counted here.
 */
export class Outflow {
  readonly #sink: Sink;
  readonly #limit: number;
  #waiting = 0;
  #isOver: boolean;
  #wake: (() => void) | undefined;

  constructor(sink: Sink, limit: number) {
    this.#sink = sink;
    this.#limit = limit;
    this.#isOver = sink.cancelled;
    // The messages of a call that has ended are dropped without being reported as written.
    sink.on('cancelled', () => {
      this.#isOver = true;
      this.#wake?.();
    });
  }

  /** The caller has gone, or its time is up. */
  get isOver(): boolean {
    return this.#isOver;
  }

  async send(message: Buffer): Promise<void> {
    if (this.#isOver) return;
    this.#waiting += message.length;
    this.#sink.write(message, () => {
      this.#waiting -= message.length;
      if (this.#waiting <= this.#limit) this.#wake?.();
    });
    if (this.#waiting <= this.#limit) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    this.#wake = undefined;
  }
}
