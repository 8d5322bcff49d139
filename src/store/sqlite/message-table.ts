import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { Json, type Message } from '../../protocol/index.ts';
import type { Dedupe } from '../contract.ts';
import type { KnownMessage } from '../tables.ts';

const columns = 'turn, owner, key, digest, task_id, expires_at, reply';

/**
 * Messages, remembered so that their repetition is recognised. All methods but `ofTurn` must run
 * inside a transaction.
 */
export class MessageTable {
  readonly #ofKey: StatementSync;
  readonly #insert: StatementSync;
  readonly #ofTurn: StatementSync;
  readonly #setReply: StatementSync;
  readonly #delete: StatementSync;
  readonly #deleteExpired: StatementSync;

  constructor(database: DatabaseSync) {
    this.#ofKey = database.prepare(`SELECT ${columns} FROM messages WHERE owner = ? AND key = ?`);
    this.#insert = database.prepare(
      'INSERT INTO messages (turn, owner, key, digest, task_id, expires_at) VALUES (?, ?, ?, ?, ?, ?)',
    );
    this.#ofTurn = database.prepare(`SELECT ${columns} FROM messages WHERE turn = ?`);
    this.#setReply = database.prepare('UPDATE messages SET reply = ? WHERE turn = ?');
    this.#delete = database.prepare('DELETE FROM messages WHERE turn = ?');
    this.#deleteExpired = database.prepare(
      `DELETE FROM messages WHERE turn IN (
         SELECT turn FROM messages WHERE expires_at <= ? AND turn NOT IN (SELECT id FROM turns) LIMIT ?)`,
    );
  }

  /** The owner must have no message of that key. */
  insert(turnId: number, owner: string, dedupe: Dedupe, taskId: string): void {
    const { key, digest, expiresAt } = dedupe;
    this.#insert.run(turnId, owner, key, digest, taskId, expiresAt);
  }

  find(owner: string, key: string): KnownMessage | undefined {
    return toMessage(this.#ofKey.get(owner, key));
  }

  ofTurn(turnId: number): KnownMessage | undefined {
    return toMessage(this.#ofTurn.get(turnId));
  }

  setReply(turnId: number, reply: Json<Message>): void {
    this.#setReply.run(reply.text, turnId);
  }

  delete(turnId: number): void {
    this.#delete.run(turnId);
  }

  /** Deletes expired ones, and counts them. */
  sweep(now: number, limit: number): number {
    return Number(this.#deleteExpired.run(now, limit).changes);
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
