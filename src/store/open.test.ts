import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { admit } from './behaviour/fixtures.contract.ts';
import { openStore } from './open.ts';

test('the type chooses the driver', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'legate-open-'));
  try {
    for (const options of [
      { type: 'memory' },
      { type: 'sqlite', path: join(directory, 'store.db') },
    ] as const) {
      const store = await openStore(options);
      expect(store.driver).toBe(options.type);
      await admit(store);
      await store.close();
    }
  } finally {
    rmSync(directory, { recursive: true });
  }
});
