import { join, resolve } from 'node:path';
import type { StoreSettings } from '../config/index.ts';
import type { StoreOptions } from './open.ts';

/** What `store:` of a project asks for; without the block, everything is kept beside the project. */
export function storeOptionsOf(
  settings: StoreSettings | undefined,
  directory: string,
): StoreOptions {
  const { type = 'sqlite', path = join('.legate', 'store.db') } = settings ?? {};
  if (type === 'memory') return { type };
  if (type === 'sqlite') return { type, path: resolve(directory, path) };
  const { url = '', maxConnections } = settings ?? {};
  return { type, url, ...(maxConnections !== undefined && { maxConnections }) };
}
