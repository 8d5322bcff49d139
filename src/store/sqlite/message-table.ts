import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { Json, type Message } from '../../protocol/index.ts';
import type { Dedupe } from '../contract.ts';
import { MessageKeys } from './message-keys.ts';

/** A message that was admitted before. */
export interface KnownMessage {
  readonly turnId: number;
  readonly digest: string;
  readonly taskId: string;
  readonly expiresAt: number;
  readonly reply: Json<Message> | undefined;
}

const columns = 'turn, owner, key, digest, task_id, expires_at, reply';

/**
 * Messages, remembered so that their repetition is recognised. All methods but `ofTurn` must run
 * inside a transaction.
 */
export class MessageTable {
  readonly #keys: MessageKeys;
  readonly #insert: StatementSync;
  readonly #ofTurn: StatementSync;
  readonly #setReply: StatementSync;
  readonly #delete: StatementSync;
  readonly #expired: StatementSync;

  constructor(database: DatabaseSync, keys = new MessageKeys(database)) {
    this.#keys = keys;
    this.#insert = database.prepare(
      'INSERT INTO messages (turn, owner, key, digest, task_id, expires_at) VALUES (?, ?, ?, ?, ?, ?)',
    );
    this.#ofTurn = database.prepare(`SELECT ${columns} FROM messages WHERE turn = ?`);
    this.#setReply = database.prepare('UPDATE messages SET reply = ? WHERE turn = ?');
    this.#delete = database.prepare('DELETE FROM messages WHERE turn = ?');
    this.#expired = database.prepare(
      `SELECT turn, owner, key FROM messages WHERE expires_at <= ? AND turn NOT IN (SELECT id FROM turns)
       LIMIT ?`,
    );
  }

  /** The owner must have no message of that key. */
  insert(turnId: number, owner: string, dedupe: Dedupe, taskId: string): void {
    const { key, digest, expiresAt } = dedupe;
    this.#insert.run(turnId, owner, key, digest, taskId, expiresAt);
    this.#keys.add(owner, key, turnId);
  }

  find(owner: string, key: string): KnownMessage | undefined {
    for (const turn of this.#keys.candidates(owner, key)) {
      const row = this.#ofTurn.get(turn);
      if (row?.['owner'] === owner && row['key'] === key) return toMessage(row);
    }
    return undefined;
  }

  ofTurn(turnId: number): KnownMessage | undefined {
    return toMessage(this.#ofTurn.get(turnId));
  }

  setReply(turnId: number, reply: Json<Message>): void {
    this.#setReply.run(reply.text, turnId);
  }

  delete(owner: string, key: string, turnId: number): void {
    this.#keys.delete(owner, key, turnId);
    this.#delete.run(turnId);
  }

  /** Deletes expired ones, and counts them. */
  sweep(now: number, limit: number): number {
    const expired = this.#expired.all(now, limit);
    for (const { turn, owner, key } of expired) {
      this.delete(String(owner), String(key), Number(turn));
    }
    return expired.length;
  }

  /** The file may say something else than what is kept in memory. */
  invalidate(): void {
    this.#keys.invalidate();
  }
}

function toMessage(row: ReturnType<StatementSync['get']>): KnownMessage | undefined {
  if (row === undefined) return undefined;
  const reply = row['reply'];
  return {
    turnId: Number(row['turn']),
    digest: String(row['digest']),
    taskId: String(row['task_id']),
    expiresAt: Number(row['expires_at']),
    reply: typeof reply === 'string' ? Json.fromText(reply) : undefined,
  };
}
