import type { Writable } from 'node:stream';

/**
 * Gives a program all of its input. One that ends without reading closes the pipe, be it before the
 * first byte; how it ended is told by its exit code, so the broken pipe says nothing more.
 */
export function giveInput(stdin: Writable | null, input = ''): void {
  stdin?.on('error', () => undefined);
  stdin?.end(input);
}
