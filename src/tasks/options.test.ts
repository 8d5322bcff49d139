import { expect, test } from 'vitest';
import { agent } from '../agents/index.ts';
import { openMemory } from '../store/index.ts';
import { resolveOptions } from './options.ts';

test('an option given as undefined has its default', async () => {
  const store = openMemory();
  const base = { agent: agent({ name: 'a' }, async () => 'hi'), store };
  const unset: object = { taskTimeoutMs: undefined, logger: undefined, maxEvents: undefined };
  const settings = resolveOptions({ ...base, ...unset });
  const defaults = resolveOptions(base);
  expect(settings.taskTimeoutMs).toBe(defaults.taskTimeoutMs);
  expect(settings.messageCacheTtlMs).toBe(defaults.messageCacheTtlMs);
  expect(settings.logger).toBe(defaults.logger);
  expect(settings.maxEvents).toBe(defaults.maxEvents);
  await store.close();
});
