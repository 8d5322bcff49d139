import { Json, type JsonValue, LegateError } from '../../protocol/index.ts';
import type { RecordStore, RecordWrite, StoreClock, StoredRecord } from '../contract.ts';
import { compareText, prefixEnd } from '../encoding.ts';
import type { Connections } from './open-postgres.ts';
import type { Row, Value } from './statement.ts';

const columns = 'key, value, version, expires_at, updated_at';
const statements = {
  get: {
    name: 'record_get',
    text: `SELECT ${columns} FROM legate.records
      WHERE space = $1 AND key = $2 AND (expires_at IS NULL OR expires_at > $3)`,
  },
  write: {
    name: 'record_write',
    text: 'SELECT legate.write_records($1, $2, $3, $4, $5, $6) AS is_written',
  },
  list: {
    name: 'record_list',
    text: `SELECT ${columns} FROM legate.records
      WHERE space = $1 AND key >= $2 AND ($3::text IS NULL OR key < $3)
        AND (expires_at IS NULL OR expires_at > $4)
      ORDER BY key LIMIT $5`,
  },
  increment: {
    name: 'record_increment',
    text: 'SELECT legate.increment($1, $2, $3, $4, $5) AS total',
  },
};

/** Small documents by space and key. */
export class RecordTable implements RecordStore {
  readonly clock: StoreClock;
  readonly #connections: Connections;

  constructor(connections: Connections, clock: StoreClock) {
    this.clock = clock;
    this.#connections = connections;
  }

  async get(space: string, key: string, now: number): Promise<StoredRecord | undefined> {
    const values = [escapeKey(space), escapeKey(key), now];
    const [row] = await this.#connections.reads.read(statements.get, values);
    return row === undefined ? undefined : toRecord(row);
  }

  async write(writes: readonly RecordWrite[], now: number): Promise<boolean> {
    const values = [...recordValues(writes), now];
    const [row] = await this.#connections.writes.write(statements.write, values);
    return row?.['is_written'] === true;
  }

  async list(query: Parameters<RecordStore['list']>[0]): Promise<readonly StoredRecord[]> {
    const { space, prefix = '', after, now, limit } = query;
    // No text is between a text and the same text with a NUL appended.
    const next = after === undefined ? prefix : `${after}\0`;
    const from = compareText(next, prefix) > 0 ? next : prefix;
    const end = prefixEnd(prefix);
    const rows = await this.#connections.reads.read(statements.list, [
      escapeKey(space),
      escapeKey(from),
      end === undefined ? null : escapeKey(end),
      now,
      limit,
    ]);
    return rows.map(toRecord);
  }

  async increment(counter: Parameters<RecordStore['increment']>[0]): Promise<number> {
    const { space, key, by, expiresAt, now } = counter;
    const values = [escapeKey(space), escapeKey(key), by, expiresAt, now];
    const [row] = await this.#connections.writes.write(statements.increment, values);
    const total = row?.['total'];
    if (typeof total === 'number') return total;
    throw new LegateError(
      'INTERNAL',
      `record ${space}/${key} is not a counter: its value is not a number`,
    );
  }
}

export const recordTypes = 'text[], text[], text[], bigint[], bigint[]';

/** Spaces, keys, values, expiries and expected versions: the parameters of `write_records`. */
export function recordValues(writes: readonly RecordWrite[]): Value[] {
  return [
    writes.map(({ space }) => escapeKey(space)),
    writes.map(({ key }) => escapeKey(key)),
    writes.map(({ value }) => value?.text ?? null),
    writes.map(({ expiresAt }) => expiresAt ?? null),
    writes.map(({ ifVersion }) => ifVersion ?? null),
  ];
}

function toRecord(row: Row): StoredRecord {
  const expiresAt = row['expires_at'];
  return {
    key: unescapeKey(String(row['key'])),
    value: Json.fromText<JsonValue>(String(row['value'])),
    version: Number(row['version']),
    updatedAt: Number(row['updated_at']),
    ...(expiresAt !== null && { expiresAt: Number(expiresAt) }),
  };
}

/**
 * PostgreSQL text cannot contain NUL. U+0001 U+0001 encodes NUL, and U+0001 U+0002 encodes U+0001,
 * which preserves the order and the prefixes of keys.
 */
export function escapeKey(key: string): string {
  return key.replaceAll('\u0001', '\u0001\u0002').replaceAll('\0', '\u0001\u0001');
}

export function unescapeKey(key: string): string {
  return key.replaceAll('\u0001\u0001', '\0').replaceAll('\u0001\u0002', '\u0001');
}
