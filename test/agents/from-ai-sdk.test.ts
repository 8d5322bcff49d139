import { createOpenAI } from '@ai-sdk/openai';
import { ToolLoopAgent, tool } from 'ai';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { connect } from '../../src/client/index.ts';
import { fromAiSdk } from '../../src/agents/index.ts';
import { serve } from '../../src/http/index.ts';
import { data, text } from '../../src/protocol/index.ts';
import { Runner } from '../../src/tasks/index.ts';
import { silentLogger } from '../../src/telemetry/index.ts';
import { type Script, scriptedModel, startScriptedModelServer } from '../../src/models/index.ts';
import { startProvider, startRefusing } from '../support/provider-endpoint.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

/** A `ToolLoopAgent` of the real AI SDK, served as it is; only its model is scripted. */
async function served(script: Script, needsApproval = false) {
  const model = scriptedModel(script);
  const sent: string[] = [];
  const weather = tool({
    description: 'The weather of a town.',
    inputSchema: z.object({ town: z.string() }),
    needsApproval,
    execute: async ({ town }) => {
      sent.push(town);
      return { town, degrees: 21 };
    },
  });
  const source = new ToolLoopAgent({ id: 'forecaster', model, tools: { weather } });
  const server = await serve(fromAiSdk(source));
  cleanups.push(() => server.close());
  const client = await connect(server.url);
  cleanups.push(() => client.close());
  return { model, sent, client };
}

const call = { toolCalls: [{ name: 'weather', input: { town: 'Rome' } }] };

test('a ToolLoopAgent of the AI SDK is served as it is: its text streams, its tools run', async () => {
  const { client, sent } = await served([call, 'It is 21 degrees in Rome.']);
  expect(client.card.name).toBe('forecaster');
  const deltas: string[] = [];
  for await (const delta of client.stream('Rome?').text) deltas.push(delta);
  expect(deltas.join('')).toBe('It is 21 degrees in Rome.');
  expect(sent).toEqual(['Rome']);
});

test('its conversation continues: the model sees earlier messages with their tool calls', async () => {
  const { client, model } = await served([call, 'It is 21 degrees.', 'As I said: 21.']);
  const first = await client.ask('Rome?');
  expect(first.task?.metadata).toHaveProperty('usage');
  const contextId = first.task?.contextId ?? '';
  const next = await client.ask({
    message: { messageId: 'm', contextId, role: 'ROLE_USER', parts: [{ text: 'Sorry?' }] },
  });
  expect(next.text).toBe('As I said: 21.');
  expect(model.requests.at(-1)?.messages.map(({ role }) => role)).toEqual([
    'user',
    'assistant',
    'tool',
    'assistant',
    'user',
  ]);
});

test('a tool that needs approval asks the caller, and runs only once it is approved', async () => {
  const { client, sent } = await served([call, '21 degrees.'], true);
  const asked = await client.ask('Rome?');
  if (!asked.isQuestion) throw new Error('no question');
  expect(asked.data).toMatchObject([{ tool: 'weather', arguments: { town: 'Rome' } }]);
  expect(sent).toEqual([]);
  expect((await asked.answer('yes')).text).toBe('21 degrees.');
  expect(sent).toEqual(['Rome']);
});

test('a tool that is not approved does not run, and the model learns why', async () => {
  const { client, sent, model } = await served([call, 'As you wish.'], true);
  const asked = await client.ask('Rome?');
  if (!asked.isQuestion) throw new Error('no question');
  expect((await asked.answer('no')).text).toBe('As you wish.');
  expect(sent).toEqual([]);
  expect(model.requests.at(-1)?.promptText).toContain('did not confirm');
});

test.each([
  ['beside a no', 'no, ask about Bern', [], 'ask about Bern'],
  [
    'beside approval',
    [data({ confirmed: true }), text('I am in a hurry')],
    ['Rome'],
    'I am in a hurry',
  ],
])('what the caller says %s reaches the model', async (_, answer, tools, said) => {
  const { client, sent, model } = await served([call, 'As you wish.', 'You are welcome.'], true);
  const asked = await client.ask('Rome?');
  if (!asked.isQuestion) throw new Error('no question');
  const { text: answered, task } = await asked.answer(answer);
  expect(answered).toBe('As you wish.');
  expect(sent).toEqual(tools);
  expect(model.requests.at(-1)?.promptText).toContain(said);
  const contextId = task?.contextId ?? '';
  expect((await client.ask('Thanks', { contextId })).text).toBe('You are welcome.');
});

test('the texts of two steps are paragraphs', async () => {
  const { client } = await served([{ text: 'Let me look.', ...call }, 'It is 21 degrees.']);
  expect((await client.ask('Rome?')).text).toBe('Let me look.\n\nIt is 21 degrees.');
});

test('a model that fails ends the task as failed, with the code of its failure', async () => {
  const { client } = await served([{ error: { status: 401, message: 'wrong key' } }]);
  await expect(client.ask('Rome?')).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    metadata: { errorType: 'model_unavailable' },
  });
  const source = new ToolLoopAgent({
    id: 'busy',
    model: scriptedModel([{ error: { status: 429, message: 'slow down' } }]),
    maxRetries: 0,
    onError: () => undefined,
  });
  await using runner = new Runner({ agent: fromAiSdk(source), logger: silentLogger });
  const { error } = await runner.run({ message: 'Hello' });
  expect(error).toMatchObject({ code: 'RATE_LIMITED' });
  expect(error?.message).toBe('model of agent busy answered 429: slow down');
});

const half = { choices: [{ index: 0, delta: { content: 'Half an' } }] };
const finished = (reason: string) => ({
  choices: [{ index: 0, delta: {}, finish_reason: reason }],
});

test.each([
  ['cut by the limit of tokens', [half, finished('length')], { finish_reason: 'length' }],
  ['cut by a filter', [half, finished('content_filter')], { finish_reason: 'content-filter' }],
])('an answer that was %s is marked', async (_, events, metadata) => {
  await using endpoint = await startProvider(() => events, ['unused']);
  const model = createOpenAI({ baseURL: endpoint.url, apiKey: 'k' }).chat('gpt-5');
  const source = new ToolLoopAgent({ id: 'a', model });
  await using runner = new Runner({ agent: fromAiSdk(source), logger: silentLogger });
  const result = await runner.run({ message: 'Hello' });
  expect([result.state, result.text]).toEqual(['completed', 'Half an']);
  expect(result.metadata).toMatchObject(metadata);
});

test.each([
  ['closed without a finish', [half], 'model_unavailable', 'broke off its answer'],
  ['refused by a filter', [finished('content_filter')], 'content_filter', 'refused to answer'],
])('an answer that was %s fails the task', async (_, events, errorType, said) => {
  await using endpoint = await startProvider(() => events, ['unused']);
  const model = createOpenAI({ baseURL: endpoint.url, apiKey: 'k' }).chat('gpt-5');
  const source = new ToolLoopAgent({ id: 'a', model });
  await using runner = new Runner({ agent: fromAiSdk(source), logger: silentLogger });
  const { state, metadata, error } = await runner.run({ message: 'Hello' });
  expect([state, metadata?.['error_type']]).toEqual(['failed', errorType]);
  expect(String(error)).toContain(said);
});

test('a connection that breaks during an answer is a failure of the model', async () => {
  const script: Script = [{ text: 'Once upon a time', disconnect: 'midway' }];
  await using server = await startScriptedModelServer(script);
  const model = createOpenAI({ baseURL: server.url, apiKey: 'k' }).chat('gpt-5');
  const source = new ToolLoopAgent({ id: 'a', model, onError: () => undefined });
  await using runner = new Runner({ agent: fromAiSdk(source), logger: silentLogger });
  const { state, metadata } = await runner.run({ message: 'Hello' });
  expect([state, metadata?.['error_type']]).toEqual(['failed', 'model_unavailable']);
});

test('a model that fails after retries of the AI SDK has the code of its last failure', async () => {
  const body = { error: { message: 'slow down', code: 'rate_limit_exceeded' } };
  await using endpoint = await startRefusing(429, body, { 'retry-after-ms': '1' });
  const model = createOpenAI({ baseURL: endpoint.url, apiKey: 'k' }).chat('gpt-5');
  const source = new ToolLoopAgent({ id: 'a', model, onError: () => undefined });
  await using runner = new Runner({ agent: fromAiSdk(source), logger: silentLogger });
  expect((await runner.run({ message: 'Hello' })).error).toMatchObject({ code: 'RATE_LIMITED' });
  expect(endpoint.calls).toHaveLength(3);
});

test.each([
  [{}, 'fromAiSdk takes an agent of the AI SDK: fromAiSdk(new ToolLoopAgent({ model }))'],
  [null, 'fromAiSdk takes an agent of the AI SDK: '],
  [Promise.resolve({}), 'fromAiSdk takes an agent of the AI SDK, not a promise of one: '],
])('anything else than an agent of the AI SDK is refused: %o', (source, said) => {
  expect(() => fromAiSdk(source as never)).toThrow(said);
});
