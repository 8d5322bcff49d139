import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { Json, type JsonValue } from '../../protocol/index.ts';
import type { RecordStore, RecordWrite, StoreClock, StoredRecord } from '../contract.ts';
import { compareText, prefixEnd } from '../encoding.ts';
import { applyWrites, holds, increment, type RecordRows } from '../record-rules.ts';
import type { GroupCommit } from './group-commit.ts';

/** Keys are read as bytes, because Node 22 truncates text at its first NUL. */
const columns = 'CAST(key AS BLOB) AS key_bytes, value, version, expires_at, updated_at';
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
const isLive = '(expires_at IS NULL OR expires_at > ?)';

/** Small documents by space and key. */
export class RecordTable implements RecordStore, RecordRows {
  readonly clock: StoreClock;
  readonly #commits: GroupCommit;
  readonly #select: StatementSync;
  readonly #upsert: StatementSync;
  readonly #delete: StatementSync;
  readonly #list: StatementSync;
  readonly #listPrefix: StatementSync;
  readonly #sweep: StatementSync;

  constructor(database: DatabaseSync, commits: GroupCommit, clock: StoreClock) {
    this.clock = clock;
    this.#commits = commits;
    this.#select = database.prepare(
      `SELECT ${columns} FROM records WHERE space = ? AND key = ? AND ${isLive}`,
    );
    this.#upsert = database.prepare(
      `INSERT OR REPLACE INTO records (space, key, value, version, expires_at, updated_at)
       VALUES (?, ?, ?, ?, ?, ?)`,
    );
    this.#delete = database.prepare('DELETE FROM records WHERE space = ? AND key = ?');
    const list = `SELECT ${columns} FROM records WHERE space = ? AND key >= ? AND ${isLive}`;
    this.#list = database.prepare(`${list} ORDER BY key LIMIT ?`);
    this.#listPrefix = database.prepare(`${list} AND key < ? ORDER BY key LIMIT ?`);
    this.#sweep = database.prepare(
      `DELETE FROM records WHERE rowid IN (SELECT rowid FROM records WHERE expires_at <= ? LIMIT ?)`,
    );
  }

  get(space: string, key: string, now: number): Promise<StoredRecord | undefined> {
    return this.#commits.read(() => this.find(space, key, now));
  }

  write(writes: readonly RecordWrite[], now: number): Promise<boolean> {
    return this.#commits.write(() => {
      if (!holds(this, writes, now)) return false;
      applyWrites(this, writes, now);
      return true;
    });
  }

  list(query: Parameters<RecordStore['list']>[0]): Promise<readonly StoredRecord[]> {
    const { space, prefix = '', after, now, limit } = query;
    // No text is between a text and the same text with a NUL appended.
    const next = after === undefined ? prefix : `${after}\0`;
    const from = compareText(next, prefix) > 0 ? next : prefix;
    const end = prefixEnd(prefix);
    return this.#commits.read(() => {
      const rows =
        end === undefined
          ? this.#list.all(space, from, now, limit)
          : this.#listPrefix.all(space, from, now, end, limit);
      return rows.map(toRecord);
    });
  }

  increment(counter: Parameters<RecordStore['increment']>[0]): Promise<number> {
    return this.#commits.write(() => increment(this, counter));
  }

  /** Must run inside a transaction. */
  sweep(now: number, limit: number): number {
    return Number(this.#sweep.run(now, limit).changes);
  }

  find(space: string, key: string, now: number): StoredRecord | undefined {
    const row = this.#select.get(space, key, now);
    return row === undefined ? undefined : toRecord(row);
  }

  /** Must run inside a transaction. */
  put(space: string, { key, value, version, expiresAt, updatedAt }: StoredRecord): void {
    this.#upsert.run(space, key, value.text, version, expiresAt ?? null, updatedAt);
  }

  /** Must run inside a transaction. */
  remove(space: string, key: string): void {
    this.#delete.run(space, key);
  }
}

function toRecord(row: NonNullable<ReturnType<StatementSync['get']>>): StoredRecord {
  const { expires_at: expiresAt, key_bytes: bytes } = row;
  return {
    key: bytes instanceof Uint8Array ? utf8.decode(bytes) : '',
    value: Json.fromText<JsonValue>(String(row['value'])),
    version: Number(row['version']),
    updatedAt: Number(row['updated_at']),
    ...(typeof expiresAt === 'number' && { expiresAt }),
  };
}
