import type { Store } from './contract.ts';

/** Which store to open. */
export type StoreOptions = { readonly type: 'memory' };

/**
 * Opens a store. Drivers are loaded when they are asked for, so a program pays for one only.
 * @example const store = await openStore({ type: 'memory' });
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  switch (options.type) {
    case 'memory':
      return (await import('./memory/index.ts')).openMemory();
  }
}
