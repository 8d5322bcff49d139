import { keepNotes } from './servers.ts';

/** Ends the servers that tests started, when the run is over. */
export function setup(): () => void {
  return keepNotes();
}
