import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Slows down the flushes of a process, by a library that is compiled here and preloaded. */
export class SlowFlush implements Disposable {
  /** The environment of the process. */
  readonly environment: Readonly<Record<string, string>>;
  readonly #directory = mkdtempSync(join(tmpdir(), 'slow-flush-'));

  constructor(milliseconds: number) {
    const library = join(this.#directory, 'slow-flush.so');
    const source = fileURLToPath(new URL('slow-flush.c', import.meta.url));
    execFileSync('cc', ['-O2', '-shared', '-fPIC', '-o', library, source, '-ldl']);
    this.environment = { LD_PRELOAD: library, SLOW_FLUSH_US: `${milliseconds * 1000}` };
  }

  [Symbol.dispose](): void {
    rmSync(this.#directory, { recursive: true });
  }
}
