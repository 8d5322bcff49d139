/** Lets programs import `legate` and its doors from the source, as they would from the package. */
import { registerHooks } from 'node:module';

const source = new URL('../../src/', import.meta.url);

registerHooks({
  resolve(specifier, context, next) {
    const [, door] = /^legate(?:\/([a-z]+))?$/.exec(specifier) ?? [undefined, null];
    if (door === null) return next(specifier, context);
    const path = door === undefined ? 'index.ts' : `${door}/index.ts`;
    return { url: new URL(path, source).href, shortCircuit: true };
  },
});
