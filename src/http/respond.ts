import type { ServerResponse } from 'node:http';

/** Answers with JSON text and closes. Does nothing when the caller has gone. */
export function sendJson(
  response: ServerResponse,
  status: number,
  text: string,
  headers?: Readonly<Record<string, string | readonly string[]>>,
): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'x-content-type-options': 'nosniff',
    ...headers,
  });
  response.end(text);
}
