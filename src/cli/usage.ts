import { readFile } from 'node:fs/promises';
import { isJsonObject, type JsonObject, LegateError, parseJson } from '../protocol/index.ts';

/** An invalid command line or settings file: exit code 2. */
export function usage(message: string, cause?: unknown): LegateError {
  return new LegateError('CONFIGURATION_INVALID', message, cause === undefined ? {} : { cause });
}

/** Reads a file that the user named; `flag` is its option, for errors. */
export function readNamedFile(file: string, flag?: string): Promise<string> {
  return readFile(file, 'utf8').catch((cause: unknown) => {
    throw usage(`${flag === undefined ? '' : `${flag}: `}${file} cannot be read`, cause);
  });
}

/** Parses the JSON object of a flag. */
export function jsonObjectOf(text: string, flag: string): JsonObject {
  try {
    const value = parseJson(text);
    if (isJsonObject(value)) return value;
  } catch (error) {
    if (!(error instanceof LegateError)) throw error;
  }
  throw usage(`${flag} must be a JSON object, for instance '{"key":"value"}'`);
}

/** Reads the whole stream; undefined when it is longer than `maxBytes`. */
export async function readAtMost(
  stream: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxBytes: number,
): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
