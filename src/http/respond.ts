import type { ServerResponse } from 'node:http';
import { limitUnreadBody } from './unread-body.ts';

/**
 * Answers with JSON text and closes. Does nothing when the caller has gone. What callers are told is
 * theirs: unless the headers say otherwise, no cache keeps it.
 */
export function sendJson(
  response: ServerResponse,
  status: number,
  text: string,
  headers?: Readonly<Record<string, string | readonly string[]>>,
): void {
  if (response.headersSent || response.destroyed) return;
  limitUnreadBody(response);
  response.writeHead(status, {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'content-length': Buffer.byteLength(text),
    'x-content-type-options': 'nosniff',
    ...headers,
  });
  response.end(text);
}
