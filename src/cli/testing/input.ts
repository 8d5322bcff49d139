import type { Writable } from 'node:stream';

/**
 * Writes all input of a program. A program that ends without reading closes the pipe, even before the
 * first byte; its exit code shows how it ended, so the broken pipe is ignored.
 */
export function giveInput(stdin: Writable | null, input = ''): void {
  stdin?.on('error', () => undefined);
  stdin?.end(input);
}
