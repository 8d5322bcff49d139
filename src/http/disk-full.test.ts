import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { setDiskFull } from '../../test/support/full-disk.ts';
import { agent } from '../agents/index.ts';
import { artifact } from '../protocol/index.ts';
import type { StoreOptions } from '../store/index.ts';
import { emptyDatabase, setDatabaseFull } from '../store/postgres/database.contract.ts';
import type { Logger } from '../telemetry/index.ts';
import { serve } from './index.ts';

const echo = agent({ name: 'echo' }, async function* () {
  yield artifact('x'.repeat(20_000));
});

/** Lines of a log that call for attention, by their events. */
function logged(): { readonly lines: string[]; readonly logger: Logger } {
  const lines: string[] = [];
  const write = (_fields: object, event?: string): void => void lines.push(event ?? '');
  const logger: Logger = {
    debug: () => {},
    info: () => {},
    warn: write,
    error: write,
    child: () => logger,
  };
  return { lines, logger };
}

const directory = mkdtempSync(join(tmpdir(), 'legate-full-'));
const media: Record<
  string,
  () => Promise<{
    readonly store: StoreOptions;
    readonly reason: string;
    readonly setFull: (isFull: boolean) => Promise<void> | void;
    remove(): void;
  }>
> = {
  SQLite: async () => ({
    store: { type: 'sqlite', path: join(directory, 'store.db') },
    reason: 'the disk of the store is full',
    setFull: setDiskFull,
    remove: () => rmSync(directory, { recursive: true, force: true }),
  }),
  PostgreSQL: async () => {
    const url = await emptyDatabase();
    return {
      store: { type: 'postgres', url },
      reason: 'the disk of the database is full',
      setFull: (isFull) => setDatabaseFull(url, isFull),
      remove: () => {},
    };
  },
};

test.for(Object.keys(media))(
  'a full disk (%s) is logged once, makes the server not ready, and is over when there is room',
  { timeout: 60_000 },
  async (name) => {
    const medium = await media[name]?.();
    if (medium === undefined) throw new Error('a medium was expected');
    const { lines, logger } = logged();
    const { store, reason, setFull } = medium;
    try {
      await using server = await serve(echo, {
        store,
        logger,
        prometheus: true,
        leaseMs: 1_500,
        push: {},
      });
      const url = `http://127.0.0.1:${server.port}`;
      const ready = async (): Promise<unknown> => (await fetch(`${url}/ready`)).json();
      const send = async (): Promise<number> => {
        const message = {
          messageId: crypto.randomUUID(),
          role: 'ROLE_USER',
          parts: [{ text: 'x' }],
        };
        const response = await fetch(`${url}/message:send`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
          body: JSON.stringify({ message }),
        });
        await response.text();
        return response.status;
      };
      expect(await send()).toBe(200);
      expect(await ready()).toEqual({ status: 'ok' });
      await setFull(true);
      const statuses = await Promise.all(Array.from({ length: 50 }, send));
      expect(new Set(statuses)).toEqual(new Set([503]));
      expect(await ready()).toEqual({ status: 'unavailable', reason });
      expect((await fetch(`${url}/ready`)).status).toBe(503);
      expect((await fetch(`${url}/health`)).status).toBe(200);
      const metrics = await (await fetch(`${url}/metrics`)).text();
      const counted = /^legate_store_write_failures_total\{.*\} (\d+)$/m.exec(metrics)?.[1];
      expect(Number(counted)).toBeGreaterThanOrEqual(50);
      await setFull(false);
      await expect.poll(ready, { timeout: 20_000 }).toEqual({ status: 'ok' });
      expect(await send()).toBe(200);
      const outages = lines.filter((line) => line.startsWith('store.outage'));
      expect(outages).toEqual(['store.outage.started', 'store.outage.ended']);
      expect(lines.filter((line) => line.endsWith('failed'))).toEqual([]);
    } finally {
      medium.remove();
    }
  },
);
