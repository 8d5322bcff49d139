import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { HttpRequest, HttpResponse } from './index.ts';
import { PlainConnections } from './plain-connections.ts';
import { PlainRequest } from './plain-request.ts';

/** Says what it understood of a request; a path of its own for each way to answer. */
function echo(request: HttpRequest, text: string, response: HttpResponse): void {
  const { method, url = '', headers, httpVersion } = request;
  const body = JSON.stringify({ method, url, headers, httpVersion, text });
  if (url.startsWith('/chunked')) {
    response.setHeader('vary', 'origin');
    response.writeHead(200, { 'content-type': 'text/event-stream', vary: 'accept' });
    response.write(body);
    response.write('');
    response.write(Buffer.from('ü'));
    response.end('bye');
  } else if (url.startsWith('/nothing')) response.writeHead(204, { allow: 'GET' }).end();
  else if (url.startsWith('/bare')) response.end(body);
  else if (url.startsWith('/last')) response.writeHead(200, { connection: 'close' }).end(body);
  else if (url.startsWith('/cookies')) {
    response.writeHead(404, { 'set-cookie': ['a=1', 'b=2'] }).end(Buffer.from(body));
  } else response.writeHead(200, { 'content-length': Buffer.byteLength(body) }).end(body);
}

function handle(request: HttpRequest, response: HttpResponse): void {
  if (request instanceof PlainRequest) return echo(request, request.body.toString(), response);
  let text = '';
  request.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  request.on('end', () => echo(request, text, response));
}

/** A server, and its ends of connections by the ports of the others. */
interface Tried {
  readonly server: Server;
  readonly ends: Map<number | undefined, Socket>;
}

/** Two servers that do the same, one by `node:http` alone. Counts the requests that were plain. */
let alone: Tried;
let helped: Tried;
let connections: PlainConnections;
let plain = 0;
beforeAll(async () => {
  const options = { keepAliveTimeout: 65_000 };
  alone = await listen(createServer(options, handle));
  const server = createServer(options, handle);
  connections = new PlainConnections(server, (request, response) => {
    plain += 1;
    handle(request, response);
  });
  helped = await listen(server);
});
afterAll(() => {
  alone.server.close();
  helped.server.close();
  connections.closeAll();
});

async function listen(server: Server): Promise<Tried> {
  const ends: Tried['ends'] = new Map();
  server.prependListener('connection', (socket: Socket) => ends.set(socket.remotePort, socket));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { server, ends };
}

/** All that is answered to pieces, each of which is read by itself. */
async function answers({ server, ends }: Tried, pieces: readonly string[]): Promise<string> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  let heard = '';
  socket.setEncoding('latin1').on('data', (piece: string) => (heard += piece));
  // A connection that is cut off has told all that it had to tell.
  socket.on('error', () => undefined);
  const closed = once(socket, 'close');
  await once(socket, 'connect');
  const port = socket.localPort;
  while (!ends.has(port)) await turn();
  let sent = 0;
  for (const piece of pieces) {
    if (!socket.writable) break;
    sent += piece.length;
    socket.write(piece, 'latin1');
    while ((ends.get(port)?.bytesRead ?? 0) < sent && !socket.destroyed) await turn();
    await quiet(() => heard);
  }
  socket.end();
  await closed;
  ends.delete(port);
  return heard.replaceAll(/^Date: .*$/gm, 'Date: now');
}

function turn(): Promise<void> {
  return new Promise(setImmediate);
}

/** Waits until the event loop brings nothing more. */
async function quiet(look: () => string): Promise<void> {
  for (let calm = 0, before = look(); calm < 10; calm = look() === before ? calm + 1 : 0) {
    before = look();
    await turn();
  }
}

async function expectSame(pieces: readonly string[]): Promise<string> {
  const [one, other] = await Promise.all([answers(alone, pieces), answers(helped, pieces)]);
  expect(other).toBe(one);
  return other;
}

function request(line: string, fields: readonly string[] = [], body = ''): string {
  return [`${line} HTTP/1.1`, 'Host: localhost', ...fields, '', body].join('\r\n');
}

function post(path: string, body: string, ...fields: string[]): string {
  return request(`POST ${path}`, [`Content-Length: ${body.length}`, ...fields], body);
}

describe('what is answered is, byte for byte, what node:http answers', () => {
  test.each([
    ['a request without a body', [request('GET /x?y=1')]],
    ['a body', [post('/', '{"a":1}', 'Content-Type: application/json', 'X-Y:  z \t')]],
    ['a body that is not ASCII', [post('/', Buffer.from('"ü"').toString('latin1'))]],
    ['an answer in chunks', [post('/chunked', 'x')]],
    ['an answer without a body', [request('DELETE /nothing')]],
    ['an answer without a head of its own', [request('GET /bare')]],
    ['an answer that is the last', [request('GET /last'), request('GET /never')]],
    ['a field with several values', [request('GET /cookies')]],
    ['many requests, one by one', [post('/a', 'b'), request('GET /c'), post('/d', 'e')]],
  ])('%s', async (_what, pieces) => {
    const before = plain;
    expect(await expectSame(pieces)).toMatch(/^HTTP\/1\.1 (?:2|404)/);
    expect(plain).toBeGreaterThan(before);
  });

  test.each([
    ['a body that comes in parts', [post('/', 'abc').slice(0, -2), 'bc']],
    ['a head that comes in parts', [post('/', 'abc').slice(0, 20), post('/', 'abc').slice(20)]],
    ['one byte at a time', Array.from(request('GET /x'))],
    [
      'a body in chunks',
      [request('POST /', ['Transfer-Encoding: chunked'], '1\r\na\r\n0\r\n\r\n')],
    ],
    ['both lengths', [post('/', 'abc', 'Transfer-Encoding: chunked')]],
    ['a length twice', [post('/', 'abc', 'Content-Length: 4')]],
    ['a length that is none', [request('POST /', ['Content-Length: +3'], 'abc')]],
    ['fields that come twice', [request('GET /', ['Accept: a', 'Accept: b', 'Cookie: a=1'])]],
    ['somebody who wants to be asked', [post('/', 'abc', 'Expect: 100-continue')]],
    ['the last request of a connection', [request('GET /', ['Connection: close'])]],
    ['another protocol', [request('GET /', ['Connection: Upgrade', 'Upgrade: websocket'])]],
    ['HTTP/1.0', ['GET / HTTP/1.0\r\n\r\n']],
    ['no HTTP at all', ['hello\r\n\r\n']],
    ['a target of another form', [request('GET http://localhost/x')]],
    ['another method', [request('HEAD /'), request('OPTIONS *')]],
    ['a field that is folded', [request('GET /', ['A: b\r\n c'])]],
    ['a space before the colon', [request('GET /', ['Content-Length : 3'])]],
    ['bare line feeds', [request('GET /x').replaceAll('\r\n', '\n')]],
    ['a line feed inside a field', [request('GET /', ['A: b\nContent-Length: 5'])]],
    ['a carriage return inside a field', [request('GET /', ['A: b\rContent-Length: 5'])]],
    ['bytes that are not ASCII', [request('GET /\xe4'), request('GET /', ['A: \xe4'])]],
    ['a byte that is nothing', [request('GET /', ['A: \0'])]],
    ['an empty line in front', [`\r\n${request('GET /x')}`]],
    ['a head that is too long', [request('GET /', [`A: ${'b'.repeat(20_000)}`])]],
  ])('%s, which is not plain', async (_what, pieces) => {
    const before = plain;
    await expectSame(pieces);
    expect(plain).toBe(before);
  });

  test('plain requests before one that is not', async () => {
    const before = plain;
    const chunked = request('POST /', ['Transfer-Encoding: chunked'], '1\r\na\r\n0\r\n\r\n');
    const heard = await expectSame([post('/a', 'b'), post('/c', 'd'), chunked, post('/e', 'f')]);
    expect(heard.match(/HTTP\/1\.1 200/g)).toHaveLength(4);
    expect(plain - before).toBe(2);
  });

  test('whatever is sent, in whatever pieces', async () => {
    const field = fc.constantFrom(
      'A: b',
      'A:b',
      'A : b',
      ' A: b',
      'A',
      'X-Y: \t z ',
      'Cookie: a',
      'Host: other',
      '__proto__: x',
      'Content-Length: 3',
      'content-length: 3',
      'Content-Length: 3, 3',
      'Transfer-Encoding: chunked',
      'Connection: close',
      'Connection: keep-alive',
      'Expect: 100-continue',
    );
    const message = fc
      .tuple(
        fc.constantFrom('GET /', 'POST /', 'DELETE /x', 'POST /chunked', 'HEAD /', 'GET  /'),
        fc.array(field, { maxLength: 4 }),
        fc.constantFrom('', 'abc', 'abcd', 'abcGET / HTTP/1.1\r\n', '3\r\nabc\r\n0\r\n\r\n'),
      )
      .map(([line, fields, body]) => request(line, fields, body));
    const mostly = fc.oneof(
      { weight: 2, arbitrary: message },
      { weight: 1, arbitrary: fc.constantFrom(request('GET /x'), post('/', 'abc', 'A: b')) },
    );
    /** A byte here and there is another one. */
    const slips = fc.array(
      fc.tuple(fc.nat(300), fc.constantFrom('\r', '\n', '\r\n', ' ', ':', '\0', '\xff', 'x', '')),
      { maxLength: 1 },
    );
    const cuts = fc.oneof(fc.constant([]), fc.array(fc.nat(300), { maxLength: 2 }));
    /** Each message by itself, or cut somewhere else. */
    const sent = fc
      .array(fc.tuple(mostly, slips, cuts), { minLength: 1, maxLength: 3 })
      .map((messages) =>
        messages.flatMap(([text, [slip], places]) => {
          const [at = 0, by = text.slice(0, 1)] = slip ?? [];
          return cut(text.slice(0, at) + by + text.slice(at + 1), places);
        }),
      );
    const refusal = 'HTTP/1.1 400 ';
    const before = plain;
    await fc.assert(
      fc.asyncProperty(sent, async (pieces) => {
        const [one, other] = await Promise.all([answers(alone, pieces), answers(helped, pieces)]);
        if (!one.includes(refusal) && !other.includes(refusal)) {
          expect(other).toBe(one);
          return;
        }
        // Rubbish behind a request in one piece: Node answers the request before it refuses the
        // rubbish, or refuses at once, depending on how it is given the piece; and what it said last
        // may be lost with the connection.
        const [longer = [], shorter = []] = [one, other]
          .map((heard) => heard.split(/(?=HTTP\/1\.1 \d{3} )/))
          .map((all) => all.filter((answer) => answer !== '' && !answer.startsWith(refusal)))
          .toSorted((left, right) => right.length - left.length);
        expect(longer.slice(0, shorter.length)).toEqual(shorter);
      }),
      { numRuns: 400 },
    );
    expect(plain).toBeGreaterThan(before);
  });
});

function cut(text: string, places: readonly number[]): readonly string[] {
  const ends = [...places, text.length].toSorted((one, other) => one - other);
  return ends.map((end, index) => text.slice(ends[index - 1] ?? 0, end));
}
