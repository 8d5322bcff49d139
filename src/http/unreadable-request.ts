import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import type { Duplex } from 'node:stream';
import { type ErrorCode, LegateError, toRestError } from '../protocol/index.ts';
import { sendJson } from './respond.ts';

type Refusal = readonly [status: number, code: ErrorCode, message: string];

/** By the codes of Node's parser; what has none of them is no request, but a broken connection. */
const refusals: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: [
    431,
    'PAYLOAD_TOO_LARGE',
    'the headers of the request are too large; send fewer or shorter ones',
  ],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [
    413,
    'PAYLOAD_TOO_LARGE',
    'the extensions of a chunk are too large; send none',
  ],
  ERR_HTTP_REQUEST_TIMEOUT: [
    408,
    'REQUEST_TIMEOUT',
    'the request did not arrive in time; send it again',
  ],
};
const unreadable: Refusal = [
  400,
  'INVALID_REQUEST',
  'this is not a request of HTTP/1.1; check what is sent, and whether it is meant for this port',
];

function refusalOf({ code = '' }: NodeJS.ErrnoException): Refusal | undefined {
  return refusals[code] ?? (code.startsWith('HPE_') ? unreadable : undefined);
}

/**
 * Lets a server answer in JSON what Node would refuse without a word: requests that cannot be read,
 * come too slowly, ask for a tunnel, or expect what nobody offers. The headers are added to each answer.
 */
export function answerUnreadable(
  server: Server | SecureServer,
  headers: Readonly<Record<string, string>>,
): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    const refused = refusalOf(error);
    if (refused !== undefined && mayAnswer(socket)) socket.write(textOf(refused, headers));
    closeSoon(socket);
  });
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    // Node has let go of the connection: unheard, its breaking would end the process.
    socket.on('error', () => socket.destroy());
    const why = 'CONNECT is not possible here: this is no proxy';
    socket.write(textOf([405, 'METHOD_NOT_ALLOWED', why], headers));
    closeSoon(socket);
  });
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    const why = 'the header Expect asks for what is not offered; send 100-continue, or none';
    sendJson(response, 417, bodyOf([417, 'INVALID_REQUEST', why]), headers);
  });
}

/**
 * Refuses requests that do not say for whom they are, or say it twice (RFC 9112, 3.2), and tells
 * whether it did. Of two hosts a proxy may believe the one and we the other.
 */
export function refuseUnclearHost(request: IncomingMessage, response: ServerResponse): boolean {
  const { rawHeaders, httpVersion } = request;
  const count = rawHeaders.filter((name, index) => index % 2 === 0 && isHost(name)).length;
  if (count === 1 || (count === 0 && httpVersion !== '1.1')) return false;
  const why =
    count === 0
      ? 'the header Host is missing; send it'
      : `the header Host is there ${count} times; send it once`;
  sendJson(response, 400, bodyOf([400, 'INVALID_REQUEST', why]), { connection: 'close' });
  return true;
}

function isHost(name: string): boolean {
  return name.length === 4 && name.toLowerCase() === 'host';
}

/** The answer of a server that does not serve yet. */
export function refuseBeforeStart(_request: IncomingMessage, response: ServerResponse): void {
  const why = 'the server is starting; try again in a moment';
  sendJson(response, 503, bodyOf([503, 'UNAVAILABLE', why]), { 'retry-after': '1' });
}

/** An error as REST says it, under a status that no error of the protocol has. */
function bodyOf([status, code, message]: Refusal): string {
  const { body } = toRestError(new LegateError(code, message));
  return JSON.stringify({ error: { ...(body as { error: object }).error, code: status } });
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
 * Whether nothing of an answer was sent yet: a second one inside the first would be taken for a part
 * of it. Node keeps the answer under way at the socket and nowhere else, and does as much itself.
 */
function mayAnswer(socket: Duplex): boolean {
  const { _httpMessage: underWay } = socket as Duplex & { _httpMessage?: ServerResponse | null };
  return socket.writable && underWay?.headersSent !== true;
}

/** Closes when all is written. */
function closeSoon(socket: Duplex): void {
  if ('destroySoon' in socket && typeof socket.destroySoon === 'function') socket.destroySoon();
  else socket.destroy();
}
