import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { Nearest, type Neighbour, normalised } from '../../search/index.ts';
import type { StoredVector, VectorScope, VectorStore } from '../contract.ts';
import type { GroupCommit } from './group-commit.ts';

/** Keys are read as bytes, because Node 22 truncates text at its first NUL. */
const keyBytes = 'CAST(key AS BLOB) AS key_bytes';
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
/** Vectors that are compared per iteration of the event loop. */
const pageSize = 200;

/** Embeddings. A search compares all vectors of its scope, page by page. */
export class VectorTable implements VectorStore {
  readonly #commits: GroupCommit;
  readonly #upsert: StatementSync;
  readonly #keys: StatementSync;
  readonly #last: StatementSync;
  readonly #page: StatementSync;
  readonly #deleteKey: StatementSync;
  readonly #deleteOwner: StatementSync;

  constructor(database: DatabaseSync, commits: GroupCommit) {
    this.#commits = commits;
    this.#upsert = database.prepare(
      'INSERT OR REPLACE INTO vectors (space, owner, model, key, vector) VALUES (?, ?, ?, ?, ?)',
    );
    const scope = 'FROM vectors WHERE space = ? AND owner = ? AND model = ?';
    this.#keys = database.prepare(`SELECT ${keyBytes} ${scope} AND key >= ? ORDER BY key LIMIT ?`);
    this.#last = database.prepare(`SELECT ${keyBytes} ${scope} ORDER BY key DESC LIMIT 1`);
    this.#page = database.prepare(
      `SELECT ${keyBytes}, vector ${scope} AND key >= ? ORDER BY key LIMIT ${pageSize}`,
    );
    const ofOwner = 'DELETE FROM vectors WHERE space = ? AND owner = ?';
    this.#deleteKey = database.prepare(`${ofOwner} AND key = ?`);
    this.#deleteOwner = database.prepare(ofOwner);
  }

  write({ space, owner, model }: VectorScope, vectors: readonly StoredVector[]): Promise<void> {
    return this.#commits.write(() => {
      for (const { key, vector } of vectors) {
        const { buffer, byteOffset, byteLength } = normalised(vector);
        this.#upsert.run(space, owner, model, key, new Uint8Array(buffer, byteOffset, byteLength));
      }
    });
  }

  keys(
    { space, owner, model }: VectorScope,
    { after, limit }: Parameters<VectorStore['keys']>[1],
  ): Promise<readonly string[]> {
    return this.#commits.read(() =>
      this.#keys.all(space, owner, model, following(after), limit).map(keyOf),
    );
  }

  lastKey({ space, owner, model }: VectorScope): Promise<string | undefined> {
    return this.#commits.read(() => {
      const row = this.#last.get(space, owner, model);
      return row && keyOf(row);
    });
  }

  async nearest(
    { space, owner, model }: VectorScope,
    vector: Float32Array,
    limit: number,
  ): Promise<readonly Neighbour[]> {
    const nearest = new Nearest(vector, limit);
    let after: string | undefined;
    for (;;) {
      const rows = await this.#commits.read(() =>
        this.#page.all(space, owner, model, following(after)),
      );
      for (const row of rows) {
        after = keyOf(row);
        nearest.offer(after, vectorOf(row['vector']));
      }
      if (rows.length < pageSize) return nearest.best;
      await setImmediate();
    }
  }

  delete({ space, owner, keys }: Parameters<VectorStore['delete']>[0]): Promise<void> {
    return this.#commits.write(() => {
      if (keys === undefined) this.#deleteOwner.run(space, owner);
      for (const key of keys ?? []) this.#deleteKey.run(space, owner, key);
    });
  }
}

/** No text is between a text and the same text with a NUL appended. */
function following(after: string | undefined): string {
  return after === undefined ? '' : `${after}\0`;
}

type SqliteRow = NonNullable<ReturnType<StatementSync['get']>>;

function keyOf({ key_bytes: bytes }: SqliteRow): string {
  return bytes instanceof Uint8Array ? utf8.decode(bytes) : '';
}

function vectorOf(bytes: SqliteRow[string] | undefined): Float32Array {
  if (!(bytes instanceof Uint8Array)) return new Float32Array(0);
  const { buffer, byteOffset, byteLength } = bytes;
  const isAligned = byteOffset % Float32Array.BYTES_PER_ELEMENT === 0;
  return isAligned
    ? new Float32Array(buffer, byteOffset, byteLength / Float32Array.BYTES_PER_ELEMENT)
    : new Float32Array(Uint8Array.from(bytes).buffer);
}
