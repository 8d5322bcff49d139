import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { LegateError, statusOf, toJsonRpcError } from '../protocol/index.ts';
import { defaultBodyLimits, parsedBody, readBytes } from './body.ts';

/** Converts a handler of web requests to one of `node:http`. A disconnect aborts the request's signal. */
export function toNodeHandler(
  handle: (request: Request) => Promise<Response>,
  maxBodyBytes = 4 * 1024 * 1024,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return async (incoming, outgoing) => {
    const leaving = new AbortController();
    outgoing.once('close', () => {
      if (!outgoing.writableFinished && outgoing.errored === null) leaving.abort();
    });
    let body: Buffer<ArrayBuffer>;
    try {
      const parsed = parsedBody(incoming);
      body =
        parsed === undefined
          ? await readBytes(incoming, { ...defaultBodyLimits, maxBodyBytes })
          : Buffer.from(parsed);
    } catch (error) {
      if (!(error instanceof LegateError)) throw error;
      return refuse(outgoing, error);
    }
    const answer = await handle(toRequest(incoming, body, leaving.signal));
    outgoing.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body === null) return void outgoing.end();
    // Clients of event streams need the headers at once.
    outgoing.flushHeaders();
    try {
      await pipeline(answer.body, outgoing);
    } catch (error) {
      // The client disconnected and needs no answer.
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
  for (const [name, values = []] of Object.entries(incoming.headersDistinct))
    for (const value of values) headers.append(name, value);
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
