import { hash } from 'node:crypto';
import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** Keys that stay in memory before the oldest of them move into the file. */
const youngLimit = 16_384;
/** Parts of the tree; keys move into one of them at a time, so that they share its pages. */
const partCount = 32;
/** Numbers have 48 bits. */
const partSize = 2 ** 48 / partCount;

interface NumberedName {
  readonly name: string;
  readonly number: number;
}

interface YoungKey {
  readonly number: number;
  readonly turn: number;
}

/**
 * Finds messages by owner and key. Keys are random, so that each would change another page of the
 * file, which would cost more than all else that is written with a message. The young ones are kept
 * in memory instead (they stand in `messages` too, from where they are read again), and move into
 * the tree of `message_keys` part by part, in rounds.
 *
 * - **unread**: before the first use, and after `invalidate`.
 * - **read**: every message is in memory or in the tree, some in both.
 *
 * Methods must run inside a transaction.
 */
export class MessageKeys {
  readonly #database: DatabaseSync;
  readonly #youngLimit: number;
  readonly #ofNumber: StatementSync;
  readonly #insert: StatementSync;
  readonly #delete: StatementSync;
  #parts: Map<string, YoungKey>[] | undefined;
  #youngCount = 0;
  /** The part that moves next; the round ends with the last one. */
  #nextPart = 0;
  /** The last turn of a message when the round began: at its end, all up to it are in the tree. */
  #roundTurn = 0;
  #lastTurn = 0;
  #lastNumber: NumberedName = { name: '', number: 0 };

  constructor(database: DatabaseSync, options: { readonly youngLimit?: number } = {}) {
    this.#database = database;
    this.#youngLimit = options.youngLimit ?? youngLimit;
    this.#ofNumber = database.prepare('SELECT turn FROM message_keys WHERE number = ?');
    this.#insert = database.prepare(
      'INSERT OR IGNORE INTO message_keys (number, turn) VALUES (?, ?)',
    );
    this.#delete = database.prepare('DELETE FROM message_keys WHERE number = ? AND turn = ?');
  }

  /** The turns whose messages may have this key: those of equal numbers are to be told apart. */
  candidates(owner: string, key: string): readonly number[] {
    const { name, number } = this.#number(owner, key);
    const young = this.#partOf(number).get(name);
    const old = this.#ofNumber.all(number).map((row) => Number(row['turn']));
    return young === undefined ? old : [young.turn, ...old];
  }

  add(owner: string, key: string, turn: number): void {
    const { name, number } = this.#number(owner, key);
    this.#keep(this.#partOf(number), name, { number, turn });
    while (this.#youngCount > this.#youngLimit) this.#movePart();
  }

  delete(owner: string, key: string, turn: number): void {
    const { name, number } = this.#number(owner, key);
    const part = this.#partOf(number);
    if (part.get(name)?.turn === turn && part.delete(name)) this.#youngCount -= 1;
    this.#delete.run(number, turn);
  }

  /** The file may say something else than what is kept in memory. */
  invalidate(): void {
    this.#parts = undefined;
  }

  /** What was looked for in vain is mostly added next: its number is not made again. */
  #number(owner: string, key: string): NumberedName {
    const name = nameOf(owner, key);
    if (this.#lastNumber.name !== name) this.#lastNumber = { name, number: numberOf(name) };
    return this.#lastNumber;
  }

  #partOf(number: number): Map<string, YoungKey> {
    this.#parts ??= this.#read();
    return partOf(this.#parts, number);
  }

  #keep(part: Map<string, YoungKey>, name: string, key: YoungKey): void {
    part.set(name, key);
    this.#youngCount += 1;
    this.#lastTurn = Math.max(this.#lastTurn, key.turn);
  }

  #movePart(): void {
    const part = this.#parts?.[this.#nextPart];
    if (part === undefined) return;
    const keys = [...part.values()].sort((one, other) => one.number - other.number);
    for (const { number, turn } of keys) this.#insert.run(number, turn);
    this.#youngCount -= part.size;
    part.clear();
    this.#nextPart += 1;
    if (this.#nextPart < partCount) return;
    this.#database.prepare('UPDATE message_keys_until SET turn = ?').run(this.#roundTurn);
    this.#nextPart = 0;
    this.#roundTurn = this.#lastTurn;
  }

  #read(): Map<string, YoungKey>[] {
    const parts = Array.from({ length: partCount }, () => new Map<string, YoungKey>());
    this.#youngCount = 0;
    this.#nextPart = 0;
    this.#lastTurn = 0;
    const rows = this.#database.prepare(
      'SELECT turn, owner, key FROM messages WHERE turn > (SELECT turn FROM message_keys_until)',
    );
    for (const row of rows.iterate()) {
      const name = nameOf(String(row['owner']), String(row['key']));
      const number = numberOf(name);
      this.#keep(partOf(parts, number), name, { number, turn: Number(row['turn']) });
    }
    this.#roundTurn = this.#lastTurn;
    return parts;
  }
}

function partOf(parts: readonly Map<string, YoungKey>[], number: number): Map<string, YoungKey> {
  const part = parts[Math.floor(number / partSize)];
  if (part === undefined) throw new RangeError(`there is no part for ${number}`);
  return part;
}

function nameOf(owner: string, key: string): string {
  return `${owner}\n${key}`;
}

/** Callers choose their keys: a weaker hash would let them choose equal numbers. */
function numberOf(name: string): number {
  return Number.parseInt(hash('sha256', name, 'hex').slice(0, 12), 16);
}
