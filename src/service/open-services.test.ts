import { expect, test } from 'vitest';
import { intercepted } from '../../test/support/intercepted-store.ts';
import { agent } from '../agents/index.ts';
import { LegateError } from '../protocol/index.ts';
import { openMemoryReplicas, type Store } from '../store/index.ts';
import { silentLogger } from '../telemetry/index.ts';
import { openServices } from './open-services.ts';

const silent = (name: string) => ({ agent: agent({ name }, async function* () {}), options: {} });

/** A store that is down when replicas retire. */
function failing(): { readonly store: Store; readonly retired: string[] } {
  const [inner] = openMemoryReplicas(1);
  if (inner === undefined) throw new Error('expected a store');
  const retired: string[] = [];
  const store = intercepted(inner, {
    retire: (_, replica) => {
      retired.push(replica);
      return Promise.reject(new LegateError('STORE_FAILED', `down ${retired.length}`));
    },
  });
  return { store, retired };
}

test('closing continues after a failure and throws the first one', async () => {
  const { store, retired } = failing();
  const services = await openServices([silent('one'), silent('two')], {
    store,
    logger: silentLogger,
  });
  await expect(services.close()).rejects.toThrow('down 1');
  expect(new Set(retired).size).toBe(2);
});

test('a start that fails throws its own error, even if closing fails too', async () => {
  const { store, retired } = failing();
  const broken = silent('two');
  const prepare = (): Promise<void> => Promise.reject(new Error('no model'));
  const agents = [silent('one'), { ...broken, agent: { ...broken.agent, prepare } }];
  await expect(openServices(agents, { store, logger: silentLogger })).rejects.toThrow('no model');
  expect(retired).toHaveLength(1);
});
