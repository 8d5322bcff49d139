import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { intercepted } from '../../../test/support/intercepted-store.ts';
import { openMemory } from '../../store/index.ts';
import { InProcessActions } from '../actions/in-process.ts';
import { served } from './testing/served.ts';

/** Actions that count how often they are closed. */
class CountedActions extends InProcessActions {
  closings = 0;

  async close(): Promise<void> {
    this.closings += 1;
  }
}

test.each(['a2a', 'rest'])(
  'a reload closes the former model only after a turn that loads its conversation (%s)',
  async (door) => {
    const loading = Promise.withResolvers<void>();
    const loaded = Promise.withResolvers<void>();
    const store = intercepted(openMemory(), {
      loadContext: async (go) => {
        loading.resolve();
        await loaded.promise;
        return go();
      },
    });
    const actions = new CountedActions([]);
    await using house = await served({ store, build: { actions } });
    const working =
      door === 'a2a'
        ? house.say('hello', { contextId: 'ada' })
        : house.api('POST', '/webhooks/rest/webhook', { sender: 'ada', message: 'hello' });
    await loading.promise;
    expect((await house.api('PUT', '/model', {})).status).toBe(204);
    await setImmediate();
    expect(actions.closings).toBe(0);
    loaded.resolve();
    await working;
    await expect.poll(() => actions.closings).toBe(1);
  },
);
