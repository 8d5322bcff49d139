import type { ServerResponse } from 'node:http';

/** Response headers by name. */
export type Headers = Readonly<Record<string, string | string[]>>;

const jsonHeaders: Headers = {
  'content-type': 'application/json',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
};

/** Sends JSON text and ends the response, unless the client has disconnected. Not cached by default. */
export function sendJson(
  response: ServerResponse,
  status: number,
  text: string,
  headers?: Headers,
): void {
  if (response.headersSent || response.destroyed) return;
  sendText(response, status, text, { ...jsonHeaders, ...headers });
}

/** Sends a complete body with its length and ends the response. */
export function sendText(
  response: ServerResponse,
  status: number,
  text: string,
  headers: Headers,
): void {
  limitUnreadBody(response);
  response.writeHead(status, { 'content-length': Buffer.byteLength(text), ...headers });
  response.end(text);
}

/** How long the rest of a body that nobody wants may still come, in milliseconds. */
const lingerMs = 2_000;

/**
 * Answers before the body has arrived leave it to be thrown away, so that honest clients can finish
 * and read the answer. One that goes on sending after that is cut off.
 */
function limitUnreadBody(response: ServerResponse): void {
  const { req: request } = response;
  if (request.complete) return;
  response.once('finish', () => {
    if (request.complete) return;
    const timer = setTimeout(() => {
      if (!request.complete) request.socket.destroy();
    }, lingerMs).unref();
    request.once('close', () => clearTimeout(timer));
  });
}
