/** That a conversation rests is noted once, whatever the store and however many processes look for it. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ManualScheduler } from '../../src/assistant/channels/testing/manual-scheduler.ts';
import { served } from '../../src/assistant/channels/testing/served.ts';
import { describeStores, type StorePlace } from '../support/stores.ts';

const minute = 60_000;
const conversations = ['ann', 'bob', 'cleo', 'dora', 'emil'];

describeStores('conversations at rest', (openPlace) => {
  let place: StorePlace;
  beforeEach(async () => {
    place = await openPlace();
  });
  afterEach(() => place.remove());

  test('are noted once by two replicas', async () => {
    const scheduler = new ManualScheduler();
    await using one = await served({ scheduler, store: await place.open() });
    await using other = await served({ scheduler, store: await place.open() });
    for (const contextId of conversations) await one.say('water the Monstera', { contextId });
    const rests = async (): Promise<readonly number[]> => {
      scheduler.advance(minute / 6);
      const trackers = await Promise.all(conversations.map((id) => other.tracker(id)));
      return trackers.map(
        ({ events }) => events.filter(({ event }) => event === 'conversation_inactive').length,
      );
    };
    expect(await rests()).toEqual([0, 0, 0, 0, 0]);
    scheduler.advance(61 * minute);
    await expect.poll(rests, { timeout: 20_000 }).toEqual([1, 1, 1, 1, 1]);
    // Whatever was claimed and not settled comes up again: it finds nothing to do.
    for (let look = 0; look < 20; look += 1) await rests();
    expect(await rests()).toEqual([1, 1, 1, 1, 1]);
    const { body } = await other.rpc('ListTasks', {}, { 'a2a-version': '1.0' });
    expect(body['result']).toMatchObject({ totalSize: conversations.length });
  });
});
