import { type Neighbour, normalised } from '../../search/index.ts';
import type { StoredVector, VectorScope, VectorStore } from '../contract.ts';
import type { Connections } from './open-postgres.ts';
import { escapeKey, unescapeKey } from './record-table.ts';
import type { Statement } from './statement.ts';

const scope = 'FROM legate.vectors WHERE space = $1 AND owner = $2 AND model = $3';
const statements = {
  write: {
    name: 'vector_write',
    text: `INSERT INTO legate.vectors (space, owner, model, key, vector)
      SELECT $1, $2, $3, given.key, given.vector::real[]
      FROM unnest($4::text[], $5::text[]) AS given (key, vector)
      ON CONFLICT (space, owner, model, key) DO UPDATE SET vector = excluded.vector`,
  },
  keys: {
    name: 'vector_keys',
    text: `SELECT key ${scope} AND ($4::text IS NULL OR key > $4) ORDER BY key LIMIT $5`,
  },
  lastKey: { name: 'vector_last', text: `SELECT max(key) AS key ${scope}` },
  delete: {
    name: 'vector_delete',
    text: `DELETE FROM legate.vectors
      WHERE space = $1 AND owner = $2 AND ($3::text[] IS NULL OR key = ANY ($3))`,
  },
  /** The schema of pgvector's type and operator. */
  extension: {
    name: 'vector_extension',
    text: `SELECT quote_ident(nspname) AS schema
      FROM pg_type JOIN pg_namespace ON pg_namespace.oid = typnamespace
      WHERE typname = 'vector' AND EXISTS (
        SELECT FROM pg_operator WHERE oprname = '<#>' AND oprleft = pg_type.oid
      )`,
  },
  nearest: {
    name: 'vector_nearest',
    text: nearest('(SELECT sum(one * other) FROM unnest(vector, $4::real[]) AS pair (one, other))'),
  },
};

/** Excludes vectors of another length before it computes similarities. */
function nearest(similarity: string): string {
  return `SELECT key, ${similarity} AS similarity
    FROM (SELECT key, vector ${scope} AND cardinality(vector) = $6 OFFSET 0) AS same
    ORDER BY similarity DESC, key LIMIT $5`;
}

/**
 * Embeddings. A search compares all vectors of its scope, in the database. It uses pgvector if that is
 * installed, which takes a fraction of the time.
 */
export class VectorTable implements VectorStore {
  readonly #connections: Connections;
  #nearest: Promise<Statement> | undefined;

  constructor(connections: Connections) {
    this.#connections = connections;
  }

  async write(of: VectorScope, vectors: readonly StoredVector[]): Promise<void> {
    await this.#connections.writes.write(statements.write, [
      ...scopeValues(of),
      vectors.map(({ key }) => escapeKey(key)),
      vectors.map(({ vector }) => arrayOf(vector)),
    ]);
  }

  async keys(
    of: VectorScope,
    { after, limit }: Parameters<VectorStore['keys']>[1],
  ): Promise<readonly string[]> {
    const from = after === undefined ? null : escapeKey(after);
    const rows = await this.#connections.reads.read(statements.keys, [
      ...scopeValues(of),
      from,
      limit,
    ]);
    return rows.map(({ key }) => unescapeKey(String(key)));
  }

  async lastKey(of: VectorScope): Promise<string | undefined> {
    const [row] = await this.#connections.reads.read(statements.lastKey, scopeValues(of));
    return typeof row?.['key'] === 'string' ? unescapeKey(row['key']) : undefined;
  }

  async nearest(
    of: VectorScope,
    vector: Float32Array,
    limit: number,
  ): Promise<readonly Neighbour[]> {
    const rows = await this.#connections.reads.read(await this.#statement(), [
      ...scopeValues(of),
      arrayOf(vector),
      limit,
      vector.length,
    ]);
    return rows.map(({ key, similarity }) => ({
      key: unescapeKey(String(key)),
      similarity: Number(similarity),
    }));
  }

  async delete({ space, owner, keys }: Parameters<VectorStore['delete']>[0]): Promise<void> {
    await this.#connections.writes.write(statements.delete, [
      escapeKey(space),
      escapeKey(owner),
      keys?.map(escapeKey) ?? null,
    ]);
  }

  /** Looked up once per store: an extension that is installed later is used after a restart. */
  async #statement(): Promise<Statement> {
    this.#nearest ??= this.#connections.reads.read(statements.extension, []).then(([row]) => {
      const schema = row?.['schema'];
      if (typeof schema !== 'string') return statements.nearest;
      // The negative inner product, which is defined for a zero vector too.
      const negated = `vector::${schema}.vector OPERATOR(${schema}.<#>) $4::real[]::${schema}.vector`;
      return { name: 'vector_nearest_pgvector', text: nearest(`-(${negated})`) };
    });
    try {
      return await this.#nearest;
    } catch (error) {
      this.#nearest = undefined;
      throw error;
    }
  }
}

function scopeValues({ space, owner, model }: VectorScope): string[] {
  return [escapeKey(space), escapeKey(owner), escapeKey(model)];
}

function arrayOf(vector: Float32Array): string {
  return `{${normalised(vector).join(',')}}`;
}
