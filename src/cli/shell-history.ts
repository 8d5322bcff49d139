import { appendFileSync, chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { errorMessage } from '../protocol/index.ts';
import { settingsFolder } from './client/settings.ts';

/** Maximum number of lines in the history of all sessions. */
const maxLines = 1_000;
/** Maximum length of a line in the history, in characters. */
const maxLength = 4_000;

/**
 * Stores the lines that the user typed in all sessions of the shell, in a file that only its owner can read.
 * `LEGATE_SHELL_HISTORY` names another file; an empty value disables the history. Problems with the file are
 * reported once and never end a conversation.
 */
export class ShellHistory {
  readonly #path: string;
  /** The newest first, the order of readline. */
  readonly lines: readonly string[];
  #isUsable = true;

  private constructor(path: string) {
    this.#path = path;
    this.lines = this.#read();
  }

  /** Undefined when the history is disabled. */
  static open(): ShellHistory | undefined {
    const path = process.env['LEGATE_SHELL_HISTORY'] ?? join(settingsFolder(), 'shell-history');
    return path === '' ? undefined : new ShellHistory(path);
  }

  /** Appends, so that several shells can be open. */
  add(line: string): void {
    if (line.length > maxLength || line.includes('\n')) return;
    this.#try(() => appendFileSync(this.#path, `${line}\n`, { mode: 0o600 }));
  }

  /** Reads the file, drops the oldest lines above the limit, and restricts its permissions. */
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
