import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { taskNotFound } from '../../protocol/index.ts';
import type {
  Delivery,
  DeliveryOutcome,
  DeliveryRecord,
  PushRegistration,
  PushStore,
  StoreClock,
} from '../contract.ts';
import type { GroupCommit } from './group-commit.ts';
import {
  registrationValues,
  toDelivery,
  toDeliveryRecord,
  toRegistration,
} from '../delivery-row.ts';
import type { TaskRow } from '../tables.ts';
import type { TaskTable } from './task-table.ts';

const deliveryColumns = `d.id, d.sequence, d.attempts, d.is_dead, d.due_at, d.last_error, d.config,
  t.id AS task_id, c.id AS config_id, c.body, c.wire_version`;
const deliveryTables = `deliveries AS d JOIN push_configs AS c ON c.number = d.config
  JOIN tasks AS t ON t.number = c.task`;

/**
 * Push configurations and the outbox. A delivery is pending, then deleted or dead. A dead delivery can
 * be revived.
 */
export class PushTable implements PushStore {
  readonly #commits: GroupCommit;
  readonly #tasks: TaskTable;
  readonly #clock: StoreClock;
  readonly #statements: ReturnType<typeof prepare>;

  constructor(
    database: DatabaseSync,
    { commits, tasks, clock }: { commits: GroupCommit; tasks: TaskTable; clock: StoreClock },
  ) {
    this.#clock = clock;
    this.#commits = commits;
    this.#tasks = tasks;
    this.#statements = prepare(database);
  }

  /** Queues one delivery of an event for each configuration. Must run inside a transaction. */
  queueDeliveries(task: TaskRow, sequence: number, now: number): void {
    this.#statements.queue.run(sequence, now, task.number);
  }

  /** Must run inside a transaction. */
  register(task: TaskRow, registration: PushRegistration): void {
    const row = this.#statements.put.get(task.number, ...registrationValues(registration));
    const count = Number(row?.['n']);
    if (count !== task.pushConfigs) this.#tasks.setPushConfigs(task, count);
  }

  /** Deletes the configurations and deliveries of a task. Must run inside a transaction. */
  forget(task: TaskRow): void {
    if (task.pushConfigs === 0) return;
    this.#statements.deleteDeliveriesOfTask.run(task.number);
    this.#statements.deleteConfigsOfTask.run(task.number);
  }

  /** Ends the claims of a replica. Must run inside a transaction. */
  unclaim(replica: string): void {
    this.#statements.unclaim.run(replica);
  }

  put(taskId: string, registration: PushRegistration): Promise<void> {
    return this.#commits.write(() => {
      const task = this.#tasks.find(taskId);
      if (task === undefined) throw taskNotFound(taskId);
      this.register(task, registration);
    });
  }

  get(taskId: string, configId: string): Promise<PushRegistration | undefined> {
    return this.#commits.read(() => {
      const row = this.#statements.config.get(taskId, configId);
      return row === undefined ? undefined : toRegistration(row);
    });
  }

  list(taskId: string): Promise<readonly PushRegistration[]> {
    return this.#commits.read(() => this.#statements.configs.all(taskId).map(toRegistration));
  }

  delete(taskId: string, configId: string): Promise<boolean> {
    return this.#commits.write(() => {
      const task = this.#tasks.find(taskId);
      if (task === undefined) return false;
      const row = this.#statements.deleteConfig.get(task.number, configId);
      if (row === undefined) return false;
      this.#statements.deleteDeliveriesOfConfig.run(Number(row['number']));
      this.#tasks.setPushConfigs(task, task.pushConfigs - 1);
      return true;
    });
  }

  claim(query: Parameters<PushStore['claim']>[0]): Promise<readonly Delivery[]> {
    return this.#commits.write(() => {
      const now = this.#clock.now();
      const rows = this.#statements.due.all(now, query.limit);
      for (const row of rows) {
        this.#statements.claim.run(now + query.leaseMs, query.replica, Number(row['id']));
      }
      return rows.map(toDelivery);
    });
  }

  settle(deliveryId: number, outcome: DeliveryOutcome): Promise<void> {
    return this.#commits.write(() => {
      const { delivered, retry, dead } = this.#statements;
      if (outcome.kind === 'retry') {
        retry.run(this.#clock.now() + outcome.afterMs, outcome.error, deliveryId);
        return;
      }
      const row =
        outcome.kind === 'delivered'
          ? delivered.get(deliveryId)
          : dead.get(outcome.error, deliveryId);
      if (row !== undefined) this.#statements.promote.run(Number(row['config']));
    });
  }

  nextDueMs(): Promise<number | undefined> {
    return this.#commits.read(() => {
      const due = this.#statements.nextDue.get()?.['due_at'];
      return typeof due === 'number' ? Math.max(0, due - this.#clock.now()) : undefined;
    });
  }

  counts(): ReturnType<PushStore['counts']> {
    return this.#commits.read(() => {
      const row = this.#statements.counts.get();
      return { pending: Number(row?.['pending']), dead: Number(row?.['dead']) };
    });
  }

  deliveries(query: Parameters<PushStore['deliveries']>[0]): Promise<readonly DeliveryRecord[]> {
    const { after = 0, taskId, limit } = query;
    const dead = query.state === undefined ? null : query.state === 'dead' ? 1 : 0;
    return this.#commits.read(() => {
      const rows =
        taskId === undefined
          ? this.#statements.deliveries.all(after, dead, limit)
          : this.#statements.deliveriesOfTask.all(taskId, after, dead, limit);
      return rows.map(toDeliveryRecord);
    });
  }

  revive(deliveryId: number): Promise<boolean> {
    return this.#commits.write(() => {
      const row = this.#statements.revive.get(this.#clock.now(), deliveryId);
      if (row === undefined) return false;
      const config = Number(row['config']);
      this.#statements.demote.run(config);
      this.#statements.promote.run(config);
      return true;
    });
  }
}

function prepare(database: DatabaseSync) {
  const prepared = (sql: string): StatementSync => database.prepare(sql);
  return {
    put: prepared(
      `INSERT INTO push_configs (task, id, body, wire_version) VALUES (?, ?, ?, ?)
       ON CONFLICT (task, id) DO UPDATE SET body = excluded.body, wire_version = excluded.wire_version
       RETURNING (SELECT count(*) FROM push_configs AS c WHERE c.task = push_configs.task) AS n`,
    ),
    config: prepared(
      `SELECT c.id AS config_id, c.body, c.wire_version FROM push_configs AS c JOIN tasks AS t ON t.number = c.task
       WHERE t.id = ? AND c.id = ?`,
    ),
    configs: prepared(
      `SELECT c.id AS config_id, c.body, c.wire_version FROM push_configs AS c JOIN tasks AS t ON t.number = c.task
       WHERE t.id = ? ORDER BY c.number`,
    ),
    deleteConfig: prepared('DELETE FROM push_configs WHERE task = ? AND id = ? RETURNING number'),
    deleteConfigsOfTask: prepared('DELETE FROM push_configs WHERE task = ?'),
    deleteDeliveriesOfConfig: prepared('DELETE FROM deliveries WHERE config = ?'),
    deleteDeliveriesOfTask: prepared(
      'DELETE FROM deliveries WHERE config IN (SELECT number FROM push_configs WHERE task = ?)',
    ),
    queue: prepared(
      `INSERT INTO deliveries (config, sequence, attempts, is_dead, is_head, due_at)
       SELECT number, ?, 0, 0, NOT EXISTS (
         SELECT 1 FROM deliveries AS d WHERE d.config = c.number AND d.is_dead = 0
       ), ? FROM push_configs AS c WHERE task = ? ORDER BY number`,
    ),
    due: prepared(
      `SELECT ${deliveryColumns} FROM ${deliveryTables} WHERE d.is_head = 1 AND d.due_at <= ?
       ORDER BY d.due_at, d.id LIMIT ?`,
    ),
    claim: prepared('UPDATE deliveries SET due_at = ?, claimed_by = ? WHERE id = ?'),
    unclaim: prepared(
      'UPDATE deliveries SET due_at = 0, claimed_by = NULL WHERE is_head = 1 AND claimed_by = ?',
    ),
    delivered: prepared('DELETE FROM deliveries WHERE id = ? RETURNING config'),
    retry: prepared(
      `UPDATE deliveries SET due_at = ?, last_error = ?, attempts = attempts + 1, claimed_by = NULL
       WHERE id = ? AND is_dead = 0`,
    ),
    dead: prepared(
      `UPDATE deliveries
       SET is_dead = 1, is_head = 0, last_error = ?, attempts = attempts + 1, claimed_by = NULL
       WHERE id = ? AND is_dead = 0 RETURNING config`,
    ),
    revive: prepared(
      'UPDATE deliveries SET is_dead = 0, attempts = 0, due_at = ? WHERE id = ? AND is_dead = 1 RETURNING config',
    ),
    demote: prepared(
      'UPDATE deliveries SET is_head = 0 WHERE config = ? AND is_dead = 0 AND is_head = 1',
    ),
    promote: prepared(
      `UPDATE deliveries SET is_head = 1 WHERE is_head = 0 AND id = (
         SELECT min(id) FROM deliveries WHERE config = ? AND is_dead = 0
       )`,
    ),
    nextDue: prepared(
      'SELECT due_at FROM deliveries WHERE is_head = 1 ORDER BY due_at, id LIMIT 1',
    ),
    counts: prepared(
      `SELECT count(*) FILTER (WHERE is_dead = 0) AS pending,
         count(*) FILTER (WHERE is_dead = 1) AS dead FROM deliveries`,
    ),
    deliveries: prepared(
      `SELECT ${deliveryColumns} FROM ${deliveryTables}
       WHERE d.id > ? AND d.is_dead = ifnull(?, d.is_dead) ORDER BY d.id LIMIT ?`,
    ),
    deliveriesOfTask: prepared(
      `SELECT ${deliveryColumns} FROM ${deliveryTables}
       WHERE t.id = ? AND d.id > ? AND d.is_dead = ifnull(?, d.is_dead) ORDER BY d.id LIMIT ?`,
    ),
  };
}
