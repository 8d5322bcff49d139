import type { HttpResponse } from './connection/index.ts';
import { limitUnreadBody } from './unread-body.ts';

/**
 * Answers with JSON text and closes. Does nothing when the caller has gone. What callers are told is
 * theirs: unless the headers say otherwise, no cache keeps it.
 */
export function sendJson(
  response: HttpResponse,
  status: number,
  text: string,
  headers?: Readonly<Record<string, string | readonly string[]>>,
): void {
  if (response.headersSent || response.destroyed) return;
  limitUnreadBody(response);
  const usual = {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'content-length': Buffer.byteLength(text),
    'x-content-type-options': 'nosniff',
  };
  response.writeHead(status, headers === undefined ? usual : { ...usual, ...headers });
  endSoon(response, text);
}

/** Answers that are ready, and go out when all that this turn of the event loop brought was looked at. */
let ready: { readonly response: HttpResponse; readonly text: string }[] = [];

/**
 * Ends an answer together with the others of this turn of the event loop. Written one by one, each
 * would wake whoever waits for it, which under load costs more than making the answer.
 */
export function endSoon(response: HttpResponse, text: string): void {
  if (ready.push({ response, text }) === 1) setImmediate(endAll);
}

function endAll(): void {
  const answers = ready;
  ready = [];
  for (const { response, text } of answers) response.end(text);
}
