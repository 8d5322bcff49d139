import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { defaultBodyLimits, readBytes } from '../net/index.ts';
import { LegateError, statusOf, toJsonRpcError } from '../protocol/index.ts';

export interface NodeHandlerOptions {
  /** Largest request body in bytes. @default 4 MiB */
  readonly maxBodyBytes?: number;
}

/** A handler of web requests as one of `node:http`. A client that leaves aborts its request. */
export function toNodeHandler(
  handle: (request: Request) => Promise<Response>,
  { maxBodyBytes = 4 * 1024 * 1024 }: NodeHandlerOptions = {},
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return async (incoming, outgoing) => {
    const leaving = new AbortController();
    outgoing.once('close', () => leaving.abort());
    let body: Buffer<ArrayBuffer>;
    try {
      body = await readBytes(incoming, { ...defaultBodyLimits, maxBodyBytes });
    } catch (error) {
      if (!(error instanceof LegateError)) throw error;
      return refuse(outgoing, error);
    }
    const answer = await handle(toRequest(incoming, body, leaving.signal));
    outgoing.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body === null) {
      outgoing.end();
      return;
    }
    // Clients of event streams need the headers at once.
    outgoing.flushHeaders();
    try {
      await pipeline(Readable.fromWeb(answer.body as never), outgoing);
    } catch (error) {
      // A client that left needs no answer.
      if (!leaving.signal.aborted) throw error;
    }
  };
}

function toRequest(
  incoming: IncomingMessage,
  body: Buffer<ArrayBuffer>,
  signal: AbortSignal,
): Request {
  const headers = new Headers();
  for (let index = 0; index + 1 < incoming.rawHeaders.length; index += 2) {
    headers.append(incoming.rawHeaders[index] ?? '', incoming.rawHeaders[index + 1] ?? '');
  }
  const { method = 'GET', url = '/' } = incoming;
  const hasBody = method !== 'GET' && method !== 'HEAD' && body.length > 0;
  return new Request(new URL(url, 'http://localhost'), {
    method,
    headers,
    signal,
    ...(hasBody && { body }),
  });
}

/** Answers a request whose body was not read, and closes its connection. */
function refuse(outgoing: ServerResponse, error: LegateError): void {
  if (outgoing.destroyed) return;
  outgoing
    .writeHead(statusOf(error.code).http, {
      'content-type': 'application/json',
      connection: 'close',
      ...(error.retryAfter !== undefined && { 'retry-after': String(error.retryAfter) }),
    })
    .end(JSON.stringify({ jsonrpc: '2.0', id: null, error: toJsonRpcError(error) }));
}
