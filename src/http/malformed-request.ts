import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import type { Duplex } from 'node:stream';
import { type ErrorCode, isJsonObject, LegateError, toRestError } from '../protocol/index.ts';
import { sendJson } from './respond.ts';

type Refusal = readonly [status: number, code: ErrorCode, message: string];

/** By the error codes of Node's parser. Other error codes mean a broken connection. */
const refusals: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: [
    431,
    'PAYLOAD_TOO_LARGE',
    'the request headers are too large; send fewer or shorter headers',
  ],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [
    413,
    'PAYLOAD_TOO_LARGE',
    'the chunk extensions are too large; send none',
  ],
  ERR_HTTP_REQUEST_TIMEOUT: [
    408,
    'REQUEST_TIMEOUT',
    'the request did not arrive in time; send it again',
  ],
};
const malformed: Refusal = [
  400,
  'INVALID_REQUEST',
  'not a valid HTTP/1.1 request; check the client and the port',
];

function refusalOf({ code = '' }: NodeJS.ErrnoException): Refusal | undefined {
  return refusals[code] ?? (code.startsWith('HPE_') ? malformed : undefined);
}

/**
 * Sends a JSON error for requests that Node would refuse without a body: malformed or slow requests,
 * CONNECT, and unknown `Expect` headers. `headers` are added to each response.
 */
export function answerMalformed(
  server: Server | SecureServer,
  headers: Readonly<Record<string, string>>,
): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    const refused = refusalOf(error);
    if (refused !== undefined && mayAnswer(socket)) socket.write(textOf(refused, headers));
    closeSoon(socket);
  });
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    // Node no longer handles errors of this socket; an unhandled error would crash the process.
    socket.on('error', () => socket.destroy());
    const why = 'CONNECT is not supported: this server is not a proxy';
    socket.write(textOf([405, 'METHOD_NOT_ALLOWED', why], headers));
    closeSoon(socket);
  });
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    const why = 'the Expect header is not supported; send 100-continue or omit it';
    sendJson(response, 417, bodyOf([417, 'INVALID_REQUEST', why]), headers);
  });
}

/** Answers requests before the handler is ready. */
export function refuseBeforeStart(_request: IncomingMessage, response: ServerResponse): void {
  const why = 'the server is starting; try again in a moment';
  sendJson(response, 503, bodyOf([503, 'UNAVAILABLE', why]), { 'retry-after': '1' });
}

/** A REST error body with the given HTTP status instead of the status of the error code. */
function bodyOf([status, code, message]: Refusal): string {
  const { body } = toRestError(new LegateError(code, message));
  const error = 'error' in body && isJsonObject(body.error) ? body.error : {};
  return JSON.stringify({ error: { ...error, code: status } });
}

function textOf(refusal: Refusal, headers: Readonly<Record<string, string>>): string {
  const [status] = refusal;
  const body = bodyOf(refusal);
  const lines = Object.entries({
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'content-length': Buffer.byteLength(body),
    'x-content-type-options': 'nosniff',
    connection: 'close',
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`;
}

/**
 * Whether no response has started on the socket. A client would read a second response as part of the
 * first. Node has the current response only in this private property, and checks it the same way.
 */
function mayAnswer(socket: Duplex): boolean {
  const { _httpMessage: current } = socket as Duplex & { _httpMessage?: ServerResponse | null };
  return socket.writable && current?.headersSent !== true;
}

/** Closes the socket once everything is written. */
function closeSoon(socket: Duplex): void {
  if ('destroySoon' in socket && typeof socket.destroySoon === 'function') socket.destroySoon();
  else socket.destroy();
}
