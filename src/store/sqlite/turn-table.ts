import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { Json, type JsonValue } from '../../protocol/index.ts';
import type { TurnRecord } from '../contract.ts';
import { type OpenTurn, TurnQueue } from '../turn-queue.ts';

/** Ids that are taken at once, so that not every turn writes which was the last. */
const blockLength = 1_000;

/**
 * The open turns: in the file, so that they survive, and in memory, so that the common questions
 * cost no query. Requests, which may be large, stay in the file. Methods that write must run inside
 * a transaction.
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
  /** The last id that the file says is taken. */
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

  /** An id that no turn ever had; an operation that runs again after a rollback may keep it. */
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

  /** The file may say something else than what is kept in memory. */
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
      const { id, agent, key, taskId, attempt, replica } = row as {
        [K in keyof OpenTurn]: OpenTurn[K] extends number ? number : string | null;
      };
      open.add({
        id,
        agent: String(agent),
        key: String(key),
        taskId: String(taskId),
        attempt,
        replica: replica ?? undefined,
      });
    }
    this.#lastTaken = Number(this.#taken.get()?.['taken']);
    this.#lastId = Math.max(this.#lastId, this.#lastTaken);
    return open;
  }
}
