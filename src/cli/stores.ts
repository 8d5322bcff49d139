import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { openStore, type Store, type StoreOptions } from '../store/index.ts';
import { Progress } from './progress.ts';
import { usage } from './usage.ts';

/** A file, or the URL of a database. */
export function namedStore(place: string): Exclude<StoreOptions, { type: 'memory' }> {
  return /^postgres(?:ql)?:\/\//.test(place)
    ? { type: 'postgres', url: place }
    : { type: 'sqlite', path: resolve(place) };
}

/** Opens a store that an agent may have open, too. */
export async function inStore(
  place: string,
  action: (store: Store) => Promise<void>,
): Promise<void> {
  const named = namedStore(place);
  if (named.type === 'sqlite' && !existsSync(named.path)) {
    throw usage(
      `there is no store ${place}; set --store or LEGATE_STORE to the store of the agent`,
    );
  }
  using progress = new Progress('Opening the store');
  const store = await openStore(
    named.type === 'sqlite' ? { ...named, guest: true } : { ...named, migrates: false },
  );
  progress.clear();
  try {
    await action(store);
  } finally {
    await store.close();
  }
}
