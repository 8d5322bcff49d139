import type { Socket, SocketConstructorOpts } from 'node:net';
import { boundHeader, type ContentBounds } from './content-header.ts';

const frameTypes = { method: 1, header: 2, body: 3, heartbeat: 8 } as const;
/** Type, channel and size before the payload of a frame. */
const startBytes = 7;

/**
 * Bounds the messages that a broker delivers, before the client library decodes them: it has no
 * bounds of its own, and one header that nests too deep costs it the connection, again and again.
 *
 * Takes the bytes of one connection in any pieces and gives whole frames. Content headers are
 * rewritten by `boundHeader`; body frames of refused messages are dropped; all else is passed on.
 */
export class ContentGuard {
  readonly #bounds: ContentBounds;
  /** The beginning of a frame whose rest has not come. */
  #rest: Buffer = Buffer.alloc(0);
  /** Bytes of body still to drop, by channel. */
  readonly #dropping = new Map<number, number>();
  /** The broker does not speak AMQP 0-9-1: the client library says so. */
  #isForeign = false;

  constructor(bounds: ContentBounds) {
    this.#bounds = bounds;
  }

  /** Copies what it keeps and what it returns: the caller may use `chunk` again. */
  take(chunk: Uint8Array): readonly Buffer[] {
    const bytes = Buffer.concat([this.#rest, chunk]);
    if (this.#isForeign) return [bytes];
    const taken: Buffer[] = [];
    /** Frames from here on go out as they are, in one piece. */
    let start = 0;
    let offset = 0;
    while (offset + startBytes <= bytes.length) {
      const type = bytes.readUInt8(offset);
      if (!isFrameType(type)) {
        this.#isForeign = true;
        offset = bytes.length;
        break;
      }
      const end = offset + startBytes + bytes.readUInt32BE(offset + 3) + 1;
      if (end > bytes.length) break;
      const replaced = this.#replace(type, bytes.subarray(offset, end));
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

  /** What goes out in place of a frame; undefined for the frame as it is. */
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
 * Options for `net.connect` and `tls.connect` that put a guard of its own between each socket and
 * its reader. Node calls `callback` on the socket; what it pushes is what the socket's reader gets.
 */
export function guardedReads(bounds: ContentBounds): Pick<SocketConstructorOpts, 'onread'> {
  const guards = new WeakMap<Socket, ContentGuard>();
  return {
    onread: {
      buffer: Buffer.allocUnsafeSlow(64 * 1024),
      callback(this: Socket, length: number, buffer: Uint8Array): boolean {
        let guard = guards.get(this);
        if (guard === undefined) {
          guard = new ContentGuard(bounds);
          guards.set(this, guard);
        }
        let wantsMore = true;
        for (const piece of guard.take(buffer.subarray(0, length))) wantsMore = this.push(piece);
        return wantsMore;
      },
    },
  };
}
