/**
 * Publishes to RabbitMQ what client libraries refuse to encode: any bytes as properties, headers that
 * nest without end, bodies of any kind. Knows no more of AMQP 0-9-1 than that takes.
 */
import { connect, type Socket } from 'node:net';

const methods = {
  start: 0x000a_000a,
  startOk: 0x000a_000b,
  tune: 0x000a_001e,
  tuneOk: 0x000a_001f,
  open: 0x000a_0028,
  openOk: 0x000a_0029,
  close: 0x000a_0032,
  closeOk: 0x000a_0033,
  channelOpen: 0x0014_000a,
  channelOpenOk: 0x0014_000b,
  channelClose: 0x0014_0028,
  publish: 0x003c_0028,
  ack: 0x003c_0050,
  nack: 0x003c_0078,
  confirmSelect: 0x0055_000a,
  confirmSelectOk: 0x0055_000b,
} as const;

const frameMax = 131_072;

export interface RawMessage {
  readonly exchange?: string;
  readonly routingKey: string;
  /** Property flags and properties, as they go over the wire. */
  readonly properties: Buffer;
  readonly body: Buffer;
}

/** One connection with one channel that confirms. */
export class RawPublisher implements AsyncDisposable {
  readonly #socket: Socket;
  readonly #waiting = new Map<number, { resolve: () => void; reject: (error: Error) => void }>();
  #expected: { method: number; resolve: () => void; reject: (error: Error) => void } | undefined;
  #received: Buffer = Buffer.alloc(0);
  #published = 0;
  #error: Error | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error('the broker closed the connection')));
  }

  static async open(url: string): Promise<RawPublisher> {
    const { hostname, port, username, password } = new URL(url);
    const socket = connect(Number(port === '' ? '5672' : port), hostname);
    const publisher = new RawPublisher(socket);
    const started = publisher.#expect(methods.start);
    socket.write(Buffer.from('AMQP\0\0\x09\x01', 'latin1'));
    await started;
    const tuned = publisher.#expect(methods.tune);
    publisher.#call(0, methods.startOk, [
      table([]),
      shortText('PLAIN'),
      longText(`\0${username}\0${password}`),
      shortText('en_US'),
    ]);
    await tuned;
    publisher.#call(0, methods.tuneOk, [uint16(1), uint32(frameMax), uint16(0)]);
    const opened = publisher.#expect(methods.openOk);
    publisher.#call(0, methods.open, [shortText('/'), shortText(''), Buffer.of(0)]);
    await opened;
    const channel = publisher.#expect(methods.channelOpenOk);
    publisher.#call(1, methods.channelOpen, [shortText('')]);
    await channel;
    const confirming = publisher.#expect(methods.confirmSelectOk);
    publisher.#call(1, methods.confirmSelect, [Buffer.of(0)]);
    await confirming;
    return publisher;
  }

  /** Resolves once the broker has confirmed or refused it; rejects when it ended the connection. */
  publish({ exchange = 'legate', routingKey, properties, body }: RawMessage): Promise<void> {
    if (this.#error !== undefined) return Promise.reject(this.#error);
    this.#published += 1;
    const size = Buffer.alloc(8);
    size.writeBigUInt64BE(BigInt(body.length));
    const frames = [
      methodFrame(1, methods.publish, [
        uint16(0),
        shortText(exchange),
        shortText(routingKey),
        Buffer.of(0),
      ]),
      frame(2, 1, Buffer.concat([uint16(60), uint16(0), size, properties])),
    ];
    for (let offset = 0; offset < body.length; offset += frameMax - 8) {
      frames.push(frame(3, 1, body.subarray(offset, offset + frameMax - 8)));
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.set(this.#published, { resolve, reject });
    this.#socket.write(Buffer.concat(frames));
    return promise;
  }

  /** The broker ended the connection, or refused something: open another. */
  get isBroken(): boolean {
    return this.#error !== undefined;
  }

  async close(): Promise<void> {
    if (this.#error === undefined) {
      const closed = this.#expect(methods.closeOk);
      const nothing = [uint16(200), shortText(''), uint16(0), uint16(0)];
      this.#call(0, methods.close, nothing);
      await closed;
    }
    this.#socket.destroy();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #call(channel: number, method: number, fields: readonly Buffer[]): void {
    this.#socket.write(methodFrame(channel, method, fields));
  }

  #expect(method: number): Promise<void> {
    if (this.#error !== undefined) return Promise.reject(this.#error);
    return new Promise((resolve, reject) => {
      this.#expected = { method, resolve, reject };
    });
  }

  #read(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk]);
    while (this.#received.length >= 7) {
      const end = 8 + this.#received.readUInt32BE(3);
      if (this.#received.length < end) return;
      const isMethod = this.#received.readUInt8(0) === 1;
      const payload = this.#received.subarray(7, end - 1);
      this.#received = this.#received.subarray(end);
      if (isMethod) this.#method(payload.readUInt32BE(0), payload.subarray(4));
    }
  }

  #method(method: number, fields: Buffer): void {
    if (method === methods.ack || method === methods.nack) {
      const tag = Number(fields.readBigUInt64BE(0));
      const isMultiple = (fields.readUInt8(8) & 1) === 1;
      for (const [number, { resolve }] of this.#waiting) {
        if (number !== tag && !(isMultiple && number < tag)) continue;
        this.#waiting.delete(number);
        resolve();
      }
    } else if (method === methods.channelClose || method === methods.close) {
      const reason = fields.subarray(3, 3 + fields.readUInt8(2)).toString();
      this.#fail(new Error(`the broker refused it: ${reason}`));
      this.#socket.destroy();
    } else if (method === this.#expected?.method) {
      this.#expected.resolve();
    }
  }

  #fail(error: Error): void {
    this.#error ??= error;
    for (const { reject } of this.#waiting.values()) reject(this.#error);
    this.#waiting.clear();
    this.#expected?.reject(this.#error);
  }
}

export interface RawProperties {
  readonly contentType?: Buffer | string;
  readonly contentEncoding?: Buffer | string;
  /** The fields of the table, encoded: see `field`. */
  readonly headers?: readonly Buffer[];
  readonly correlationId?: Buffer | string;
  readonly replyTo?: Buffer | string;
  readonly messageId?: Buffer | string;
  readonly type?: Buffer | string;
}

/** Property flags and properties. */
export function rawProperties(given: RawProperties): Buffer {
  const { contentType, contentEncoding, headers, correlationId, replyTo, messageId, type } = given;
  const all: readonly (readonly [number, Buffer | undefined])[] = [
    [0x8000, optional(contentType)],
    [0x4000, optional(contentEncoding)],
    [0x2000, headers === undefined ? undefined : table(headers)],
    [0x0400, optional(correlationId)],
    [0x0200, optional(replyTo)],
    [0x0080, optional(messageId)],
    [0x0020, optional(type)],
  ];
  const set = all.filter(([, bytes]) => bytes !== undefined);
  const flags = set.reduce((sum, [flag]) => sum | flag, 0);
  return Buffer.concat([uint16(flags), ...set.flatMap(([, bytes]) => bytes ?? [])]);
}

/** A field of a table: its name, the code of its type, and its value. */
export function field(name: Buffer | string, type: string, value: Buffer): Buffer {
  return Buffer.concat([shortText(name), Buffer.from(type, 'latin1'), value]);
}

export function textField(name: Buffer | string, value: Buffer | string): Buffer {
  return field(name, 'S', longText(value));
}

/** A header of arrays in arrays. */
export function nestedField(name: string, depth: number): Buffer {
  // Written from the outside: each array holds its length, and then the next one.
  const bytes = Buffer.alloc(depth * 5);
  for (let level = 0; level < depth; level += 1) {
    bytes.write('A', level * 5, 'latin1');
    bytes.writeUInt32BE((depth - level - 1) * 5, level * 5 + 1);
  }
  return Buffer.concat([shortText(name), bytes]);
}

export function longText(text: Buffer | string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([uint32(bytes.length), bytes]);
}

export function shortText(text: Buffer | string): Buffer {
  const bytes = Buffer.from(text).subarray(0, 255);
  return Buffer.concat([Buffer.of(bytes.length), bytes]);
}

function optional(text: Buffer | string | undefined): Buffer | undefined {
  return text === undefined ? undefined : shortText(text);
}

function table(fields: readonly Buffer[]): Buffer {
  const bytes = Buffer.concat(fields);
  return Buffer.concat([uint32(bytes.length), bytes]);
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function methodFrame(channel: number, method: number, fields: readonly Buffer[]): Buffer {
  return frame(1, channel, Buffer.concat([uint32(method), ...fields]));
}

function frame(type: number, channel: number, payload: Buffer): Buffer {
  const start = [Buffer.of(type), uint16(channel), uint32(payload.length)];
  return Buffer.concat([...start, payload, Buffer.of(0xce)]);
}
