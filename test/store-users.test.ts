/** Trackers, sessions, the directory and trust are kept by whatever store there is, over a restart too. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { agent } from '../src/agents/index.ts';
import { served } from '../src/assistant/channels/testing/served.ts';
import { busInterface, Directory, readTrustName, TrustLedger } from '../src/peers/index.ts';
import { artifact } from '../src/protocol/index.ts';
import { Runner } from '../src/tasks/index.ts';
import { describeStores, type StorePlace } from './support/stores.ts';

describeStores('what modules keep', (openPlace) => {
  let place: StorePlace;
  beforeEach(async () => {
    place = await openPlace();
  });
  afterEach(() => place.remove());

  test('a tracker', async () => {
    const say = async (text: string): Promise<string> => {
      await using house = await served({ store: await place.open() });
      const response = await fetch(`${house.serving.url}/webhooks/rest/webhook`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ sender: 'ann', message: text }),
      });
      const said = (await response.json()) as readonly { readonly text: string }[];
      return said.map((one) => one.text).join(' ');
    };
    expect(await say('please water a plant')).toContain('Which plant?');
    expect(await say('Monstera')).toContain('How many litres?');
  });

  test('the state of a session', async () => {
    const counting = agent({ name: 'counter' }, async function* ({ session }) {
      const count = Number((await session.get('user:count')) ?? 0) + 1;
      session.set('user:count', count);
      yield artifact(`${count}`);
    });
    for (const count of ['1', '2']) {
      await using runner = new Runner({ agent: counting, store: await place.open() });
      expect(await runner.run({ message: 'go', userId: 'ann' })).toMatchObject({ text: count });
    }
  });

  test('an agent that was announced', async () => {
    const card = {
      name: 'Bob',
      description: 'Paints',
      version: '1',
      supportedInterfaces: [busInterface('Bob')],
      capabilities: {},
      defaultInputModes: [],
      defaultOutputModes: [],
      skills: [],
    };
    const first = new Directory({ records: (await place.open()).records });
    await first.announced({ card, isGone: false, sender: undefined });
    first.stop();
    const second = new Directory({ records: (await place.open()).records });
    expect(await second.find('bob')).toMatchObject({ name: 'Bob', origin: 'announced' });
    second.stop();
  });

  test('trust that was granted', async () => {
    const alice = readTrustName('message-token:alice');
    const granted = new TrustLedger({ records: (await place.open()).records });
    await granted.grant(alice, { level: 'act', skills: ['notify'], by: 'me' });
    const later = new TrustLedger({ records: (await place.open()).records });
    expect(await later.find(alice)).toMatchObject({ level: 'act', approvedSkills: ['notify'] });
  });
});
