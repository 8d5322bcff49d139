import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { generateText as generateTextOfAiSdk } from 'ai';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createModel, createModels } from './create-model.ts';
import { generateText } from './generate-text.ts';
import { timeoutOf } from './routed-model.ts';
import { startScriptedModelServer } from './scripted-server.ts';

const question = {
  prompt: [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'hi' }] }],
};

function localGroup(url: string, more: Record<string, unknown> = {}): unknown {
  return { id: 'local', models: [{ provider: 'self-hosted', model: 'm', api_base: url, ...more }] };
}

async function partsOf(model: LanguageModelV4): Promise<LanguageModelV4StreamPart[]> {
  const { stream } = await model.doStream(question);
  const parts: LanguageModelV4StreamPart[] = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

test('asks an endpoint over HTTP with the configured settings and key', async () => {
  await using server = await startScriptedModelServer(
    [{ text: 'hello', usage: { input: 5, output: 2 } }],
    { apiKey: 'secret' },
  );
  const model = createModel(
    localGroup(server.url, {
      api_key: 'secret',
      temperature: 0.2,
      max_tokens: 50,
      seed: 7,
      reasoning_effort: 'low',
      extra_body: { top_k: 3 },
      extra_headers: { 'x-team': 'bank' },
    }),
  );
  const answer = await generateText(model, { prompt: 'hi' });
  expect(answer).toMatchObject({ text: 'hello', usage: { input: 5, output: 2 } });
  expect(server.calls[0]?.body).toMatchObject({
    model: 'm',
    temperature: 0.2,
    max_tokens: 50,
    seed: 7,
    reasoning_effort: 'low',
    top_k: 3,
  });
  expect(server.calls[0]?.headers['x-team']).toBe('bank');
});

test('settings of the call win over the configuration', async () => {
  await using server = await startScriptedModelServer(['x']);
  const model = createModel(localGroup(server.url, { temperature: 1 }));
  await generateText(model, { prompt: 'hi', temperature: 0 });
  expect(server.calls[0]?.body['temperature']).toBe(0);
});

test('an undefined setting of the call keeps the configured one', async () => {
  await using server = await startScriptedModelServer(['x']);
  const model = createModel(localGroup(server.url, { temperature: 1 }));
  // The AI SDK passes every setting, undefined ones too.
  await generateTextOfAiSdk({ model, prompt: 'hi' });
  expect(server.calls[0]?.body['temperature']).toBe(1);
});

test('streams text, thoughts and tool calls in pieces, and the usage', async () => {
  await using server = await startScriptedModelServer([
    {
      reasoning: 'let me think',
      text: 'one two three',
      toolCalls: [{ name: 'add', input: { a: 1, b: 2 } }],
      usage: { input: 9, output: 4 },
    },
  ]);
  const parts = await partsOf(createModel(localGroup(server.url)));
  const deltas = parts.filter((part) => part.type === 'text-delta').map((part) => part.delta);
  expect(deltas).toEqual(['one', ' two', ' three']);
  expect(parts.find((part) => part.type === 'tool-call')).toMatchObject({
    toolName: 'add',
    input: '{"a":1,"b":2}',
  });
  expect(parts.some((part) => part.type === 'reasoning-delta')).toBe(true);
  expect(parts.find((part) => part.type === 'finish')).toMatchObject({
    finishReason: { unified: 'tool-calls' },
    usage: { inputTokens: { total: 9 }, outputTokens: { total: 4 } },
  });
});

test('a schema goes out as response format only where the endpoint offers it', async () => {
  await using server = await startScriptedModelServer(['{}', '{}']);
  const schema = { type: 'object' as const, properties: {} };
  const ask = { prompt: 'x', responseFormat: { type: 'json' as const, schema } };
  await generateText(createModel(localGroup(server.url, { structured_output: true })), ask);
  await generateText(createModel(localGroup(server.url)), ask);
  expect(server.requests[0]?.responseSchema).toEqual(schema);
  expect(server.requests[1]?.responseSchema).toBeUndefined();
});

test.each([
  [
    'a status',
    { error: { status: 500, message: 'boom' } },
    /model m of self-hosted answered 500: boom/,
  ],
  [
    'a broken connection',
    { disconnect: 'before' as const },
    /model m of self-hosted could not be reached/,
  ],
  [
    'half an answer',
    { text: 'long answer', disconnect: 'midway' as const },
    /model m of self-hosted broke off its answer: (?!Failed to process)/,
  ],
  ['garbage', { rawBody: '<html>' }, /model m/],
  ['an answer without choices', { rawBody: '{"choices":[]}' }, /model m/],
])('%s of the endpoint is a clear error', async (_name, reply, expected) => {
  await using server = await startScriptedModelServer(() => reply);
  const model = createModel(localGroup(server.url));
  await expect(generateText(model, { prompt: 'x', retries: 0 })).rejects.toThrow(expected);
});

test('the timeout of a model ends a silent call and frees the connection', async () => {
  await using server = await startScriptedModelServer([{ hang: true }]);
  const model = createModel(localGroup(server.url, { timeout: 0.5 }));
  const call = generateText(model, { prompt: 'x', retries: 0 });
  await expect(call).rejects.toMatchObject({ code: 'REQUEST_TIMEOUT' });
  await expect.poll(() => server.abandoned()).toBe(1);
});

test('request_timeout is another name of the timeout, which bounds calls of every component', async () => {
  await using server = await startScriptedModelServer(() => ({ hang: true }));
  const model = createModel(localGroup(server.url, { request_timeout: 0.02 }));
  await expect(generateText(model, { prompt: 'hi', retries: 0 })).rejects.toMatchObject({
    code: 'REQUEST_TIMEOUT',
  });
  expect(timeoutOf(model)).toBe(20);
  expect(timeoutOf(createModel(localGroup(server.url, { timeout: 30, request_timeout: 7 })))).toBe(
    30_000,
  );
  expect(timeoutOf(createModel(localGroup(server.url, {})))).toBeUndefined();
});

test('a call in a group whose first model hangs is answered by the next, within the timeout of the group', async () => {
  await using hanging = await startScriptedModelServer(() => ({ hang: true }));
  await using sound = await startScriptedModelServer(() => 'fine');
  const group = (first: object, second: object) =>
    createModel({
      id: 'local',
      models: [
        { provider: 'self-hosted', model: 'm', api_base: hanging.url, ...first },
        { provider: 'self-hosted', model: 'n', api_base: sound.url, ...second },
      ],
    });
  for (const model of [
    group({ timeout: 0.2 }, { timeout: 5 }),
    // A model without a timeout has the longest of the group.
    group({}, { timeout: 0.5 }),
  ]) {
    const { text } = await generateText(model, {
      prompt: 'x',
      timeoutMs: timeoutOf(model) ?? 0,
      retries: 0,
    });
    expect(text).toBe('fine');
  }
  expect(timeoutOf(group({ timeout: 2 }, { timeout: 5 }))).toBe(7_000);
  expect(timeoutOf(group({}, { timeout: 5 }))).toBe(10_000);
  expect(timeoutOf(group({}, {}))).toBeUndefined();
});

test('the caller of a model without a timeout sets the limit, which can be longer than the default', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const asked = Promise.withResolvers<void>();
  const fetch = () => {
    asked.resolve();
    return new Promise<never>(() => {});
  };
  const model = createModel(localGroup('http://127.0.0.1:1'), { fetch });
  const failed = generateText(model, { prompt: 'x', retries: 0, timeoutMs: 120_000 }).catch(
    (error: unknown) => error,
  );
  await asked.promise;
  await vi.advanceTimersByTimeAsync(119_000);
  expect(vi.getTimerCount()).toBe(1);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await failed).toMatchObject({
    code: 'REQUEST_TIMEOUT',
    message: expect.stringContaining('120000 ms'),
  });
});

test('a stream that falls silent ends with the timeout', async () => {
  await using server = await startScriptedModelServer([{ text: 'one two', chunkDelayMs: 60_000 }]);
  const model = createModel(localGroup(server.url, { timeout: 0.05 }));
  await expect(partsOf(model)).rejects.toMatchObject({ code: 'REQUEST_TIMEOUT' });
});

test('leaving a stream frees the connection', async () => {
  await using server = await startScriptedModelServer([{ text: 'one two', chunkDelayMs: 60_000 }]);
  const { stream } = await createModel(localGroup(server.url)).doStream(question);
  await stream.cancel();
  await expect.poll(() => server.abandoned()).toBe(1);
});

test('a wrong key is not retried and not repeated', async () => {
  await using server = await startScriptedModelServer(['x'], { apiKey: 'right' });
  const model = createModel(localGroup(server.url, { api_key: 'wrong-key-value' }));
  const error = await generateText(model, { prompt: 'x' }).catch((thrown: unknown) => thrown);
  expect(String(error)).toContain('answered 401');
  expect(String(error)).not.toContain('wrong-key-value');
});

test('several models answer in order, the next when one fails', async () => {
  await using broken = await startScriptedModelServer(() => ({ error: { status: 500 } }));
  await using sound = await startScriptedModelServer(() => 'fine');
  const member = (url: string) => ({ provider: 'self-hosted', model: 'm', api_base: url });
  const model = createModel({ id: 'g', models: [member(broken.url), member(sound.url)] });
  expect((await generateText(model, { prompt: 'x' })).text).toBe('fine');
  expect(broken.requests).toHaveLength(1);
});

test('azure names the deployment in the path and the key in its header', async () => {
  await using server = await startScriptedModelServer(['x'], { apiKey: 'k' });
  const base = server.url.replace('/v1', '');
  const model = createModel({
    id: 'a',
    models: [
      { provider: 'azure', deployment: 'my-gpt', api_base: base, api_version: 'v', api_key: 'k' },
    ],
  });
  await generateText(model, { prompt: 'x' });
  expect(server.calls[0]?.path).toBe('/openai/deployments/my-gpt/chat/completions?api-version=v');
});

test('newer OpenAI models get their limit by its newer name', async () => {
  await using server = await startScriptedModelServer(['x']);
  const model = createModel({
    id: 'o',
    models: [
      { provider: 'openai', model: 'gpt-5.1', api_base: server.url, api_key: 'k', max_tokens: 9 },
    ],
  });
  await generateText(model, { prompt: 'x' });
  expect(server.calls[0]?.body).toMatchObject({ max_completion_tokens: 9 });
  expect(server.calls[0]?.body).not.toHaveProperty('max_tokens');
});

test.each([
  [{ OPENAI_BASE_URL: 'base' }, 'base'],
  [{ OPENAI_API_BASE: 'base', OPENAI_BASE_URL: 'http://127.0.0.1:1/v1' }, 'base'],
  [{ OPENAI_API_BASE: '', OPENAI_BASE_URL: 'base' }, 'base'],
])('the environment says where OpenAI is: %j', async (variables, marker) => {
  await using server = await startScriptedModelServer(['fine']);
  const named = Object.entries(variables).map(([name, value]) => [
    name,
    value === marker ? server.url : value,
  ]);
  const environment = Object.fromEntries([['OPENAI_API_KEY', 'k'], ...named]);
  const group = { id: 'o', models: [{ provider: 'openai', model: 'm' }] };
  const model = createModel(group, { environment });
  expect((await generateText(model, { prompt: 'x' })).text).toBe('fine');
});

test.each<[string, object, RegExp, Readonly<Record<string, string>>?]>([
  [
    'an unknown provider lists the known ones',
    { provider: 'bedrock', model: 'm' },
    /unknown provider "bedrock"; known are openai, azure, ollama, self-hosted.*"openai-compatible" with its api_base/s,
  ],
  [
    'an inherited name is not a provider',
    { provider: 'constructor', model: 'm' },
    /unknown provider/,
  ],
  ['a missing key names its variable', { provider: 'openai', model: 'm' }, /set OPENAI_API_KEY/],
  [
    'a URL of the environment names its variable',
    { provider: 'openai', model: 'm', api_key: 'k' },
    /OPENAI_BASE_URL in the environment must be an http or https URL/,
    { OPENAI_BASE_URL: 'ftp://x' },
  ],
  ['a server needs its URL', { provider: 'self-hosted', model: 'm' }, /needs api_base/],
  ['a model needs a name', { provider: 'ollama' }, /no "model"/],
  [
    'a URL must be one',
    { provider: 'ollama', model: 'm', api_base: 'ftp://x' },
    /http or https URL/,
  ],
  [
    'a URL holds no secrets',
    { provider: 'ollama', model: 'm', api_base: 'http://a:b@x' },
    /must not hold a user or password/,
  ],
  [
    'azure needs its version',
    { provider: 'azure', model: 'm', api_base: 'http://x', api_key: 'k' },
    /api_version/,
  ],
  [
    'a timeout is a number',
    { provider: 'ollama', model: 'm', timeout: '7' },
    /models\[0\]\.timeout/,
  ],
])('%s', (_name, entry, expected, environment = {}) => {
  expect(() => createModel({ id: 'g', models: [entry] }, { environment })).toThrow(expected);
});

test('a group needs an id and at least one model, and ids are unique', () => {
  expect(() => createModel({ models: [] })).toThrow(/model group: id/);
  expect(() => createModel({ id: 'g', models: [] })).toThrow(/model group "g": models/);
  const group = { id: 'g', models: [{ provider: 'ollama', model: 'm' }] };
  expect(() => createModels([group, group])).toThrow('model group "g" is defined twice');
  expect([...createModels([group]).keys()]).toEqual(['g']);
});

test('keys that nothing reads are named in one warning', () => {
  const warnings: unknown[] = [];
  const logger = {
    debug() {},
    info() {},
    error() {},
    child: () => logger,
    warn: (fields: unknown, event: string) => warnings.push([event, fields]),
  };
  createModel(
    { id: 'g', models: [{ provider: 'ollama', model: 'm', cache: 1, bogus: 2 }] },
    { logger },
  );
  expect(warnings).toEqual([['models.keys_ignored', { group: 'g', keys: ['bogus', 'cache'] }]]);
});

test("Rasa's own servers want its licence, and other servers of that provider don't", () => {
  const group = (apiBase: string) => ({
    id: 'hosted',
    models: [{ provider: 'rasa', model: 'rasa/commands', api_base: apiBase }],
  });
  const hosted = group('https://tutorial-llm.rasa.ai');
  expect(() => createModel(hosted, { environment: {} })).toThrow(
    'no key for rasa; set RASA_LICENSE',
  );
  for (const name of ['RASA_LICENSE', 'RASA_PRO_LICENSE']) {
    expect(createModel(hosted, { environment: { [name]: 'licence' } }).modelId).toBe(
      'rasa/commands',
    );
  }
  expect(createModel(group('http://127.0.0.1:1/v1'), { environment: {} }).modelId).toBe(
    'rasa/commands',
  );
});
