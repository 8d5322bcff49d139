import { registerHooks } from 'node:module';
import { extname } from 'node:path';

const extension = extname(import.meta.url);
let isRegistered = false;

/**
 * Lets modules loaded from now on import `legate` when they have no installed package: a new agent
 * runs before anything is installed, with the package of the command.
 */
export function offerOwnPackage(): void {
  if (isRegistered) return;
  isRegistered = true;
  registerHooks({
    resolve(specifier, context, next) {
      const own = ownModule(specifier);
      if (own === undefined) return next(specifier, context);
      try {
        return next(specifier, context);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
        return { url: own, shortCircuit: true };
      }
    },
  });
}

function ownModule(specifier: string): string | undefined {
  const [, entry] = /^legate(?:\/([a-z]+))?$/.exec(specifier) ?? [];
  if (entry === undefined && specifier !== 'legate') return undefined;
  const path = entry === undefined ? `../index${extension}` : `../${entry}/index${extension}`;
  return new URL(path, import.meta.url).href;
}
