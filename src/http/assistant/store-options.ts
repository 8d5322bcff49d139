import { join, resolve } from 'node:path';
import { LegateError } from '../../protocol/index.ts';
import type { StoreOptions } from '../../store/index.ts';

/** `store:` of endpoints.yml; without one, everything is kept beside the project. */
export function storeOf(section: unknown, directory: string): StoreOptions {
  const fields = (section ?? {}) as Readonly<Record<string, unknown>>;
  const { type = 'sqlite', path = join('.legate', 'store.db'), url } = fields;
  if (typeof path !== 'string' || path === '') {
    throw invalid('endpoints.yml store.path: must be the path of a file');
  }
  if (type === 'memory') return { type: 'memory' };
  if (type === 'sqlite') return { type: 'sqlite', path: resolve(directory, path) };
  if (type === 'postgres') {
    if (typeof url !== 'string') throw invalid('endpoints.yml store.url: is missing');
    const { max_connections: maxConnections } = fields;
    return { type, url, ...(typeof maxConnections === 'number' && { maxConnections }) };
  }
  throw invalid(
    `endpoints.yml store.type: there is no store ${JSON.stringify(type)}; use memory, sqlite or postgres`,
  );
}

function invalid(message: string): LegateError {
  return new LegateError('CONFIGURATION_INVALID', message);
}
