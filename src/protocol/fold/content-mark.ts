import { isJsonObject } from '../json.ts';
import type { JsonValue, Part } from '../model.ts';
import { isPlainText } from './parts.ts';

/** Units that no text contains: they enclose every part that is not plain text. */
const partStart = 0x1_0000;
const partEnd = 0x1_0001;
/** Separates the units of other parts from those of texts. */
const otherPart = 0x2_0000;

const format = /^(\d{1,15})\.([0-9a-f]{1,8})\.([0-9a-f]{1,8})$/;

/**
 * Marks a position in the content of an artifact: the length of the content before it, and a running hash
 * of that content. Two marks are equal if the content is the same, however it was split into parts:
 * streamed chunks of a text and the joined text compare equal. Not for security: a peer that finds a
 * collision only hides its own artifact.
 * @example
 * const sent = ContentMark.of([{ text: 'Hel' }, { text: 'lo' }]);
 * sent.rest([{ text: 'Hello, world' }]); // [{ text: ', world' }]
 */
export class ContentMark {
  /** UTF-16 code units of text, and of the JSON of other parts. */
  #length: number;
  #one: number;
  #other: number;

  private constructor(length: number, one: number, other: number) {
    this.#length = length;
    this.#one = one;
    this.#other = other;
  }

  static of(parts: readonly Part[]): ContentMark {
    const mark = new ContentMark(0, 0x6c62_272e, 0x07bb_0142);
    mark.add(parts);
    return mark;
  }

  /** Reads the output of `toString`; undefined for other texts. */
  static parse(text: string): ContentMark | undefined {
    const [, length, one = '', other = ''] = format.exec(text) ?? [];
    if (length === undefined) return undefined;
    return new ContentMark(Number(length), Number.parseInt(one, 16), Number.parseInt(other, 16));
  }

  toString(): string {
    return `${this.#length}.${this.#one.toString(16)}.${this.#other.toString(16)}`;
  }

  /** Moves the mark past these parts, which follow the marked content. */
  add(parts: readonly Part[]): void {
    for (const part of parts) {
      if (isPlainText(part)) this.#addText(part.text, saltOf(part.mediaType));
      else this.#addOther(part);
    }
  }

  /** The parts after the mark; undefined if the content before it differs from the marked content. */
  rest(parts: readonly Part[]): readonly Part[] | undefined {
    const seen = ContentMark.of([]);
    for (const [index, part] of parts.entries()) {
      const left = this.#length - seen.#length;
      if (left <= 0) return this.#equals(seen) ? parts.slice(index) : undefined;
      if (!isPlainText(part)) {
        seen.#addOther(part);
        continue;
      }
      seen.#addText(part.text.slice(0, left), saltOf(part.mediaType));
      if (part.text.length <= left) continue;
      if (!this.#equals(seen)) return undefined;
      return [{ ...part, text: part.text.slice(left) }, ...parts.slice(index + 1)];
    }
    return this.#equals(seen) ? [] : undefined;
  }

  #equals(mark: ContentMark): boolean {
    return this.#length === mark.#length && this.#one === mark.#one && this.#other === mark.#other;
  }

  #addText(text: string, salt: number): void {
    for (let index = 0; index < text.length; index += 1)
      this.#addUnit(text.charCodeAt(index) ^ salt);
    this.#length += text.length;
  }

  #addOther(part: Part): void {
    const json = JSON.stringify(part, sorted);
    this.#addUnit(partStart);
    for (let index = 0; index < json.length; index += 1) {
      this.#addUnit(json.charCodeAt(index) | otherPart);
    }
    this.#addUnit(partEnd);
    this.#length += json.length + 2;
  }

  #addUnit(unit: number): void {
    this.#one = Math.imul(this.#one ^ unit, 0x9e37_79b1) >>> 0;
    this.#other = Math.imul(this.#other ^ unit ^ (this.#one >>> 15), 0x85eb_ca77) >>> 0;
  }
}

/** Texts of different media types are different content. */
function saltOf(mediaType: string | undefined): number {
  let salt = 0;
  for (const letter of mediaType ?? '') {
    salt = Math.imul(salt ^ (letter.codePointAt(0) ?? 0), 0x0100_0193) | 0x4_0000;
  }
  return salt;
}

/** The order of members has no meaning in JSON. */
function sorted(_: string, value: JsonValue): JsonValue {
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value);
  return Object.fromEntries(members.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
