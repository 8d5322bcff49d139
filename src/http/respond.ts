import type { ServerResponse } from 'node:http';
import { limitUnreadBody } from './unread-body.ts';

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
