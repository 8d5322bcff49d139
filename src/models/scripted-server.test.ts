import { expect, test } from 'vitest';
import { startScriptedModelServer } from './scripted-server.ts';
import { whenAsked } from './script.ts';

async function post(url: string, body: unknown): Promise<Response> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return fetch(`${url}/chat/completions`, { method: 'POST', body: text });
}
const said = (content: string) => ({ model: 'm', messages: [{ role: 'user', content }] });

test('lists its models', async () => {
  await using server = await startScriptedModelServer([], { models: ['a', 'b'] });
  const body = (await (await fetch(`${server.url}/models`)).json()) as { data: { id: string }[] };
  expect(body.data.map((model) => model.id)).toEqual(['a', 'b']);
});

test('answers by what was asked', async () => {
  const script = whenAsked([[/balance/, 'check_balance']], 'otherwise');
  await using server = await startScriptedModelServer(script);
  const first = (await (await post(server.url, said('my balance?'))).json()) as object;
  expect(first).toMatchObject({ choices: [{ message: { content: 'check_balance' } }] });
  const second = (await (await post(server.url, said('hm'))).json()) as object;
  expect(second).toMatchObject({ choices: [{ message: { content: 'otherwise' } }] });
});

test('a script that has run out answers 500 and says so', async () => {
  await using server = await startScriptedModelServer([]);
  const response = await post(server.url, said('one more'));
  expect(response.status).toBe(500);
  expect(await response.text()).toContain('no reply number 1; it was asked: one more');
});

test.each([
  ['no JSON', '{'],
  ['no object', '[]'],
])('%s is answered 400', async (_name, body) => {
  await using server = await startScriptedModelServer(['x']);
  expect((await post(server.url, body)).status).toBe(400);
});

test('a body over the limit is refused, an unknown path not found', async () => {
  await using server = await startScriptedModelServer(['x'], { maxBodyBytes: 10 });
  expect((await post(server.url, said('long enough'))).status).toBe(413);
  expect((await fetch(`${server.url}/nothing`)).status).toBe(404);
});

test('errors carry their headers', async () => {
  const error = { status: 429, headers: { 'retry-after': '2' } };
  await using server = await startScriptedModelServer([{ error }]);
  const response = await post(server.url, said('x'));
  expect([response.status, response.headers.get('retry-after')]).toEqual([429, '2']);
});

test('a stream ends with usage when asked, and with [DONE]', async () => {
  await using server = await startScriptedModelServer(['one two']);
  const asked = { ...said('x'), stream: true, stream_options: { include_usage: true } };
  const text = await (await post(server.url, asked)).text();
  expect(text).toContain('"content":" two"');
  expect(text).toContain('"total_tokens"');
  expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
});
