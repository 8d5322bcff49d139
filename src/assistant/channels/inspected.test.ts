import { expect, test } from 'vitest';
import { z } from 'zod';
import { ownerKey } from '../../store/index.ts';
import { served } from './testing/served.ts';

const ada = { tenant: 'acme', subject: 'ada' };
const keyOf = (agent: string): string => encodeURIComponent(ownerKey({ agent, ...ada }));

test('the inspector reads, edits and forks the conversation of the named tenant and subject', async () => {
  await using house = await served({ inspect: { token: 'operator' } });
  const own = house.serving.conversations.of(ada);
  await own.say('c', 'hello', { channel: 'rest' });
  const call = (method: string, path: string, body?: unknown) =>
    house.api(method, `/inspect/api/conversations/c${path}`, body, {
      authorization: 'Bearer operator',
    });
  const query = `?owner=${keyOf('assistant')}`;

  const slot = { name: 'plant', value: 'Monstera' };
  expect((await call('POST', `/slots${query}`, slot)).status).toBe(200);
  expect(await own.tracker('c')).toMatchObject({ slots: { plant: 'Monstera' } });
  expect((await house.tracker('c')).events).toEqual([]);
  const shown = await call('GET', query);
  expect(shown.body).toMatchObject({ tracker: { slots: { plant: 'Monstera' } } });
  const forked = await call('POST', `/fork${query}`, { events: 100 });
  const { id } = z.object({ id: z.string() }).parse(forked.body);
  const copy = await house.tracker(id);
  expect(copy['slots']).toMatchObject({ plant: 'Monstera' });

  // An owner of another agent in the same store.
  const other = `?owner=${keyOf('bank')}`;
  for (const answer of [
    await call('POST', `/slots${other}`, { ...slot, value: 'Ficus' }),
    await call('POST', `/fork${other}`, { events: 100 }),
  ]) {
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({ error: { code: 'UNSUPPORTED_OPERATION' } });
  }
  expect(await own.tracker('c')).toMatchObject({ slots: { plant: 'Monstera' } });
});
