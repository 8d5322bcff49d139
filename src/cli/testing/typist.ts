import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect } from 'vitest';
import { environment } from './environment.ts';

const command = join(import.meta.dirname, '../../../bin/legate.cjs');

/** The command on a terminal of its own, with a person who types. */
export class Typist {
  readonly #child: ChildProcess;
  shown = '';
  readonly ended: Promise<number | null>;

  constructor(args: readonly string[], home: string, env: NodeJS.ProcessEnv = {}) {
    const words = [process.execPath, command, ...args].map((word) => `'${word}'`).join(' ');
    // Of util-linux: gives a command a terminal, copies what it shows and passes on what is typed.
    const line = `stty cols 100 rows 40; ${words}`;
    this.#child = spawn('script', ['-qec', line, '/dev/null'], {
      cwd: home,
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...environment, HOME: home, TERM: 'xterm', NO_COLOR: '1', ...env },
    });
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.shown += text));
    this.ended = new Promise((resolve) => this.#child.on('close', resolve));
  }

  /** Types, and waits until the terminal shows the text. */
  async type(typed: string, expected: string): Promise<void> {
    const before = this.shown.length;
    this.#child.stdin?.write(typed);
    await expect.poll(() => this.shown.slice(before), { timeout: 60_000 }).toContain(expected);
  }

  async says(expected: string): Promise<void> {
    await expect.poll(() => this.shown, { timeout: 60_000 }).toContain(expected);
  }
}
