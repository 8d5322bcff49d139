import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'vitest';
import { openStore, type Store } from '../../src/store/index.ts';
import { postgres } from './postgres.ts';

/** A store for one test: `open` may be called again to see what a restart would find. */
export interface StorePlace {
  open(): Promise<Store>;
  remove(): Promise<void>;
}

const drivers: Record<string, () => Promise<StorePlace>> = {
  memory: async () => {
    const store = await openStore({ type: 'memory' });
    return { open: async () => store, remove: async () => store.close() };
  },
  sqlite: async () => {
    const directory = await temporaryDirectory();
    const path = join(directory.path, 'store.db');
    let store: Store | undefined;
    return {
      // One process owns the file: opening it again stands for a restart.
      open: async () => (store ??= await openStore({ type: 'sqlite', path })),
      remove: async () => {
        await store?.close();
        await directory[Symbol.asyncDispose]();
      },
    };
  },
  postgres: async () => {
    const url = await (await postgres()).database();
    const stores: Store[] = [];
    return {
      open: async () => {
        const store = await openStore({ type: 'postgres', url });
        stores.push(store);
        return store;
      },
      remove: async () => {
        for (const store of stores) await store.close();
      },
    };
  },
};

/** Runs the same behaviour over every store driver. */
export function describeStores(
  title: string,
  body: (place: () => Promise<StorePlace>) => void,
): void {
  for (const [name, place] of Object.entries(drivers)) {
    describe(`${title} (${name})`, () => body(place));
  }
}

export async function temporaryDirectory(): Promise<AsyncDisposable & { path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'legate-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
