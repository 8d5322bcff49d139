import type { IncomingHttpHeaders } from 'node:http';

/** What stands before the body of a plain request. */
export interface PlainHead {
  /** All of it as it came, the empty line included. */
  readonly text: string;
  readonly method: string;
  readonly url: string;
  /** By names in small letters. Shared by all requests that came with the same head. */
  readonly headers: IncomingHttpHeaders;
  /** Bytes of the body. */
  readonly bodyLength: number;
}

/** Longest head that is plain, in bytes. */
const maxLength = 8_192;

/** What may stand in a target. Others are for the judgement of `node:http`. */
const requestLine = /^(GET|POST|DELETE) (\/[\w\-.~!$&'()*+,;=:@%/?]*) HTTP\/1\.1\r\n/;
const field = /([A-Za-z0-9-]+):([\t\x20-\x7e]*)\r\n/y;

/** Fields that change how a message is read or a connection is used: what they ask is not plain. */
const special = new Set([
  'content-encoding',
  'expect',
  'http2-settings',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * Reads the head at the beginning of a piece of a connection. Says undefined of all that is not beyond
 * doubt: this takes a small part of HTTP, in which every reader must see the same, and leaves the rest
 * to `node:http`.
 */
export function plainHead(piece: Buffer): PlainHead | undefined {
  const end = piece.indexOf('\r\n\r\n');
  if (end < 0 || end > maxLength) return undefined;
  const text = piece.toString('latin1', 0, end + 4);
  const line = requestLine.exec(text);
  if (line === null) return undefined;
  const [{ length: start }, method = '', url = ''] = line;
  const headers = headersOf(text, start);
  if (headers === undefined) return undefined;
  const { connection, 'content-length': length = '0' } = headers;
  if (connection !== undefined && connection.toLowerCase() !== 'keep-alive') return undefined;
  if (!/^\d{1,8}$/.test(length)) return undefined;
  return { text, method, url, headers: Object.freeze(headers), bodyLength: Number(length) };
}

function headersOf(text: string, start: number): IncomingHttpHeaders | undefined {
  const headers: IncomingHttpHeaders = Object.create(null) as IncomingHttpHeaders;
  field.lastIndex = start;
  while (field.lastIndex < text.length - 2) {
    const found = field.exec(text);
    if (found === null) return undefined;
    const name = (found[1] ?? '').toLowerCase();
    if (name in headers || special.has(name)) return undefined;
    headers[name] = (found[2] ?? '').trim();
  }
  return headers;
}
