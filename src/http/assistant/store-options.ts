import { join, resolve } from 'node:path';
import { LegateError } from '../../protocol/index.ts';
import type { StoreOptions } from '../../store/index.ts';

/** `store:` of endpoints.yml; without one, everything is kept beside the project. */
export function storeOf(section: unknown, directory: string): StoreOptions {
  const { type = 'sqlite', path = join('.legate', 'store.db') } = (section ?? {}) as {
    readonly type?: unknown;
    readonly path?: unknown;
  };
  if (typeof path !== 'string' || path === '') {
    throw invalid('endpoints.yml store.path: must be the path of a file');
  }
  if (type === 'memory') return { type: 'memory' };
  if (type === 'sqlite') return { type: 'sqlite', path: resolve(directory, path) };
  throw invalid(
    `endpoints.yml store.type: there is no store ${JSON.stringify(type)}; use memory or sqlite`,
  );
}

function invalid(message: string): LegateError {
  return new LegateError('CONFIGURATION_INVALID', message);
}
