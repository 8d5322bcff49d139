import type { Server, IncomingMessage, ServerResponse } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import type { Duplex } from 'node:stream';
import { LegateError, toRestError } from '../protocol/index.ts';
import { sendJson } from './respond.ts';

/** What is told of a request that never became one: a status of HTTP, and the error it stands for. */
interface Refusal {
  readonly status: number;
  readonly phrase: string;
  readonly error: LegateError;
}

/** Tells of the parser of HTTP. What has none of these codes is no request, but a broken connection. */
function refusalOf({ code = '' }: NodeJS.ErrnoException): Refusal | undefined {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return refusal(
        431,
        'Request Header Fields Too Large',
        'PAYLOAD_TOO_LARGE',
        'the headers of the request are too large; send fewer or shorter ones',
      );
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return refusal(
        413,
        'Payload Too Large',
        'PAYLOAD_TOO_LARGE',
        'the extensions of a chunk are too large; send none',
      );
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return refusal(
        408,
        'Request Timeout',
        'REQUEST_TIMEOUT',
        'the request did not arrive in time; send it again',
      );
    default:
      if (!code.startsWith('HPE_')) return undefined;
      return refusal(
        400,
        'Bad Request',
        'INVALID_REQUEST',
        'this is not a request of HTTP/1.1; check what is sent, and whether it is meant for this port',
      );
  }
}

function refusal(
  status: number,
  phrase: string,
  code: LegateError['code'],
  message: string,
): Refusal {
  return { status, phrase, error: new LegateError(code, message) };
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
    socket.write(textOf(refusal(405, 'Method Not Allowed', 'METHOD_NOT_ALLOWED', why), headers));
    closeSoon(socket);
  });
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    const why = 'the header Expect asks for what is not offered; send 100-continue, or none';
    const error = new LegateError('INVALID_REQUEST', why);
    sendJson(response, 417, bodyOf(417, error), headers);
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
  const error = new LegateError('INVALID_REQUEST', why);
  sendJson(response, 400, bodyOf(400, error), { connection: 'close' });
  return true;
}

function isHost(name: string): boolean {
  return name.length === 4 && name.toLowerCase() === 'host';
}

/** The answer of a server that does not serve yet. */
export function refuseBeforeStart(_request: IncomingMessage, response: ServerResponse): void {
  const error = new LegateError('UNAVAILABLE', 'the server is starting; try again in a moment');
  sendJson(response, 503, bodyOf(503, error), { 'retry-after': '1' });
}

/** An error as REST says it, under a status that no error of the protocol has. */
function bodyOf(status: number, error: LegateError): string {
  const { body } = toRestError(error);
  return JSON.stringify({ error: { ...(body as { error: object }).error, code: status } });
}

function textOf({ status, phrase, error }: Refusal, headers: Readonly<Record<string, string>>) {
  const body = bodyOf(status, error);
  const lines = Object.entries({
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'content-length': Buffer.byteLength(body),
    'x-content-type-options': 'nosniff',
    connection: 'close',
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${phrase}\r\n${lines.join('')}\r\n${body}`;
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
