import { headerLines, type HttpResponse, PlainResponse } from './connection/index.ts';
import { soon } from './soon.ts';
import { limitUnreadBody } from './unread-body.ts';

/** Fields that many answers have in common, put into text once. */
export interface CommonFields {
  readonly fields: Readonly<Record<string, string>>;
  readonly lines: string;
}

export function commonFields(fields: Readonly<Record<string, string>>): CommonFields {
  return { fields, lines: headerLines(fields) };
}

const ofJson = commonFields({
  'content-type': 'application/json',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
});

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
  sendWhole(response, status, ofJson, text, headers);
}

/** Answers with text that is all there is to say. */
export function sendWhole(
  response: HttpResponse,
  status: number,
  common: CommonFields,
  text: string,
  headers?: Readonly<Record<string, string | readonly string[]>>,
): void {
  const length = Buffer.byteLength(text);
  if (response instanceof PlainResponse && headers === undefined) {
    response.writeLines(status, common.lines, length);
  } else {
    limitUnreadBody(response);
    response.writeHead(status, { ...common.fields, 'content-length': length, ...headers });
  }
  endSoon(response, text);
}

/**
 * Ends an answer together with the others of this turn of the event loop. Written one by one, each
 * would wake whoever waits for it, which under load costs more than making the answer.
 */
function endSoon(response: HttpResponse, text: string): void {
  soon(() => void response.end(text));
}
