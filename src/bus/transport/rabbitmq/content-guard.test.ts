import { connect as connectTcp, createServer, type Server, type Socket } from 'node:net';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';
import * as fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { makeCertificate } from '../../../../test/certificate.ts';
import {
  nestedField,
  type RawProperties,
  rawProperties,
  textField,
} from '../../../../test/support/raw-amqp.ts';
import { ContentGuard, guardedReads } from './content-guard.ts';

function frame(type: number, channel: number, payload: Buffer): Buffer {
  const start = Buffer.alloc(7);
  start.writeUInt8(type, 0);
  start.writeUInt16BE(channel, 1);
  start.writeUInt32BE(payload.length, 3);
  return Buffer.concat([start, payload, Buffer.of(0xce)]);
}

function header(channel: number, bodySize: number, properties: RawProperties): Buffer {
  const fixed = Buffer.alloc(12);
  fixed.writeUInt16BE(60, 0);
  fixed.writeBigUInt64BE(BigInt(bodySize), 4);
  return frame(2, channel, Buffer.concat([fixed, rawProperties(properties)]));
}

const method = (channel: number): Buffer => frame(1, channel, Buffer.from('deliver'));
const body = (channel: number, text: string): Buffer => frame(3, channel, Buffer.from(text));
const heartbeat = frame(8, 0, Buffer.alloc(0));
const refused = (reason: string): readonly Buffer[] => [textField('legate-refused', reason)];

function guarded(bytes: Buffer, cuts: readonly number[] = []): Buffer {
  const guard = new ContentGuard({ maxBodyBytes: 10 });
  const places = [...cuts.map((cut) => cut % bytes.length), bytes.length].toSorted((a, b) => a - b);
  let start = 0;
  const taken: Buffer[] = [];
  for (const place of places) {
    taken.push(...guard.take(bytes.subarray(start, place)));
    start = place;
  }
  return Buffer.concat(taken);
}

describe('the guard of a connection', () => {
  const ids = { messageId: 'm', correlationId: 'c', replyTo: 'r', type: 'task' };

  test('content type and encoding are removed, and all else stays', () => {
    const properties = { ...ids, headers: [textField('a', 'b')] };
    const json = { ...properties, contentType: 'application/json' };
    const came = [method(1), header(1, 3, json), body(1, '"x"'), heartbeat];
    const goes = [method(1), header(1, 3, properties), body(1, '"x"'), heartbeat];
    expect(guarded(Buffer.concat(came))).toEqual(Buffer.concat(goes));
  });

  test('a body that is too large is not passed on; those of other channels are', () => {
    const came = [
      header(1, 12, ids),
      body(1, 'too '),
      header(2, 2, ids),
      body(2, 'ok'),
      body(1, 'large...'),
      header(1, 2, ids),
      body(1, 'ok'),
    ];
    const reason = 'the body of 12 bytes is larger than 10 (maxBodyBytes)';
    const goes = [
      header(1, 0, {
        ...ids,
        headers: [...refused(reason), textField('legate-rejectable', 'yes')],
      }),
      header(2, 2, ids),
      body(2, 'ok'),
      header(1, 2, ids),
      body(1, 'ok'),
    ];
    expect(guarded(Buffer.concat(came))).toEqual(Buffer.concat(goes));
  });

  test('headers that nest too deep, or cannot be decoded, are not passed on', () => {
    const tests = [
      [nestedField('deep', 9), 'headers nest deeper than 8'],
      [Buffer.from('\x01aZ'), 'unknown type of header: Z'],
      [Buffer.from('\x01aS\0\0\0\xff'), 'the headers cannot be decoded'],
      [Buffer.from('\x01a'), 'the headers cannot be decoded'],
    ] as const;
    for (const [bytes, reason] of tests) {
      const came = Buffer.concat([header(1, 2, { ...ids, headers: [bytes] }), body(1, 'ok')]);
      expect(guarded(came)).toEqual(header(1, 0, { ...ids, headers: refused(reason) }));
    }
  });

  test('whatever pieces the bytes come in, the same frames go out', () => {
    const came = Buffer.concat([
      method(1),
      header(1, 20, { ...ids, contentType: 'application/json' }),
      body(1, 'x'.repeat(20)),
      heartbeat,
      method(2),
      header(2, 2, { headers: [textField('a', 'b')], contentType: 'text/plain' }),
      body(2, 'ok'),
    ]);
    const whole = guarded(came);
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 20 }), (cuts) => {
        expect(guarded(came, cuts)).toEqual(whole);
      }),
    );
  });

  test('whatever a header holds, it is bounded without an error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        const after = guarded(Buffer.concat([frame(2, 1, Buffer.from(bytes)), heartbeat]));
        expect(after.subarray(-heartbeat.length)).toEqual(heartbeat);
      }),
    );
  });

  test('bytes that are not AMQP are not passed on', () => {
    const guard = new ContentGuard({ maxBodyBytes: 10 });
    expect(guard.take(Buffer.concat([method(1), Buffer.from('HTTP/1.1 400')]))).toEqual([
      method(1),
    ]);
    expect(guard.isForeign).toBe(true);
    expect(guard.take(method(1))).toEqual([]);
  });
});

describe('a guarded socket', () => {
  const servers: Server[] = [];
  afterEach(async () => {
    for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
  });

  const sent = Buffer.concat([header(1, 3, { contentType: 'text/plain' }), body(1, '"x"')]);
  const expected = Buffer.concat([header(1, 3, {}), body(1, '"x"')]);

  async function portOf(server: Server): Promise<number> {
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  async function readAll(socket: Socket): Promise<Buffer> {
    const pieces: Buffer[] = [];
    for await (const piece of socket) pieces.push(piece as Buffer);
    return Buffer.concat(pieces);
  }

  test('reads bounded frames over TCP, each connection by itself', async () => {
    const port = await portOf(createServer((socket) => void socket.end(sent)));
    const options = { port, host: '127.0.0.1', ...guardedReads({ maxBodyBytes: 10 }) };
    expect(await readAll(connectTcp(options))).toEqual(expected);
    expect(await readAll(connectTcp(options))).toEqual(expected);
  });

  test('reads bounded frames over TLS', async () => {
    const { key, certificate } = makeCertificate({ commonName: 'broker', isAuthority: true });
    const server = createTlsServer({ key, cert: certificate }, (socket) => void socket.end(sent));
    const port = await portOf(server);
    const socket = connectTls({
      port,
      host: '127.0.0.1',
      ca: certificate,
      checkServerIdentity: () => undefined,
      ...guardedReads({ maxBodyBytes: 10 }),
    });
    expect(await readAll(socket)).toEqual(expected);
  });
});
