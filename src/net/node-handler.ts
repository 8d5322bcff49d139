import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { LegateError, statusOf, toJsonRpcError } from '../protocol/index.ts';
import { defaultBodyLimits, parsedBody, readBytes } from './body.ts';

/**
 * Converts a handler of web requests to one of `node:http`. A disconnect aborts the request's signal.
 * Rejects if `handle` rejects, or the body of its response fails.
 */
export function toNodeHandler(
  handle: (request: Request) => Promise<Response>,
  maxBodyBytes = 4 * 1024 * 1024,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return async (incoming, outgoing) => {
    const leaving = new AbortController();
    outgoing.once('close', () => {
      if (!outgoing.writableFinished && outgoing.errored === null) leaving.abort();
    });
    let request: Request;
    try {
      const parsed = parsedBody(incoming);
      const body =
        parsed === undefined
          ? await readBytes(incoming, { ...defaultBodyLimits, maxBodyBytes })
          : Buffer.from(parsed);
      request = toRequest(incoming, body, leaving.signal);
    } catch (error) {
      if (!(error instanceof LegateError)) throw error;
      return refuse(outgoing, error);
    }
    const answer = await handle(request);
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
  try {
    return new Request(new URL(url, 'http://localhost'), {
      method,
      headers,
      signal,
      ...(hasBody && { body }),
    });
  } catch (cause) {
    // `node:http` accepts methods and targets that a web request can't have, such as TRACE and `//`.
    throw new LegateError(
      'INVALID_REQUEST',
      'the method or the target of the request is not supported; send POST or GET with a path',
      { cause },
    );
  }
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
