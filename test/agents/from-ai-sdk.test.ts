import { ToolLoopAgent, tool } from 'ai';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { connect } from '../../src/client/index.ts';
import { fromAiSdk } from '../../src/agents/index.ts';
import { serve } from '../../src/http/index.ts';
import { Runner } from '../../src/tasks/index.ts';
import { silentLogger } from '../../src/telemetry/index.ts';
import { type Script, scriptedModel } from '../../src/models/index.ts';

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

test.each([
  [{}, 'fromAiSdk takes an agent of the AI SDK: fromAiSdk(new ToolLoopAgent({ model }))'],
  [null, 'fromAiSdk takes an agent of the AI SDK: '],
  [Promise.resolve({}), 'fromAiSdk takes an agent of the AI SDK, not a promise of one: '],
])('anything else than an agent of the AI SDK is refused: %o', (source, said) => {
  expect(() => fromAiSdk(source as never)).toThrow(said);
});
