import { appendFileSync, chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { errorMessage } from '../protocol/index.ts';
import { settingsFolder } from './client/settings.ts';

/** Lines that are kept, over all sessions. */
const maxLines = 1_000;
/** Longer lines are not kept, in characters. */
const maxLength = 4_000;

/**
 * The lines that a person typed into the shell, over sessions: in a file that only its owner can read.
 * `LEGATE_SHELL_HISTORY` names another file; when it is empty, nothing is kept. Problems with the file
 * are reported once and never end a conversation.
 */
export class ShellHistory {
  readonly #path: string;
  /** The newest first, as readline wants them. */
  readonly lines: readonly string[];
  #isUsable = true;

  private constructor(path: string) {
    this.#path = path;
    this.lines = this.#read();
  }

  /** Undefined when nothing is to be kept. */
  static open(): ShellHistory | undefined {
    const path = process.env['LEGATE_SHELL_HISTORY'] ?? join(settingsFolder(), 'shell-history');
    return path === '' ? undefined : new ShellHistory(path);
  }

  /** Appends, so that several shells can be open. */
  add(line: string): void {
    if (line.length > maxLength || line.includes('\n')) return;
    this.#try(() => appendFileSync(this.#path, `${line}\n`, { mode: 0o600 }));
  }

  /** Drops the oldest lines of a file that has grown, and takes it from other users. */
  #read(): readonly string[] {
    let kept: readonly string[] = [];
    this.#try(() => {
      mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
      appendFileSync(this.#path, '', { mode: 0o600 });
      chmodSync(this.#path, 0o600);
      const all = readFileSync(this.#path, 'utf8').split('\n').filter(Boolean);
      kept = all.slice(-maxLines);
      if (all.length > kept.length) {
        writeFileSync(this.#path, kept.map((line) => `${line}\n`).join(''), { mode: 0o600 });
      }
    });
    return kept.toReversed();
  }

  #try(action: () => void): void {
    if (!this.#isUsable) return;
    try {
      action();
    } catch (error) {
      this.#isUsable = false;
      const reason = errorMessage(error);
      console.error(`legate: lines are not kept for later sessions: ${reason}`);
    }
  }
}
