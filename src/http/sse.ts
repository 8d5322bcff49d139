import type { ServerResponse } from 'node:http';
import { type LegateError, toLegateError } from '../protocol/index.ts';
import type { EventStream, StreamEvent } from '../tasks/index.ts';
import type { Logger } from '../telemetry/index.ts';

const headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
  'x-content-type-options': 'nosniff',
} as const;

/**
 * Sends a stream of events to one caller. Frames made in one turn of the event loop go out in one
 * write; a caller that does not read is waited for, and meanwhile nothing is pulled.
 */
export async function sendEvents(
  response: ServerResponse,
  stream: EventStream,
  options: {
    /** The `data:` of one event. */
    readonly encode: (event: StreamEvent) => string;
    /** The frame that tells of a failure in the middle of the stream. */
    readonly encodeError: (error: LegateError) => string;
    readonly logger: Logger;
    readonly keepAliveMs: number;
    readonly extraHeaders?: Readonly<Record<string, string>>;
    /** Ends the stream with a last comment: the server stops, the task goes on. */
    readonly closing?: AbortSignal;
  },
): Promise<void> {
  const { encode, keepAliveMs, closing } = options;
  let pending = '';
  let isOver = false;
  let flushed: (() => void) | undefined;
  response.once('close', () => {
    isOver = true;
    stream.close();
    flushed?.();
  });
  const onClosing = (): void => stream.close();
  closing?.addEventListener('abort', onClosing, { once: true });
  const keepAlive = setInterval(() => {
    if (pending === '' && !response.writableNeedDrain) response.write(': keep-alive\n\n');
  }, keepAliveMs).unref();
  const flush = (): void => {
    if (isOver || pending === '') return;
    const text = pending;
    pending = '';
    response.write(text);
    flushed?.();
  };
  try {
    response.writeHead(200, { ...headers, ...options.extraHeaders });
    for (;;) {
      const event = await stream.next();
      if (event === undefined || isOver) break;
      if (pending === '' && !event.isLast) setImmediate(flush);
      pending += frame(event, encode(event));
      if (event.isLast) break;
      if (response.writableNeedDrain) {
        await drained(response);
      } else if (pending.length > 64 * 1024) {
        await new Promise<void>((resolve) => {
          flushed = resolve;
        });
        flushed = undefined;
      }
    }
  } catch (thrown) {
    const error = toLegateError(thrown);
    const { code, message, cause } = error;
    options.logger.error(
      { code, error: cause ?? message },
      'a2a_server.sanic_app.stream_sse.error',
    );
    pending += options.encodeError(error);
  } finally {
    clearInterval(keepAlive);
    closing?.removeEventListener('abort', onClosing);
    stream.close();
    if (!isOver) {
      if (closing?.aborted === true)
        pending += ': the server is stopping; subscribe again to go on\n\n';
      const rest = pending;
      pending = '';
      response.end(rest);
    }
  }
}

function frame(event: StreamEvent, data: string): string {
  return event.sequence > 0 ? `id: ${event.sequence}\ndata: ${data}\n\n` : `data: ${data}\n\n`;
}

/** Resolves when the caller has read on, or gone. */
function drained(response: ServerResponse): Promise<void> {
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
