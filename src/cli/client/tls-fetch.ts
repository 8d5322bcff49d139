import type { IncomingMessage } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import { Readable } from 'node:stream';
import type { TlsMaterial } from './tls-material.ts';

type Fetch = typeof globalThis.fetch;

/**
 * A `fetch` with a client certificate and custom certificate authorities, which Node's own does not
 * support. Redirects are returned, or refused with `redirect: 'error'`.
 */
export function tlsFetch({ certificate, key, ca }: TlsMaterial): Fetch {
  const agent = new Agent({ keepAlive: true, cert: certificate, key, ca });
  return async (input, init = {}) => {
    // Request normalizes every kind of body and header that fetch takes.
    const request = new Request(input, { ...init, signal: null });
    if (!request.url.startsWith('https:')) return globalThis.fetch(input, init);
    const body = request.body === null ? undefined : Buffer.from(await request.arrayBuffer());
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const { signal } = init;
      const outgoing = httpsRequest(request.url, {
        agent,
        method: request.method,
        headers: {
          // Compressed bodies are not decoded here.
          'accept-encoding': 'identity',
          ...Object.fromEntries(request.headers),
          ...(body !== undefined && { 'content-length': String(body.length) }),
        },
        ...(signal !== undefined && signal !== null && { signal }),
      });
      outgoing.once('response', resolve).once('error', reject).end(body);
    });
    return responseOf(answer, init.redirect);
  };
}

function responseOf(answer: IncomingMessage, redirect: RequestInit['redirect']): Response {
  const { statusCode: status = 0, statusMessage: statusText = '', rawHeaders } = answer;
  if (redirect === 'error' && status >= 300 && status < 400 && status !== 304) {
    answer.destroy();
    throw new TypeError(`answered ${status}; redirects are not followed`);
  }
  const headers = new Headers();
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    headers.append(rawHeaders[index] ?? '', rawHeaders[index + 1] ?? '');
  }
  const isBodyless = status === 204 || status === 205 || status === 304;
  if (isBodyless) answer.resume();
  const body = isBodyless ? null : (Readable.toWeb(answer) as ReadableStream<Uint8Array>);
  return new Response(body, { status, statusText, headers });
}
