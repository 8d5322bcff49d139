import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** Counts tasks by owner and state. What one transaction changes is gathered and written at its end. */
export class TaskCounts {
  readonly #add: StatementSync;
  readonly #ofOwner: StatementSync;
  readonly #ofState: StatementSync;
  readonly #ofAll: StatementSync;
  readonly #ofAllInState: StatementSync;
  readonly #changes = new Map<string, number[]>();

  constructor(database: DatabaseSync) {
    this.#add = database.prepare(
      `INSERT INTO task_counts (owner, state, tasks) VALUES (?, ?, ?)
       ON CONFLICT DO UPDATE SET tasks = tasks + excluded.tasks`,
    );
    this.#ofOwner = database.prepare('SELECT sum(tasks) AS n FROM task_counts WHERE owner = ?');
    this.#ofState = database.prepare(
      'SELECT tasks AS n FROM task_counts WHERE owner = ? AND state = ?',
    );
    this.#ofAll = database.prepare('SELECT sum(tasks) AS n FROM task_counts');
    this.#ofAllInState = database.prepare(
      'SELECT sum(tasks) AS n FROM task_counts WHERE state = ?',
    );
  }

  change(owner: string, state: number, by: number): void {
    let changes = this.#changes.get(owner);
    if (changes === undefined) this.#changes.set(owner, (changes = []));
    changes[state] = (changes[state] ?? 0) + by;
  }

  write(): void {
    if (this.#changes.size === 0) return;
    for (const [owner, changes] of this.#changes) {
      // Sparse: only the states that were touched have an entry.
      changes.forEach((by, state) => {
        if (by !== 0) this.#add.run(owner, state, by);
      });
    }
    this.#changes.clear();
  }

  discard(): void {
    this.#changes.clear();
  }

  /** Of all owners where none is given. */
  total(owner: string | undefined, state?: number): number {
    return Number(this.#count(owner, state)?.['n'] ?? 0);
  }

  #count(owner: string | undefined, state?: number): ReturnType<StatementSync['get']> {
    if (owner === undefined) {
      return state === undefined ? this.#ofAll.get() : this.#ofAllInState.get(state);
    }
    return state === undefined ? this.#ofOwner.get(owner) : this.#ofState.get(owner, state);
  }
}
