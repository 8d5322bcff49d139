import type { Socket, SocketConstructorOpts } from 'node:net';
import { answerExternally, readServerProperties, type ServerProperties } from './handshake.ts';
import { refusedHeader, rejectableHeader } from './wire.ts';

const frameTypes = { method: 1, header: 2, body: 3, heartbeat: 8 } as const;
/** Type, channel and size before the payload of a frame. */
const startBytes = 7;

/**
 * Bounds the messages that a broker delivers, before the client library decodes them. The library has no
 * bounds of its own: a header nested too deeply would break its connection with each redelivery.
 *
 * Accepts the bytes of one connection in chunks of any size and returns whole frames. Content headers are
 * rewritten by `boundHeader`; body frames of refused messages are dropped; other frames stay unchanged.
 */
export class ContentGuard {
  readonly #bounds: ContentBounds;
  /** The start of an incomplete frame. */
  #rest: Buffer = Buffer.alloc(0);
  /** Bytes of body still to drop, by channel. */
  readonly #dropping = new Map<number, number>();
  /** The server doesn't speak AMQP 0-9-1: its bytes must not reach the client library. */
  #isForeign = false;

  #onServer: Handshake['onServer'];

  constructor(bounds: ContentBounds, onServer?: Handshake['onServer']) {
    this.#bounds = bounds;
    this.#onServer = onServer;
  }

  get isForeign(): boolean {
    return this.#isForeign;
  }

  /** Copies the bytes that it keeps or returns: the caller can reuse `chunk`. */
  take(chunk: Uint8Array): readonly Buffer[] {
    const bytes = Buffer.concat([this.#rest, chunk]);
    if (this.#isForeign) return [];
    const taken: Buffer[] = [];
    /** Frames from here on are passed on unchanged, in one piece. */
    let start = 0;
    let offset = 0;
    while (offset + startBytes <= bytes.length) {
      const type = bytes.readUInt8(offset);
      if (!isFrameType(type)) {
        this.#isForeign = true;
        break;
      }
      const end = offset + startBytes + bytes.readUInt32BE(offset + 3) + 1;
      if (end > bytes.length) break;
      const frame = bytes.subarray(offset, end);
      this.#noteServer(frame);
      const replaced = this.#replace(type, frame);
      if (replaced !== undefined) {
        taken.push(bytes.subarray(start, offset), replaced);
        start = end;
      }
      offset = end;
    }
    taken.push(bytes.subarray(start, offset));
    this.#rest = bytes.subarray(offset);
    return taken.filter(({ length }) => length > 0);
  }

  /** The first frame is the server's greeting. */
  #noteServer(frame: Buffer): void {
    if (this.#onServer === undefined) return;
    const properties = readServerProperties(frame);
    if (properties !== undefined) this.#onServer(properties);
    this.#onServer = undefined;
  }

  /** The replacement of a frame; undefined to pass the frame on. */
  #replace(type: number, frame: Buffer): Buffer | undefined {
    const channel = frame.readUInt16BE(1);
    if (type === frameTypes.header) {
      const { payload, skippedBytes } = boundHeader(frame.subarray(startBytes, -1), this.#bounds);
      if (skippedBytes > 0) this.#dropping.set(channel, skippedBytes);
      else this.#dropping.delete(channel);
      const start = Buffer.from(frame.subarray(0, startBytes));
      start.writeUInt32BE(payload.length, 3);
      return Buffer.concat([start, payload, frame.subarray(-1)]);
    }
    const left = this.#dropping.get(channel);
    if (type !== frameTypes.body || left === undefined) return undefined;
    const after = left - (frame.length - startBytes - 1);
    if (after > 0) this.#dropping.set(channel, after);
    else this.#dropping.delete(channel);
    return Buffer.alloc(0);
  }
}

function isFrameType(type: number): boolean {
  return Object.values<number>(frameTypes).includes(type);
}

/**
 * Options for `net.connect` and `tls.connect` that put a separate guard between each socket and its
 * reader. Node calls `callback` with the socket as `this`; the reader gets the chunks that it pushes.
 */
export function guardedReads(
  bounds: ContentBounds,
  handshake: Handshake = {},
): Pick<SocketConstructorOpts, 'onread'> {
  const guards = new WeakMap<Socket, ContentGuard>();
  return {
    onread: {
      buffer: Buffer.allocUnsafeSlow(64 * 1024),
      callback(this: Socket, length: number, buffer: Uint8Array): boolean {
        let guard = guards.get(this);
        if (guard === undefined) {
          guard = new ContentGuard(bounds, handshake.onServer);
          guards.set(this, guard);
          // The server sends the first frame, so the client has not sent its authentication yet.
          if (handshake.isExternal === true) answerExternally(this);
        }
        let wantsMore = true;
        for (const piece of guard.take(buffer.subarray(0, length))) wantsMore = this.push(piece);
        // The library would read the bytes as the size of a frame, and throw outside of any promise.
        if (guard.isForeign) this.destroy(new Error('the server does not speak AMQP 0-9-1'));
        return wantsMore;
      },
    },
  };
}

/** Further handling of the first frames of a connection. */
interface Handshake {
  /** Authenticates by the certificate. @default false */
  readonly isExternal?: boolean;
  readonly onServer?: ((properties: ServerProperties) => void) | undefined;
}

interface ContentBounds {
  /** The largest body, in bytes. */
  readonly maxBodyBytes: number;
}

/**
 * The content header frame of AMQP 0-9-1, which precedes the body of each message: class id (2
 * bytes), weight (2), body size (8), property flags (2), then the properties whose flags are set.
 */
interface BoundedHeader {
  /** The payload to decode instead of the received one. */
  readonly payload: Buffer;
  /** How many bytes of body follow and must not be read. */
  readonly skippedBytes: number;
}

const flags = { contentType: 0x8000, contentEncoding: 0x4000, headers: 0x2000 } as const;
/** Flags of the properties that come after the headers; the lowest bits would announce more flags. */
const laterFlags = 0x1ffc;
const fixedBytes = 14;
/** More than senders may use (see `wire.ts`), since brokers add entries of their own. */
const maxTableBytes = 32 * 1024;
/** The broker's own `x-death` has three levels. */
const maxTableDepth = 8;

/**
 * The header within bounds, with two changes:
 *
 * - Content type and encoding are removed: with them the client library would parse the body as JSON
 *   before any bound of ours applies. Nothing else reads them.
 * - A message that exceeds a bound loses its headers and its body, and gains `refusedHeader` with the
 *   reason, and `rejectableHeader` where the broker can move the original.
 */
function boundHeader(payload: Buffer, { maxBodyBytes }: ContentBounds): BoundedHeader {
  // Not an AMQP header: the client library closes the connection.
  if (payload.length < fixedBytes) return { payload, skippedBytes: 0 };
  const bodySize = Number(payload.readBigUInt64BE(4));
  try {
    const { table, later } = readProperties(payload);
    if (bodySize <= maxBodyBytes) {
      return { payload: build(payload, bodySize, table, later), skippedBytes: 0 };
    }
    const reason = `the body of ${bodySize} bytes is larger than ${maxBodyBytes} (maxBodyBytes)`;
    const isRejectable = table?.includes('x-death') !== true;
    const headers = fields({
      [refusedHeader]: reason,
      ...(isRejectable && { [rejectableHeader]: 'yes' }),
    });
    return { payload: build(payload, 0, headers, later), skippedBytes: bodySize };
  } catch (error) {
    const reason = error instanceof Unreadable ? error.message : 'the headers cannot be decoded';
    const later = laterOf(payload);
    const headers = fields({ [refusedHeader]: reason });
    return { payload: build(payload, 0, headers, later), skippedBytes: bodySize };
  }
}

/** The headers exceed a bound. */
class Unreadable extends Error {}

/** Properties after the headers, with their flags. */
interface Later {
  readonly flags: number;
  readonly bytes: Buffer;
}

const noLaterProperties: Later = { flags: 0, bytes: Buffer.alloc(0) };

function readProperties(payload: Buffer): { table: Buffer | undefined; later: Later } {
  const set = payload.readUInt16BE(12);
  const { tableStart, end } = tableRange(payload);
  const later = { flags: set & laterFlags, bytes: payload.subarray(end) };
  if (tableStart === end) return { table: undefined, later };
  const table = payload.subarray(tableStart, end);
  if (table.length - 4 > maxTableBytes) {
    throw new Unreadable(`headers of ${table.length - 4} bytes: at most ${maxTableBytes}`);
  }
  checkFields(table, 4, table.length, { isTable: true, depth: 1 });
  return { table, later };
}

/** The position of the header table; an empty range where there is none. */
function tableRange(payload: Buffer): { tableStart: number; end: number } {
  const set = payload.readUInt16BE(12);
  let offset = fixedBytes;
  if ((set & flags.contentType) !== 0) offset += 1 + payload.readUInt8(offset);
  if ((set & flags.contentEncoding) !== 0) offset += 1 + payload.readUInt8(offset);
  const length = (set & flags.headers) === 0 ? 0 : 4 + payload.readUInt32BE(offset);
  if (offset + length > payload.length) throw new RangeError('the table exceeds its frame');
  return { tableStart: offset, end: offset + length };
}

/** The ids of a refused message are kept, so that its sender can be notified. */
function laterOf(payload: Buffer): Later {
  try {
    const { end } = tableRange(payload);
    return { flags: payload.readUInt16BE(12) & laterFlags, bytes: payload.subarray(end) };
  } catch {
    return noLaterProperties;
  }
}

/** The sizes of values of fixed size, by the type codes that the client library can decode. */
const sizes: Readonly<Record<string, number>> = {
  t: 1,
  b: 1,
  B: 1,
  s: 2,
  u: 2,
  I: 4,
  i: 4,
  f: 4,
  D: 5,
  l: 8,
  d: 8,
  T: 8,
  V: 0,
};

/** Throws unless everything from `start` to `end` can be decoded, and does not nest too deep. */
function checkFields(
  bytes: Buffer,
  start: number,
  end: number,
  { isTable, depth }: { readonly isTable: boolean; readonly depth: number },
): void {
  if (depth > maxTableDepth) throw new Unreadable(`headers nest deeper than ${maxTableDepth}`);
  let offset = start;
  while (offset < end) {
    if (isTable) offset += 1 + bytes.readUInt8(offset);
    const type = String.fromCharCode(bytes.readUInt8(offset));
    offset += 1;
    const size = sizes[type];
    if (size !== undefined) {
      offset += size;
      continue;
    }
    if (!'SxAF'.includes(type)) throw new Unreadable(`unknown type of header: ${type}`);
    const length = bytes.readUInt32BE(offset);
    offset += 4;
    if (offset + length > end) throw new RangeError('a header exceeds its table');
    if (type === 'A' || type === 'F') {
      checkFields(bytes, offset, offset + length, { isTable: type === 'F', depth: depth + 1 });
    }
    offset += length;
  }
  if (offset !== end) throw new RangeError('a header exceeds its table');
}

function build(
  original: Buffer,
  bodySize: number,
  table: Buffer | undefined,
  later: Later,
): Buffer {
  const fixed = Buffer.from(original.subarray(0, fixedBytes));
  fixed.writeBigUInt64BE(BigInt(bodySize), 4);
  fixed.writeUInt16BE(later.flags | (table === undefined ? 0 : flags.headers), 12);
  return Buffer.concat(table === undefined ? [fixed, later.bytes] : [fixed, table, later.bytes]);
}

/** A table of texts. */
function fields(texts: Readonly<Record<string, string>>): Buffer {
  const parts = Object.entries(texts).map(([name, text]) => {
    const bytes = Buffer.from(text);
    const start = Buffer.alloc(name.length + 6);
    let offset = start.writeUInt8(name.length, 0);
    offset += start.write(name, offset, 'latin1');
    offset += start.write('S', offset, 'latin1');
    start.writeUInt32BE(bytes.length, offset);
    return Buffer.concat([start, bytes]);
  });
  const length = Buffer.alloc(4);
  length.writeUInt32BE(parts.reduce((sum, part) => sum + part.length, 0));
  return Buffer.concat([length, ...parts]);
}
