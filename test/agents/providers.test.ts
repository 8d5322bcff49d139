import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import { afterEach, expect, test, vi } from 'vitest';
import { z } from 'zod';
import {
  llmAgent,
  type JsonObject,
  type ModelSource,
  Runner,
  silentLogger,
  tool,
} from '../../src/index.ts';
import { startScriptedModelServer } from '../../src/models/index.ts';
import {
  anthropicMessages,
  googleContent,
  openAiResponses,
  type ProviderEndpoint,
  type Said,
  startProvider,
  startRefusing,
  type Wire,
} from '../support/provider-endpoint.ts';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const weather = tool({
  name: 'weather',
  description: 'The weather of a town.',
  input: z.object({ town: z.string() }),
  run: ({ town }) => ({ town, degrees: 21 }),
});
const conversation: readonly Said[] = [
  { tool: 'weather', input: { town: 'Rome' } },
  'It is 21 degrees in Rome.',
];

async function ask(model: ModelSource): Promise<string> {
  const forecaster = llmAgent({ name: 'forecaster', model, tools: [weather], modelRetries: 0 });
  await using runner = new Runner({ agent: forecaster });
  return (await runner.start({ message: 'Rome?' }).result()).text;
}

function expectToolResult({ calls }: ProviderEndpoint): void {
  expect(calls).toHaveLength(2);
  expect(JSON.stringify(calls[0]?.body)).toContain('The weather of a town.');
  expect(JSON.stringify(calls[1]?.body)).toMatch(/degrees\\?":21/);
}

test('OpenAI: the Responses API, by its package', async () => {
  await using endpoint = await startProvider(openAiResponses, conversation);
  const openai = createOpenAI({ baseURL: endpoint.url, apiKey: 'key-of-the-test' });
  expect(await ask(openai('gpt-5'))).toBe('It is 21 degrees in Rome.');
  expectToolResult(endpoint);
  expect(endpoint.calls[0]).toMatchObject({
    path: '/responses',
    headers: { authorization: 'Bearer key-of-the-test' },
    body: { model: 'gpt-5', stream: true },
  });
});

test('Anthropic: the Messages API, by its package', async () => {
  await using endpoint = await startProvider(anthropicMessages, conversation);
  const anthropic = createAnthropic({ baseURL: endpoint.url, apiKey: 'key-of-the-test' });
  expect(await ask(anthropic('claude-opus-5'))).toBe('It is 21 degrees in Rome.');
  expectToolResult(endpoint);
  expect(endpoint.calls[0]).toMatchObject({
    path: '/messages',
    headers: { 'x-api-key': 'key-of-the-test' },
    body: { model: 'claude-opus-5', stream: true },
  });
});

test('Google: streamGenerateContent, by its package', async () => {
  await using endpoint = await startProvider(googleContent, conversation);
  const google = createGoogleGenerativeAI({ baseURL: endpoint.url, apiKey: 'key-of-the-test' });
  expect(await ask(google('gemini-3-pro'))).toBe('It is 21 degrees in Rome.');
  expectToolResult(endpoint);
  expect(endpoint.calls[0]).toMatchObject({
    path: '/models/gemini-3-pro:streamGenerateContent?alt=sse',
    headers: { 'x-goog-api-key': 'key-of-the-test' },
  });
});

test('a name resolves to the package of its provider, with the keys of the environment', async () => {
  await using endpoint = await startProvider(anthropicMessages, conversation);
  const { fetch } = globalThis;
  const toEndpoint = (url: string, init: RequestInit) =>
    fetch(url.replace('https://api.anthropic.com/v1', endpoint.url), init);
  vi.stubGlobal('fetch', toEndpoint);
  vi.stubEnv('ANTHROPIC_API_KEY', 'key-of-the-test');
  expect(await ask('anthropic/claude-opus-5')).toBe('It is 21 degrees in Rome.');
  expectToolResult(endpoint);
});

const keyWords = 'Incorrect API key provided: sk-wrong-key-of-the-test.';
test.each([
  [
    'OpenAI',
    401,
    { error: { message: keyWords, type: 'invalid_request_error', code: 'invalid_api_key' } },
    (baseURL: string) => createOpenAI({ baseURL, apiKey: 'wrong' })('gpt-5'),
    'model gpt-5 of openai.responses answered 401: Incorrect API key provided: sk-wro...; check OPENAI_API_KEY in the environment, or the apiKey that its package was given',
  ],
  [
    'Anthropic',
    401,
    { type: 'error', error: { type: 'authentication_error', message: 'invalid x-api-key' } },
    (baseURL: string) => createAnthropic({ baseURL, apiKey: 'wrong' })('claude-opus-5'),
    'model claude-opus-5 of anthropic.messages answered 401: invalid x-api-key; check ANTHROPIC_API_KEY in the environment',
  ],
  [
    'Anthropic behind a proxy with errors of another form',
    401,
    { error: { message: keyWords, code: 401 } },
    (baseURL: string) => createAnthropic({ baseURL, apiKey: 'wrong' })('claude-opus-5'),
    'answered 401: Incorrect API key provided: sk-wro...; check ANTHROPIC_API_KEY',
  ],
  [
    'Google',
    400,
    { error: { code: 400, message: 'API key not valid. Pass one.', status: 'INVALID_ARGUMENT' } },
    (baseURL: string) => createGoogleGenerativeAI({ baseURL, apiKey: 'wrong' })('gemini-3-pro'),
    'check GOOGLE_GENERATIVE_AI_API_KEY in the environment',
  ],
])('%s: a refused key names its variable', async (_name, status, body, modelAt, said) => {
  await using endpoint = await startRefusing(status, body);
  const agent = llmAgent({ name: 'a', model: modelAt(endpoint.url) });
  await using runner = new Runner({ agent, logger: silentLogger });
  const { state, error } = await runner.run({ message: 'Hello' });
  expect([state, String(error)]).toEqual(['failed', expect.stringContaining(said)]);
});

const toolCall = { toolCalls: [{ name: 'weather', input: { town: 'Rome' } }] };
const script = [toolCall, 'It is 21 degrees in Rome.'];

test.each([
  [
    'Azure',
    { provider: 'azure', deployment: 'mine', api_version: '2024-10-21', api_key: 'azure-key' },
    '/v1/openai/deployments/mine/chat/completions?api-version=2024-10-21',
  ],
  ['Ollama', { provider: 'ollama', model: 'qwen3' }, '/v1/chat/completions'],
  ['a compatible server', { provider: 'openai-compatible', model: 'any' }, '/v1/chat/completions'],
])('%s: chat completions, by a model group', async (_name, entry, path) => {
  await using server = await startScriptedModelServer(script);
  const model = { id: 'group', models: [{ ...entry, api_base: server.url }] };
  expect(await ask(model)).toBe('It is 21 degrees in Rome.');
  expect(server.calls.map((call) => call.path)).toEqual([path, path]);
});

test('a name without a slash is a model group of endpoints.yml', async () => {
  await using server = await startScriptedModelServer(['Good evening.']);
  const folder = await mkdtemp(join(tmpdir(), 'legate-group-'));
  vi.spyOn(process, 'cwd').mockReturnValue(folder);
  vi.stubEnv('MODEL_URL', server.url);
  await writeFile(
    join(folder, 'endpoints.yml'),
    'model_groups:\n  - id: evening\n    models:\n      - provider: openai-compatible\n        model: m\n        api_base: ${MODEL_URL}\n',
  );
  expect(await ask('evening')).toBe('Good evening.');
  await rm(folder, { recursive: true });
});

test.each([
  ['gpt-4o', 'openai/gpt-4o'],
  ['openai:gpt-4o', 'openai/gpt-4o'],
  ['o3', 'openai/o3'],
  ['o4-mini', 'openai/o4-mini'],
  ['claude-opus-5', 'anthropic/claude-opus-5'],
  ['anthropic:claude-opus-5', 'anthropic/claude-opus-5'],
  ['gemini-3-pro', 'google/gemini-3-pro'],
  ['qwen3:8b', 'ollama/qwen3:8b'],
  ['gpt-oss:20b', 'ollama/gpt-oss:20b'],
  ['ollama:qwen3:8b', 'ollama/qwen3:8b'],
])('the model "%s" is refused when the agent is made: write "%s"', (name, meant) => {
  expect(() => llmAgent({ name: 'a', model: name })).toThrow(
    expect.objectContaining({
      code: 'CONFIGURATION_INVALID',
      message: `agent "a": no model is named "${name}"; write "${meant}"`,
    }),
  );
});

test('a model group may have the name of a model', async () => {
  await using server = await startScriptedModelServer(['Good evening.']);
  const folder = await mkdtemp(join(tmpdir(), 'legate-group-'));
  vi.spyOn(process, 'cwd').mockReturnValue(folder);
  vi.stubEnv('MODEL_URL', server.url);
  await writeFile(
    join(folder, 'endpoints.yml'),
    'model_groups:\n  - id: gpt-4o\n    models:\n      - provider: openai-compatible\n        model: m\n        api_base: ${MODEL_URL}\n',
  );
  expect(await ask('gpt-4o')).toBe('Good evening.');
  await rm(folder, { recursive: true });
});

test('openai/gpt-5 is a model of the installed package', async () => {
  await using endpoint = await startProvider(openAiResponses, conversation);
  const { fetch } = globalThis;
  vi.stubGlobal('fetch', (url: string, init: RequestInit) =>
    fetch(url.replace('https://api.openai.com/v1', endpoint.url), init),
  );
  vi.stubEnv('OPENAI_API_KEY', 'key-of-the-test');
  expect(await ask('openai/gpt-5')).toBe('It is 21 degrees in Rome.');
  expectToolResult(endpoint);
  expect(endpoint.calls[0]?.headers['authorization']).toBe('Bearer key-of-the-test');
});

test('ollama/qwen3 is a model of the server on this machine, without a package', async () => {
  await using server = await startScriptedModelServer(script);
  const { fetch } = globalThis;
  vi.stubGlobal('fetch', (url: string, init: RequestInit) =>
    fetch(url.replace('http://127.0.0.1:11434', new URL(server.url).origin), init),
  );
  expect(await ask('ollama/qwen3')).toBe('It is 21 degrees in Rome.');
  expect(server.calls.map(({ path }) => path)).toEqual(
    Array.from({ length: 2 }, () => '/v1/chat/completions'),
  );
});

test.each([
  ['cohere/command-a', 'needs the package @ai-sdk/cohere: npm install @ai-sdk/cohere'],
  ['antropic/claude', 'did you mean "anthropic"'],
  ['antropic/claude', 'did you mean "anthropic"?'],
  ['openai/', 'names no model'],
  ['./model', 'names no model'],
])('the model %s is refused: %s', (name, why) => {
  const make = () => llmAgent({ name: 'a', model: name });
  expect(make).toThrow(expect.objectContaining({ code: 'CONFIGURATION_INVALID' }));
  expect(make).toThrow(why);
});

/** Streams these events, then closes cleanly; the next call is answered whole. */
const brokenThenWhole = (broken: readonly JsonObject[]): readonly Wire[] => [
  () => broken,
  (said) => [
    { choices: [{ index: 0, delta: { content: said } }] },
    { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  ],
];
const half = { choices: [{ index: 0, delta: { content: 'Half an' } }] };

test.each([
  ['an error in the midst of a stream', [half, { error: { message: 'overloaded', code: 529 } }]],
  ['a stream that ends without a finish', [half]],
])('%s is retried, and the answer replaces its half', async (_name, broken) => {
  const wires = brokenThenWhole(broken);
  let calls = 0;
  const wire: Wire = (said) => wires[calls++]?.(said) ?? [];
  await using endpoint = await startProvider(wire, ['unused', 'A whole answer.']);
  const entry = { provider: 'openai-compatible', model: 'm', api_base: endpoint.url };
  const model = { id: 'group', models: [entry] };
  const agent = llmAgent({ name: 'a', model, modelRetries: 1, random: () => 0 });
  await using runner = new Runner({ agent, logger: silentLogger });
  const result = await runner.start({ message: 'Go' }).result();
  expect([result.text, endpoint.calls.length]).toEqual(['A whole answer.', 2]);
});

test.each([
  [
    'OpenAI',
    openAiResponses,
    (url: string) => createOpenAI({ baseURL: url, apiKey: 'k' })('gpt-5'),
  ],
  [
    'Anthropic',
    anthropicMessages,
    (url: string) => createAnthropic({ baseURL: url, apiKey: 'k' })('claude'),
  ],
  [
    'Google',
    googleContent,
    (url: string) => createGoogleGenerativeAI({ baseURL: url, apiKey: 'k' })('gemini'),
  ],
])('%s: a stream that is closed without a finish is retried', async (_name, whole, modelAt) => {
  let calls = 0;
  const wire: Wire = (said) => {
    const events = whole(said);
    calls += 1;
    // Neither the last text, nor what says that it is the last.
    return calls === 1 ? events.slice(0, Math.max(1, events.length - 3)) : events;
  };
  await using endpoint = await startProvider(wire, ['A broken answer.', 'A whole answer.']);
  const agent = llmAgent({ name: 'a', model: modelAt(endpoint.url), random: () => 0 });
  await using runner = new Runner({ agent, logger: silentLogger });
  const { text, state } = await runner.run({ message: 'Go' });
  expect([state, text, calls]).toEqual(['completed', 'A whole answer.', 2]);
});

test('an answer that the provider ends with an error is retried, and fails the task in the end', async () => {
  const malformed = { candidates: [{ content: {}, finishReason: 'MALFORMED_FUNCTION_CALL' }] };
  const wires: Wire[] = [() => [malformed], googleContent];
  await using endpoint = await startProvider(
    (said) => wires.shift()?.(said) ?? [malformed],
    ['x', 'A whole answer.', 'x', 'x'],
  );
  const google = createGoogleGenerativeAI({ baseURL: endpoint.url, apiKey: 'k' });
  const model = google('gemini-3-pro');
  const agent = llmAgent({ name: 'a', model, modelRetries: 1, random: () => 0 });
  await using runner = new Runner({ agent, logger: silentLogger });
  expect((await runner.run({ message: 'Go' })).text).toBe('A whole answer.');
  const { state, error } = await runner.run({ message: 'Go on' });
  expect([state, String(error)]).toEqual([
    'failed',
    expect.stringContaining('failed in its answer: MALFORMED_FUNCTION_CALL'),
  ]);
});

test('the words of a provider that fails in its answer are kept', async () => {
  const failed = { error: { message: 'the cluster is on fire' } };
  await using endpoint = await startProvider(() => [half, failed], ['unused']);
  const entry = { provider: 'openai-compatible', model: 'm', api_base: endpoint.url };
  const agent = llmAgent({ name: 'a', model: { id: 'g', models: [entry] }, modelRetries: 0 });
  await using runner = new Runner({ agent, logger: silentLogger });
  const { state, error } = await runner.start({ message: 'Go' }).result();
  expect(state).toBe('failed');
  expect(String(error)).toContain('the cluster is on fire');
});

test.each([
  [
    'a request that is too large',
    413,
    { type: 'error', error: { type: 'request_too_large', message: 'Request exceeds 32 MB' } },
    'CONTEXT_TOO_LONG',
  ],
  [
    'an account without credit',
    429,
    { error: { message: 'You exceeded your quota.', code: 'insufficient_quota' } },
    'RATE_LIMITED',
  ],
])('%s is not sent again', async (_name, status, body, code) => {
  await using endpoint = await startRefusing(status, body);
  const model = createOpenAI({ baseURL: endpoint.url, apiKey: 'k' })('gpt-5');
  const agent = llmAgent({ name: 'a', model, random: () => 0 });
  await using runner = new Runner({ agent, logger: silentLogger });
  expect((await runner.run({ message: 'Go' })).error).toMatchObject({ code });
  expect(endpoint.calls).toHaveLength(1);
});

test('a prompt that is too long fails with a code of its own', async () => {
  const message = "This model's maximum context length is 8192 tokens.";
  await using server = await startScriptedModelServer([{ error: { status: 400, message } }]);
  const entry = { provider: 'openai-compatible', model: 'm', api_base: server.url };
  const agent = llmAgent({ name: 'a', model: { id: 'g', models: [entry] } });
  await using runner = new Runner({ agent, logger: silentLogger });
  const { error, metadata } = await runner.start({ message: 'Go' }).result();
  expect(error).toMatchObject({ code: 'CONTEXT_TOO_LONG' });
  expect(metadata).toMatchObject({ error_type: 'context_length' });
});
