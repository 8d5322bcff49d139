import { createRequire } from 'node:module';
import { join } from 'node:path';
import { errorCode } from '../protocol/index.ts';

/** Resolves an optional package from the working directory, or else from this package. */
export function findPackage(name: string): string | undefined {
  for (const base of [join(process.cwd(), 'package.json'), import.meta.url]) {
    try {
      return createRequire(base).resolve(name);
    } catch (error) {
      const isMissing = errorCode(error) === 'MODULE_NOT_FOUND';
      if (!isMissing) throw error;
    }
  }
  return undefined;
}
