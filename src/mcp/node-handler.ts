import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

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
    const body = await readBody(incoming, maxBodyBytes);
    if (body === undefined) {
      outgoing.writeHead(413, { connection: 'close' }).end();
      return;
    }
    const answer = await handle(toRequest(incoming, body, leaving.signal));
    outgoing.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body === null) {
      outgoing.end();
      return;
    }
    // Whoever waits for events must see the head at once.
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

/** Undefined where it is too large. */
async function readBody(
  incoming: IncomingMessage,
  limit: number,
): Promise<Buffer<ArrayBuffer> | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
