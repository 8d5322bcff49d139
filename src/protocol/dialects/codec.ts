import type { DecodeOptions } from '../decode/options.ts';
import { decode, type Reader, type Wire } from '../decode/reader.ts';

/** A codec from a reader of objects and an encoder. */
export function codec<T, Arguments extends readonly unknown[]>(
  read: (reader: Reader, wire: Wire) => T,
  encode: (value: T, ...rest: Arguments) => unknown,
) {
  return {
    decode: (wire: unknown, options?: DecodeOptions) => decode(wire, options, read),
    encode,
  };
}

/** The encoder of objects that the wire spells as the model does. */
export function identity(value: unknown): unknown {
  return value;
}
