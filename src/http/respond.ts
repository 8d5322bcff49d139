import { headerLines, type HttpResponse, PlainResponse } from './connection/index.ts';
import { limitUnreadBody } from './unread-body.ts';

const usual = {
  'content-type': 'application/json',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
} as const;
const usualLines = headerLines(usual);

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
  const length = Buffer.byteLength(text);
  if (response instanceof PlainResponse && headers === undefined) {
    response.writeLines(status, usualLines, length);
  } else {
    limitUnreadBody(response);
    response.writeHead(status, { ...usual, 'content-length': length, ...headers });
  }
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
