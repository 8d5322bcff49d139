import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { Json, type JsonValue, type Message } from '../../protocol/index.ts';
import type { Dedupe, TurnRecord } from '../contract.ts';
import type { KnownMessage } from '../tables.ts';
import { type OpenTurn, TurnQueue } from '../turn-queue.ts';

/** Ids that are reserved together, so that not every turn writes the last id. */
const blockLength = 1_000;

/**
 * The open turns: in the file for durability, and in memory so that the common lookups need no query.
 * Requests, which can be large, stay in the file. Methods that write must run inside a transaction.
 */
export class TurnTable {
  readonly #insert: StatementSync;
  readonly #delete: StatementSync;
  readonly #update: StatementSync;
  readonly #request: StatementSync;
  readonly #all: StatementSync;
  readonly #taken: StatementSync;
  readonly #take: StatementSync;
  #open: TurnQueue | undefined;
  #lastId = 0;
  /** The last id that is reserved in the file. */
  #lastTaken = 0;

  constructor(database: DatabaseSync) {
    this.#insert = database.prepare(
      'INSERT INTO turns (id, agent, key, task_id, attempt, replica, request) VALUES (?, ?, ?, ?, ?, ?, ?)',
    );
    this.#delete = database.prepare('DELETE FROM turns WHERE id = ?');
    this.#update = database.prepare('UPDATE turns SET attempt = ?, replica = ? WHERE id = ?');
    this.#request = database.prepare('SELECT request FROM turns WHERE id = ?');
    this.#all = database.prepare(
      'SELECT id, agent, key, task_id AS taskId, attempt, replica FROM turns ORDER BY id',
    );
    this.#taken = database.prepare('SELECT taken FROM turn_ids');
    this.#take = database.prepare('UPDATE turn_ids SET taken = ?');
  }

  get open(): TurnQueue {
    return (this.#open ??= this.#load());
  }

  /** An id that no turn has had before. An operation that runs again after a rollback can keep it. */
  nextId(): number {
    this.#open ??= this.#load();
    return (this.#lastId += 1);
  }

  insert(turn: OpenTurn, request: Json<JsonValue>): void {
    const { id, agent, key, taskId, attempt, replica } = turn;
    this.#insert.run(id, agent, key, taskId, attempt, replica ?? null, request.text);
    this.open.add(turn);
    if (turn.id <= this.#lastTaken) return;
    this.#lastTaken = turn.id + blockLength;
    this.#take.run(this.#lastTaken);
  }

  run(turn: OpenTurn, replica: string, attempt: number): TurnRecord {
    this.#change(turn, replica, attempt);
    const request = Json.fromText<JsonValue>(String(this.#request.get(turn.id)?.['request']));
    return { id: turn.id, key: turn.key, taskId: turn.taskId, attempt, request };
  }

  release(turn: OpenTurn, attempt: number): void {
    this.#change(turn, undefined, attempt);
  }

  end(turn: OpenTurn): void {
    this.#delete.run(turn.id);
    this.open.end(turn);
  }

  /** Discards the copy in memory, which may differ from the file. */
  invalidate(): void {
    this.#open = undefined;
  }

  #change(turn: OpenTurn, replica: string | undefined, attempt: number): void {
    this.#update.run(attempt, replica ?? null, turn.id);
    turn.replica = replica;
    turn.attempt = attempt;
  }

  #load(): TurnQueue {
    const open = new TurnQueue();
    for (const row of this.#all.iterate()) {
      const { replica } = row;
      open.add({
        id: Number(row['id']),
        agent: String(row['agent']),
        key: String(row['key']),
        taskId: String(row['taskId']),
        attempt: Number(row['attempt']),
        replica: typeof replica === 'string' ? replica : undefined,
      });
    }
    this.#lastTaken = Number(this.#taken.get()?.['taken']);
    this.#lastId = Math.max(this.#lastId, this.#lastTaken);
    return open;
  }
}

const columns = 'turn, owner, key, digest, task_id, expires_at, reply';

/**
 * Idempotency keys of messages, to detect duplicates. All methods except `ofTurn` must run inside a
 * transaction.
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

  /** Deletes expired messages. Returns their number. */
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
