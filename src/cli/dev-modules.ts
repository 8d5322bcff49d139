/**
 * `legate dev` loads this module before the server command. It sends the paths of all files that the
 * server loads as modules to the parent process.
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
      // Watches a missing file too: the user can create it next.
      if (/^\.{0,2}\//.test(specifier)) tell(URL.parse(specifier, context.parentURL)?.href);
      throw error;
    }
  },
});
