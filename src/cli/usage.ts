import { readFile } from 'node:fs/promises';
import { LegateError } from '../protocol/index.ts';

/** A mistake on the command line or in a file of settings: exit code 2. */
export function usage(message: string, cause?: unknown): LegateError {
  return new LegateError('CONFIGURATION_INVALID', message, cause === undefined ? {} : { cause });
}

/** The text of a file that was named; `flag` says where. */
export function readNamedFile(file: string, flag?: string): Promise<string> {
  return readFile(file, 'utf8').catch((cause: unknown) => {
    throw usage(`${flag === undefined ? '' : `${flag}: `}${file} cannot be read`, cause);
  });
}
