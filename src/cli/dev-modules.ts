/**
 * Loaded before the command of a server that `legate dev` runs: tells the parent process which files
 * it loads as modules, by their paths.
 */
import { registerHooks } from 'node:module';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const ownFolder = join(dirname(import.meta.dirname), sep);
const told = new Set<string>();

function tell(url: string | undefined): void {
  if (url?.startsWith('file:') !== true) return;
  const file = fileURLToPath(url.replace(/[?#].*$/, ''));
  const isForeign = file.split(sep).includes('node_modules') || file.startsWith(ownFolder);
  if (isForeign || told.has(file)) return;
  told.add(file);
  // Without the parent, there is no process to notify.
  if (process.connected) process.send?.({ module: file }, undefined, undefined, () => undefined);
}

registerHooks({
  resolve(specifier, context, next) {
    try {
      const found = next(specifier, context);
      tell(found.url);
      return found;
    } catch (error) {
      // A file that is missing may be written next.
      if (/^\.{0,2}\//.test(specifier)) tell(URL.parse(specifier, context.parentURL)?.href);
      throw error;
    }
  },
});
