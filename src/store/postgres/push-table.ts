import { taskNotFound } from '../../protocol/index.ts';
import type {
  Delivery,
  DeliveryOutcome,
  DeliveryRecord,
  PushRegistration,
  PushStore,
} from '../contract.ts';
import {
  registrationValues,
  toDelivery,
  toDeliveryRecord,
  toRegistration,
} from '../delivery-row.ts';
import type { Connections } from './open-postgres.ts';

const deliveryColumns = `deliveries.id, deliveries.sequence, deliveries.attempts,
  configs.task_id, configs.id AS config_id, configs.body, configs.wire_version`;
const deliveryJoins = 'JOIN legate.push_configs AS configs ON configs.number = deliveries.config';
const recordColumns = `${deliveryColumns}, deliveries.is_dead, deliveries.due_at, deliveries.last_error`;

const statements = {
  counts: {
    name: 'count_deliveries',
    text: `SELECT count(*) FILTER (WHERE NOT is_dead) AS pending,
      count(*) FILTER (WHERE is_dead) AS dead FROM legate.deliveries`,
  },
  put: { name: 'push_put', text: 'SELECT legate.put_push_of($1, $2, $3, $4) AS is_put' },
  delete: { name: 'push_delete', text: 'SELECT legate.delete_push($1, $2) AS is_deleted' },
  get: {
    name: 'push_get',
    text: `SELECT id AS config_id, body, wire_version FROM legate.push_configs WHERE task_id = $1 AND id = $2`,
  },
  list: {
    name: 'push_list',
    text: `SELECT id AS config_id, body, wire_version FROM legate.push_configs WHERE task_id = $1 ORDER BY number`,
  },
  claim: {
    name: 'push_claim',
    text: `WITH due AS (
        SELECT id, due_at FROM legate.deliveries WHERE is_head AND due_at <= legate.clock()
        ORDER BY due_at, id LIMIT $3 FOR UPDATE SKIP LOCKED
      ), claimed AS (
        UPDATE legate.deliveries SET due_at = legate.clock() + $2::bigint, claimed_by = $1 FROM due
        WHERE deliveries.id = due.id
        RETURNING deliveries.*, due.due_at AS was_due_at
      )
      SELECT ${deliveryColumns} FROM claimed AS deliveries ${deliveryJoins}
      ORDER BY deliveries.was_due_at, deliveries.id`,
  },
  settle: {
    name: 'push_settle',
    text: 'SELECT legate.settle($1, $2, legate.clock() + $3::bigint, $4)',
  },
  revive: { name: 'push_revive', text: 'SELECT legate.revive($1, legate.clock()) AS is_revived' },
  nextDue: {
    name: 'push_next_due',
    text: `SELECT greatest(due_at - legate.clock(), 0) AS due_in FROM legate.deliveries
      WHERE is_head ORDER BY due_at, id LIMIT 1`,
  },
  deliveries: {
    name: 'push_deliveries',
    text: `SELECT ${recordColumns} FROM legate.deliveries ${deliveryJoins}
      WHERE deliveries.id > $1 AND ($2::boolean IS NULL OR deliveries.is_dead = $2)
      ORDER BY deliveries.id LIMIT $3`,
  },
  deliveriesOfTask: {
    name: 'push_deliveries_of_task',
    text: `SELECT ${recordColumns} FROM legate.deliveries ${deliveryJoins}
      WHERE deliveries.id > $1 AND ($2::boolean IS NULL OR deliveries.is_dead = $2)
        AND configs.task_id = $4
      ORDER BY deliveries.id LIMIT $3`,
  },
};

/**
 * Push configurations and the outbox. A delivery is pending, then deleted or dead. A dead delivery can
 * be revived.
 */
export class PushTable implements PushStore {
  readonly #connections: Connections;

  constructor(connections: Connections) {
    this.#connections = connections;
  }

  async put(taskId: string, registration: PushRegistration): Promise<void> {
    const values = [taskId, ...registrationValues(registration)];
    const [row] = await this.#connections.writes.write(statements.put, values);
    if (row?.['is_put'] !== true) throw taskNotFound(taskId);
  }

  async get(taskId: string, configId: string): Promise<PushRegistration | undefined> {
    const [row] = await this.#connections.reads.read(statements.get, [taskId, configId]);
    return row === undefined ? undefined : toRegistration(row);
  }

  async list(taskId: string): Promise<readonly PushRegistration[]> {
    const rows = await this.#connections.reads.read(statements.list, [taskId]);
    return rows.map(toRegistration);
  }

  async delete(taskId: string, configId: string): Promise<boolean> {
    const [row] = await this.#connections.writes.write(statements.delete, [taskId, configId]);
    return row?.['is_deleted'] === true;
  }

  async claim(query: Parameters<PushStore['claim']>[0]): Promise<readonly Delivery[]> {
    const values = [query.replica, Math.round(query.leaseMs), query.limit];
    return (await this.#connections.upkeep.write(statements.claim, values)).map(toDelivery);
  }

  async settle(deliveryId: number, outcome: DeliveryOutcome): Promise<void> {
    await this.#connections.upkeep.write(statements.settle, [
      deliveryId,
      outcome.kind,
      outcome.kind === 'retry' ? Math.round(outcome.afterMs) : null,
      outcome.kind === 'delivered' ? null : outcome.error.replaceAll('\0', ''),
    ]);
  }

  async nextDueMs(): Promise<number | undefined> {
    const [row] = await this.#connections.upkeep.read(statements.nextDue, []);
    return row === undefined ? undefined : Number(row['due_in']);
  }

  async counts(): ReturnType<PushStore['counts']> {
    const [row] = await this.#connections.upkeep.read(statements.counts, []);
    return { pending: Number(row?.['pending']), dead: Number(row?.['dead']) };
  }

  async deliveries(
    query: Parameters<PushStore['deliveries']>[0],
  ): Promise<readonly DeliveryRecord[]> {
    const { after = 0, taskId, state, limit } = query;
    const values = [after, state === undefined ? null : state === 'dead', limit];
    const { reads } = this.#connections;
    const rows = await (taskId === undefined
      ? reads.read(statements.deliveries, values)
      : reads.read(statements.deliveriesOfTask, [...values, taskId]));
    return rows.map(toDeliveryRecord);
  }

  async revive(deliveryId: number): Promise<boolean> {
    const [row] = await this.#connections.upkeep.write(statements.revive, [deliveryId]);
    return row?.['is_revived'] === true;
  }
}
