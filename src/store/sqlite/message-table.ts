import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { Json, type Message } from '../../protocol/index.ts';
import type { Dedupe } from '../contract.ts';

/** A message that was admitted before. */
export interface KnownMessage {
  readonly turnId: number;
  readonly digest: string;
  readonly taskId: string;
  readonly expiresAt: number;
  readonly reply: Json<Message> | undefined;
}

const columns = 'turn, digest, task_id, expires_at, reply';

/** Messages, remembered so that their repetition is recognised. */
export class MessageTable {
  readonly #insert: StatementSync;
  readonly #select: StatementSync;
  readonly #ofTurn: StatementSync;
  readonly #setReply: StatementSync;
  readonly #delete: StatementSync;
  readonly #sweep: StatementSync;

  constructor(database: DatabaseSync) {
    this.#insert = database.prepare(
      `INSERT INTO messages (turn, owner, key, digest, task_id, expires_at) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (owner, key) DO NOTHING`,
    );
    this.#select = database.prepare(`SELECT ${columns} FROM messages WHERE owner = ? AND key = ?`);
    this.#ofTurn = database.prepare(`SELECT ${columns} FROM messages WHERE turn = ?`);
    this.#setReply = database.prepare('UPDATE messages SET reply = ? WHERE turn = ?');
    this.#delete = database.prepare('DELETE FROM messages WHERE turn = ?');
    this.#sweep = database.prepare(
      `DELETE FROM messages WHERE turn IN (
         SELECT turn FROM messages WHERE expires_at <= ? AND turn NOT IN (SELECT id FROM turns)
         LIMIT ?
       )`,
    );
  }

  /** False when the owner has a message of that key already. */
  insert(turnId: number, owner: string, dedupe: Dedupe, taskId: string): boolean {
    const { key, digest, expiresAt } = dedupe;
    return this.#insert.run(turnId, owner, key, digest, taskId, expiresAt).changes === 1;
  }

  find(owner: string, key: string): KnownMessage | undefined {
    return toMessage(this.#select.get(owner, key));
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

  sweep(now: number, limit: number): void {
    this.#sweep.run(now, limit);
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
