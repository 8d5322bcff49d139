import { LegateError } from './errors.ts';

/** One event of a stream. */
export interface SseEvent {
  /** The last id of the stream, from this event or an earlier one. Empty if there was none. */
  readonly id: string;
  /** @default 'message' */
  readonly event: string;
  readonly data: string;
}

/** Limits of a stream. */
export interface SseParserOptions {
  /** Bytes of one event, with its field names and comments in between. @default 4 MiB */
  readonly maxEventBytes?: number;
  /** Called with `retry:` fields, in milliseconds. */
  readonly onRetry?: (milliseconds: number) => void;
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const noBytes = new Uint8Array();

/**
 * An incremental parser of server-sent events. It parses bytes, not text, so that its limit is exact and
 * a chunk can end inside a character.
 *
 * Between two calls it buffers the bytes of an unfinished line and the fields of an unfinished event,
 * `maxEventBytes` in total. An event beyond the limit throws `PEER_INVALID`; the parser cannot be used
 * afterwards. An event that is unfinished when the stream ends is dropped, as the format requires.
 *
 * @example
 * const parser = new SseParser();
 * for await (const chunk of response.body) for (const event of parser.push(chunk)) handle(event);
 */
export class SseParser {
  readonly #maxEventBytes: number;
  readonly #onRetry: ((milliseconds: number) => void) | undefined;
  /** Drops a byte order mark, which only the first line can have. */
  #decoder = new TextDecoder('utf-8', { ignoreBOM: false });
  #isFirstLine = true;
  /** The bytes of a line whose end has not arrived yet; the capacity doubles. */
  #line = noBytes;
  #lineBytes = 0;
  /** Bytes of the current event in finished lines. */
  #eventBytes = 0;
  /** The last byte was a carriage return: a line feed after it belongs to the same line end. */
  #skipLineFeed = false;
  #data: string[] = [];
  #event = '';
  #lastId = '';

  constructor(options: SseParserOptions = {}) {
    this.#maxEventBytes = options.maxEventBytes ?? 4 * 1024 * 1024;
    this.#onRetry = options.onRetry;
  }

  /** The id to resume the stream from. */
  get lastEventId(): string {
    return this.#lastId;
  }

  /** Parses the next bytes; returns the events that they complete. */
  push(chunk: Uint8Array): readonly SseEvent[] {
    const events: SseEvent[] = [];
    // The next line feed and carriage return, searched again only when passed: each chunk is scanned
    // once.
    let feed = -1;
    let carriage = -1;
    let start = 0;
    while (start < chunk.length) {
      if (this.#skipLineFeed) {
        this.#skipLineFeed = false;
        if (chunk[start] === lineFeed) {
          start += 1;
          continue;
        }
      }
      if (feed < start) feed = indexOf(chunk, lineFeed, start);
      if (carriage < start) carriage = indexOf(chunk, carriageReturn, start);
      const end = Math.min(feed, carriage);
      if (end === Infinity) {
        this.#keep(chunk.subarray(start));
        break;
      }
      const event = this.#field(this.#take(chunk.subarray(start, end)));
      if (event !== undefined) events.push(event);
      this.#skipLineFeed = end === carriage;
      start = end + 1;
    }
    return events;
  }

  /** Appends a copy, because the sender can reuse the memory of the chunk. */
  #keep(piece: Uint8Array): void {
    this.#check(piece.length);
    const size = this.#lineBytes + piece.length;
    if (size > this.#line.length) {
      const grown = new Uint8Array(
        Math.max(size, Math.min(2 * this.#line.length, this.#maxEventBytes)),
      );
      grown.set(this.#line.subarray(0, this.#lineBytes));
      this.#line = grown;
    }
    this.#line.set(piece, this.#lineBytes);
    this.#lineBytes = size;
  }

  #check(more: number): void {
    if (this.#eventBytes + this.#lineBytes + more <= this.#maxEventBytes) return;
    const limit = this.#maxEventBytes;
    throw new LegateError('PEER_INVALID', `an event of the stream is larger than ${limit} bytes`);
  }

  /** Decodes the line that ends with these bytes. */
  #take(last: Uint8Array): string {
    let bytes = last;
    if (this.#lineBytes === 0) this.#check(last.length);
    else {
      this.#keep(last);
      bytes = this.#line.subarray(0, this.#lineBytes);
      this.#line = noBytes;
      this.#lineBytes = 0;
    }
    this.#eventBytes += bytes.length;
    const text = this.#decoder.decode(bytes);
    if (this.#isFirstLine) {
      this.#isFirstLine = false;
      this.#decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    }
    return text;
  }

  #field(line: string): SseEvent | undefined {
    if (line === '') return this.#dispatch();
    const colon = line.indexOf(':');
    if (colon === 0) return undefined;
    const field = colon === -1 ? line : line.slice(0, colon);
    let value = colon === -1 ? '' : line.slice(colon + 1);
    if (value.startsWith(' ')) value = value.slice(1);
    switch (field) {
      case 'data':
        this.#data.push(value);
        break;
      case 'event':
        this.#event = value;
        break;
      case 'id':
        if (!value.includes('\0')) this.#lastId = value;
        break;
      case 'retry':
        if (/^\d{1,9}$/.test(value)) this.#onRetry?.(Number(value));
        break;
      default:
    }
    return undefined;
  }

  #dispatch(): SseEvent | undefined {
    const data = this.#data;
    const event = this.#event === '' ? 'message' : this.#event;
    this.#data = [];
    this.#event = '';
    this.#eventBytes = 0;
    if (data.length === 0) return undefined;
    return { id: this.#lastId, event, data: data.length === 1 ? (data[0] ?? '') : data.join('\n') };
  }
}

function indexOf(chunk: Uint8Array, byte: number, start: number): number {
  const index = chunk.indexOf(byte, start);
  return index === -1 ? Infinity : index;
}
