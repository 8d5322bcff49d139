import { expect, test } from 'vitest';
import type { Serving } from '../../src/http/index.ts';
import { cardNames, cards } from './cards.ts';
import { startConformance } from './start.ts';

interface Answer {
  readonly status: number;
  readonly type: string | null;
  readonly body: {
    readonly result?: { readonly task?: { readonly status: { readonly state: string } } };
    readonly error?: { readonly code: number };
  };
}

async function call(
  { url }: Serving,
  method: string,
  parameters: object,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: parameters }),
  });
  const type = response.headers.get('content-type');
  const text = await response.text();
  const body = type === 'application/json' ? (JSON.parse(text) as Answer['body']) : {};
  return { status: response.status, type, body };
}

const saying = (messageId: string) => ({
  message: { messageId, role: 'ROLE_USER', parts: [{ text: 'Hello' }] },
});

test.each(cardNames)('the card %s declares what it is named for', async (name) => {
  await using serving = await startConformance({ card: name });
  const response = await fetch(`${serving.url}/.well-known/agent-card.json`);
  const card = (await response.json()) as { capabilities: object };
  const { extendedAgentCard, ...declared } = cards[name];
  expect(card.capabilities).toMatchObject({
    ...declared,
    ...(extendedAgentCard && { extendedAgentCard }),
  });
  // The 1.0 suite rejects members that 1.0 doesn't have.
  expect(card).not.toHaveProperty('preferredTransport');
});

test('under the profile 0.3, readers of 0.3 find their members in the card', async () => {
  await using serving = await startConformance({ profile: '0.3' });
  const response = await fetch(`${serving.url}/.well-known/agent-card.json`);
  expect(await response.json()).toMatchObject({ url: serving.url, preferredTransport: 'JSONRPC' });
});

test('messages are answered, and one messageId may be used for many', async () => {
  await using serving = await startConformance();
  for (const _ of [1, 2]) {
    const { body } = await call(serving, 'SendMessage', saying('tck-complete-task-1'));
    expect(body.result?.task?.status.state).toBe('TASK_STATE_COMPLETED');
  }
});

test('streaming is refused where the card does not declare it', async () => {
  await using full = await startConformance();
  const streamed = await call(full, 'SendStreamingMessage', saying('tck-stream-001'));
  expect(streamed.type).toMatch(/^text\/event-stream/);
  await using minimal = await startConformance({ card: 'minimal' });
  const refused = await call(minimal, 'SendStreamingMessage', saying('tck-stream-001'));
  expect(refused.body.error?.code).toBe(-32004);
});

test('a required extension has to be asked for', async () => {
  await using serving = await startConformance({ card: 'required-extension' });
  const extension = { 'a2a-extensions': 'urn:a2a:tck:required-extension' };
  const without = await call(serving, 'SendMessage', saying('m'));
  expect(without.body.error?.code).toBe(-32008);
  const asked = await call(serving, 'SendMessage', saying('m'), extension);
  expect(asked.body.result?.task?.status.state).toBe('TASK_STATE_COMPLETED');
});

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

test('the extended card is for those who may see it', async () => {
  await using serving = await startConformance();
  expect((await call(serving, 'GetExtendedAgentCard', {})).status).toBe(401);
  const asked = (token: string) => call(serving, 'GetExtendedAgentCard', {}, bearer(token));
  expect((await asked('itk-insufficient-token')).status).toBe(403);
  expect((await asked('itk-valid-token')).body.result).toHaveProperty('capabilities');
});

test('with a token required, no operation goes without', async () => {
  await using serving = await startConformance({ tokensFor: 'everything' });
  expect((await call(serving, 'SendMessage', saying('m'))).status).toBe(401);
  const asked = (token: string) => call(serving, 'SendMessage', saying('m'), bearer(token));
  expect((await asked('itk-insufficient-token')).status).toBe(403);
  expect((await asked('itk-valid-token')).body.result).toHaveProperty('task');
});

test.each([
  ['1.0.1', 400],
  ['1.0.0', 415],
] as const)('statuses follow the edition %s', async (errors, status) => {
  await using serving = await startConformance({ errors });
  const response = await fetch(`${serving.url}/message:send`, {
    method: 'POST',
    headers: { 'content-type': 'text/plain', 'a2a-version': '1.0' },
    body: 'Hello',
  });
  expect(response.status).toBe(status);
});

test.each([
  ['http://localhost:8080/hook', undefined],
  ['http://127.0.0.1:8080/hook', -32602],
  ['http://127.9.9.9:8080/hook', -32602],
  ['http://0x7f000001:8080/hook', -32602],
  ['http://[::1]:8080/hook', -32602],
  ['http://[::ffff:127.0.0.1]:8080/hook', -32602],
  ['http://a.localhost:8080/hook', -32602],
])('localhost is let through by that name only: %s', async (url, code) => {
  await using serving = await startConformance();
  const configuration = { taskPushNotificationConfig: { url } };
  const { body } = await call(serving, 'SendMessage', {
    ...saying('tck-complete-task-1'),
    configuration,
  });
  expect(body.error?.code).toBe(code);
});
