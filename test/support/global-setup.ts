import { join } from 'node:path';
import { keepNotes } from './servers.ts';

/** Ends the servers that tests started, when the run is over. */
export function setup(): () => void {
  // Tests start hundreds of processes, each of which would read and compile the same files.
  process.env['NODE_COMPILE_CACHE'] ??= join(
    import.meta.dirname,
    '../../node_modules/.cache/legate-tests',
  );
  return keepNotes();
}
