import { expect, test } from 'vitest';
import { served } from './testing/served.ts';

async function get(url: string, path: '/ready' | '/health') {
  const response = await fetch(`${url}${path}`);
  return { status: response.status, body: (await response.json()) as unknown };
}

const missing = { status: 503, body: { status: 'unavailable', reason: 'no model is loaded' } };
const ready = { status: 200, body: { status: 'ok' } };

test('an assistant is ready once its model is loaded; before, /ready says what is missing', async () => {
  const seen: unknown[] = [];
  await using house = await served({
    onListening: async (url) => {
      seen.push(await get(url, '/ready'), (await get(url, '/health')).status);
    },
  });
  expect(seen).toEqual([missing, 200]);
  expect(await get(house.url, '/ready')).toEqual(ready);
});

test('an assistant whose model was unloaded is not ready until it has one again', async () => {
  await using house = await served();
  expect((await house.api('DELETE', '/model')).status).toBe(204);
  expect(await get(house.url, '/ready')).toEqual(missing);
  expect((await get(house.url, '/health')).status).toBe(200);
  expect((await house.api('PUT', '/model', {})).status).toBe(204);
  expect(await get(house.url, '/ready')).toEqual(ready);
});

test('an assistant stays ready when the file of another model is not there', async () => {
  await using house = await served();
  const { status } = await house.api('PUT', '/model', { model_file: 'nowhere.tar.gz' });
  expect(status).toBeGreaterThanOrEqual(400);
  expect(await get(house.url, '/ready')).toEqual(ready);
  const answer = await house.say('report the growth');
  expect(answer.status.state).toBe('completed');
});
