import { readFileSync } from 'node:fs';
// As a namespace: Bun can serve agents, but lacks functions that are needed to load a project.
import * as nodeModule from 'node:module';
import { extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { errorCode, invalidConfiguration } from '../protocol/index.ts';

const extension = extname(import.meta.url);
const root = new URL('../../', import.meta.url).href;
let isRegistered = false;

/** Imports a module of a project, which may import `legate` without an installed package. */
export async function importModule(path: string): Promise<Record<string, unknown>> {
  offerOwnPackage();
  const { href } = pathToFileURL(resolve(path));
  try {
    return await import(href);
  } catch (error) {
    const manifest = error instanceof SyntaxError ? nodeModule.findPackageJSON(href) : undefined;
    // `npm init` writes this type. Node then treats every `import` and `export` as a syntax error.
    if (manifest === undefined || !isCommonJs(manifest)) throw error;
    throw invalidConfiguration(
      `${path} can't be loaded: ${manifest} has "type": "commonjs". Run: npm pkg set type=module`,
      error,
    );
  }
}

function isCommonJs(manifest: string): boolean {
  return /"type"\s*:\s*"commonjs"/.test(readFileSync(manifest, 'utf8'));
}

/**
 * Lets modules that are loaded later import `legate` and its entry points without an installed package, so
 * that a copied example or a new agent runs before `npm install`. Modules within this package, such as its
 * examples, get the files that this process runs, built or not.
 */
export function offerOwnPackage(): void {
  if (isRegistered) return;
  isRegistered = true;
  nodeModule.registerHooks({
    resolve(specifier, context, next) {
      const own = ownModule(specifier);
      if (own === undefined) return next(specifier, context);
      try {
        const found = next(specifier, context);
        return found.url.startsWith(root) ? { url: own, shortCircuit: true } : found;
      } catch (error) {
        if (errorCode(error) !== 'ERR_MODULE_NOT_FOUND') throw error;
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
