import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** Counts tasks by owner and state. What one transaction changes is gathered and written at its end. */
export class TaskCounts {
  readonly #add: StatementSync;
  readonly #ofOwner: StatementSync;
  readonly #ofState: StatementSync;
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

  total(owner: string, state?: number): number {
    const row = state === undefined ? this.#ofOwner.get(owner) : this.#ofState.get(owner, state);
    return Number(row?.['n'] ?? 0);
  }
}
