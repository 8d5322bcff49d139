import type { DatabaseSync } from 'node:sqlite';
import type { StoreClock } from '../contract.ts';
import { terminalStates } from '../task-states.ts';
import { ContextTable } from './context-table.ts';
import { EventTable } from './event-table.ts';
import { GroupCommit } from './group-commit.ts';
import { MessageTable } from './message-table.ts';
import { OpenContexts } from '../open-contexts.ts';
import type { Tables, TaskRow } from '../tables.ts';
import { PushTable } from './push-table.ts';
import { RecordTable } from './record-table.ts';
import { TaskCounts } from './task-counts.ts';
import { TaskList } from './task-list.ts';
import { TaskTable } from './task-table.ts';
import { TurnTable } from './turn-table.ts';

/**
 * All tables of one store. Whatever they keep in memory (open turns, rows of tasks
 * with a turn in flight, contexts in use) can be read again from the file, and is, after a rollback or a write by another process.
 */
export class SqliteTables implements Tables {
  readonly commits: GroupCommit;
  readonly tasks: TaskTable;
  readonly events: EventTable;
  readonly turns: TurnTable;
  readonly messages: MessageTable;
  readonly contexts: ContextTable;
  readonly openContexts: OpenContexts;
  readonly push: PushTable;
  readonly records: RecordTable;
  readonly list: TaskList;

  constructor(
    database: DatabaseSync,
    options: {
      readonly path: string;
      readonly clock: StoreClock;
      /** Told of every write that failed. */
      readonly onFailure?: (failure: unknown) => void;
    },
  ) {
    const { path, clock, onFailure } = options;
    const counts = new TaskCounts(database);
    const unfinished = database.prepare(
      `SELECT agent, owner, context_id AS contextId FROM tasks WHERE state NOT IN (${terminalStates})`,
    );
    this.openContexts = new OpenContexts(() =>
      unfinished.iterate().map((row) => ({
        agent: String(row['agent']),
        owner: String(row['owner']),
        contextId: String(row['contextId']),
      })),
    );
    this.tasks = new TaskTable(database, counts, this.openContexts);
    this.events = new EventTable(database);
    this.turns = new TurnTable(database);
    this.messages = new MessageTable(database);
    this.contexts = new ContextTable(database);
    this.list = new TaskList(database, this.events, counts);
    this.commits = new GroupCommit(database, path, {
      ...(onFailure !== undefined && { onFailure }),
      onForeignWrite: () => this.#invalidate(),
      beforeCommit: () => counts.write(),
      onRollback: () => {
        counts.discard();
        this.#invalidate();
      },
    });
    this.push = new PushTable(database, { commits: this.commits, tasks: this.tasks, clock });
    this.records = new RecordTable(database, this.commits);
  }

  /** Deletes a task with all that hangs on it. Inside a transaction only. */
  remove(task: TaskRow): void {
    this.push.forget(task);
    this.events.delete(task.number);
    this.tasks.delete(task);
  }

  #invalidate(): void {
    this.turns.invalidate();
    this.tasks.invalidate();
    this.openContexts.invalidate();
  }
}
