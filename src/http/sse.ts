import type { ServerResponse } from 'node:http';
import { type LegateError, toLegateError } from '../protocol/index.ts';
import type { EventStream, StreamEvent } from '../tasks/index.ts';
import type { Logger } from '../telemetry/index.ts';

const streamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
  'x-content-type-options': 'nosniff',
};

/** Maximum buffered text before the sender stops pulling events, in characters. */
const maxPending = 64 * 1024;

export interface EventSending {
  /** Encodes one event as any number of frames. */
  readonly encode: (event: StreamEvent) => string;
  /** Encodes a failure within the stream as a frame. */
  readonly encodeError: (error: LegateError) => string;
  readonly logger: Logger;
  readonly keepAliveMs: number;
  readonly extraHeaders?: Readonly<Record<string, string>> | undefined;
  /**
   * Aborts when the server shuts down. The stream then ends after the events stored so far. A stream
   * whose turn has not ended gets a last comment, and its client resumes on another replica.
   */
  readonly closing?: AbortSignal;
}

/** Sends a stream of a single event, unless the client has disconnected. */
export function sendEvent(
  response: ServerResponse,
  data: string,
  headers: Readonly<Record<string, string | string[]>>,
): void {
  if (response.headersSent || response.destroyed) return;
  const text = `data: ${data}\n\n`;
  const length = { 'content-length': Buffer.byteLength(text) };
  response.writeHead(200, { ...length, ...streamHeaders, ...headers }).end(text);
}

/** Sends a stream of events to one client; resolves when the stream has ended. */
export function sendEvents(
  response: ServerResponse,
  stream: EventStream,
  options: EventSending,
): Promise<void> {
  return new EventSender(response, stream, options).run();
}

/**
 * Sends one stream. Frames of one event loop iteration share a write. While the client does not read, the
 * sender pulls no events.
 *
 * - **new**: nothing was sent. A stream that ends now is one response of known length.
 * - **open**: after the first event loop iteration; comments keep the connection alive.
 * - **over**: ended by the sender, or the client disconnected.
 */
class EventSender {
  readonly #response: ServerResponse;
  readonly #stream: EventStream;
  readonly #options: EventSending;
  #pending = '';
  #state: 'new' | 'open' | 'over' = 'new';
  #isFlushing = false;
  /** Whether the event that ends the turn, or an error, was sent. */
  #isComplete = false;
  #flushed: (() => void) | undefined;
  #keepAlive: NodeJS.Timeout | undefined;

  constructor(response: ServerResponse, stream: EventStream, options: EventSending) {
    this.#response = response;
    this.#stream = stream;
    this.#options = options;
  }

  async run(): Promise<void> {
    this.#flushSoon();
    try {
      await this.#pull();
    } catch (thrown) {
      const error = toLegateError(thrown);
      const { code, message, cause } = error;
      this.#options.logger.error({ code, error: cause ?? message }, 'http.stream.failed');
      this.#pending += this.#options.encodeError(error);
      this.#isComplete = true;
    } finally {
      this.#end();
    }
  }

  async #pull(): Promise<void> {
    const { encode } = this.#options;
    for (;;) {
      const event = this.#stream.take();
      if (this.#state === 'over') return;
      if (event === undefined) {
        if (this.#stream.isOver) return;
        await this.#stream.arrival();
        continue;
      }
      this.#pending += encode(event);
      if (event.isLast) {
        this.#isComplete = true;
        return;
      }
      this.#flushSoon();
      if (this.#response.writableNeedDrain) await drained(this.#response);
      else if (this.#pending.length > maxPending) {
        await new Promise<void>((resolve) => {
          this.#flushed = resolve;
        });
      }
    }
  }

  #flushSoon(): void {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#isFlushing = false;
    if (this.#state === 'new') this.#open();
    if (this.#state !== 'over' && this.#pending !== '') {
      this.#response.write(this.#pending);
      this.#pending = '';
    }
    this.#flushed?.();
    this.#flushed = undefined;
  }

  #open(): void {
    const { closing, keepAliveMs, extraHeaders } = this.#options;
    const response = this.#response;
    if (response.destroyed) return this.#onClose();
    this.#state = 'open';
    response.on('close', this.#onClose);
    closing?.addEventListener('abort', this.#onClosing);
    if (closing?.aborted === true) this.#onClosing();
    this.#keepAlive = setInterval(() => {
      if (this.#pending === '' && !response.writableNeedDrain) response.write(': keep-alive\n\n');
    }, keepAliveMs).unref();
    response.writeHead(200, { ...streamHeaders, ...extraHeaders });
    if (this.#pending === '') response.flushHeaders();
  }

  readonly #onClosing = (): void => this.#stream.finish();

  readonly #onClose = (): void => {
    this.#state = 'over';
    this.#stream.close();
    this.#flushed?.();
  };

  #end(): void {
    const { closing, extraHeaders } = this.#options;
    clearInterval(this.#keepAlive);
    this.#stream.close();
    if (closing?.aborted === true && !this.#isComplete)
      this.#pending += ': the server is shutting down; subscribe again to continue\n\n';
    const text = this.#pending;
    if (this.#state === 'new') {
      if (!this.#response.destroyed) {
        const length = { 'content-length': Buffer.byteLength(text) };
        this.#response.writeHead(200, { ...length, ...streamHeaders, ...extraHeaders }).end(text);
      }
    } else {
      this.#response.removeListener('close', this.#onClose);
      closing?.removeEventListener('abort', this.#onClosing);
      if (this.#state === 'open') this.#response.end(text);
    }
    this.#state = 'over';
  }
}

/** Encodes a frame with the number of its event, from which clients resume. */
export function frame(event: StreamEvent, data: string): string {
  return event.sequence > 0 ? `id: ${event.sequence}\ndata: ${data}\n\n` : `data: ${data}\n\n`;
}

/** Resolves when the socket accepts more data, or the client disconnects. */
export function drained(response: ServerResponse): Promise<void> {
  if (response.destroyed || !response.writableNeedDrain) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      response.removeListener('drain', done);
      response.removeListener('close', done);
      resolve();
    };
    response.on('drain', done);
    response.on('close', done);
  });
}
