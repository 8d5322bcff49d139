import { textOf } from '../protocol/index.ts';
import { expect, test } from 'vitest';
import { scriptedModel } from '../models/index.ts';
import { agent, type AgentFunction, completed, inputRequired, working } from './define.ts';
import { llmAgent } from './llm/llm-agent.ts';
import { mcpTools } from './mcp/mcp-tools.ts';
import { openApiTools } from './openapi/openapi-tools.ts';
import { remoteAgent } from './remote/remote-agent.ts';
import { Conversation } from './testing/conversation.ts';
import { tool } from './tools/tool.ts';
import { sequential } from './workflow/sequential.ts';

const saying = (run: AgentFunction) => new Conversation(agent({ name: 'a' }, run)).say('Ada');

test('a function may return its answer as text', async () => {
  const { text, end } = await saying(async (turn) => `Hello, ${textOf(turn.message)}!`);
  expect([text, end.kind]).toEqual(['Hello, Ada!', 'completed']);
});

test('a function may return an end', async () => {
  const { end } = await saying(async () => inputRequired('Which Ada?'));
  expect(end).toMatchObject({ kind: 'input-required', parts: [{ text: 'Which Ada?' }] });
});

test('a function that returns nothing has completed', async () => {
  const { artifacts, end } = await saying(async () => {});
  expect([artifacts, end.kind]).toEqual([[], 'completed']);
});

test('yielded text is one artifact that streams, and returned text continues it', async () => {
  const { artifacts, events } = await saying(async function* () {
    yield working('Counting');
    yield 'one';
    yield '';
    yield ', two';
    return ', three';
  });
  expect(artifacts).toEqual([{ artifactId: 'answer', parts: [{ text: 'one, two, three' }] }]);
  expect(events.map((event) => ('append' in event ? event.append : event))).toEqual([
    working('Counting'),
    false,
    true,
    true,
  ]);
});

test('text and events of the protocol may be mixed', async () => {
  const { text, end } = await saying(async function* () {
    yield 'done';
    yield completed('Bye');
  });
  expect([text, end.parts]).toEqual(['done', [{ text: 'Bye' }]]);
});

test('a consumer that leaves early closes the generator', async () => {
  let isClosed = false;
  const patient = agent({ name: 'a' }, async function* () {
    try {
      yield 'one';
      yield 'two';
    } finally {
      isClosed = true;
    }
  });
  for await (const _ of patient.take(new Conversation(patient).turn('go'))) break;
  expect(isClosed).toBe(true);
});

test('functions and generators need not be asynchronous', async () => {
  const plain = await saying(() => 'hi');
  const generator = await saying(function* () {
    yield 'h';
    yield 'i';
    return completed('Bye');
  });
  const nothing = await saying(() => undefined);
  expect([plain.text, generator.text, nothing.text]).toEqual(['hi', 'hi', '']);
  expect(generator.end).toEqual(completed('Bye'));
});

const model = scriptedModel([]);
const run = () => 'done';
const openApi = { openapi: '3.1.0', paths: {} };
/** Spread, these are options that TypeScript does not check. */
const extra = (options: object): object => options;
const misspelt: readonly (readonly [string, () => unknown, string])[] = [
  [
    'agent',
    () => agent({ name: 'a', ...extra({ skils: [] }) }, async () => 'x'),
    'did you mean "skills"?',
  ],
  [
    'llmAgent',
    () => llmAgent({ name: 'a', model, ...extra({ tool: [] }) }),
    'did you mean "tools"?',
  ],
  ['tool', () => tool({ name: 't', description: '', run, ...extra({ inputs: {} }) }), '"input"?'],
  [
    'sequential',
    () => sequential({ name: 'a', steps: [], ...extra({ show: 'all' }) }),
    'did you mean "shows"?',
  ],
  [
    'mcpTools',
    () => mcpTools({ name: 'm', url: 'http://x', ...extra({ needConfirmation: 'all' }) }),
    'did you mean "needsConfirmation"?',
  ],
  [
    'openApiTools',
    () => openApiTools(openApi, { prefix: '', ...extra({ baseURL: '' }) }),
    '"baseUrl"?',
  ],
  [
    'remoteAgent',
    () => remoteAgent('https://x.example', { name: 'x', ...extra({ timeout: 1 }) }),
    '"timeoutMs"?',
  ],
];
for (const [name, make, hint] of misspelt) {
  test(`${name} refuses an unknown option, with a suggestion`, () => {
    expect(make).toThrow(expect.objectContaining({ code: 'CONFIGURATION_INVALID' }));
    expect(make).toThrow(hint);
  });
}

test('mcpTools refuses options in a second object', () => {
  const call = mcpTools as (...given: readonly unknown[]) => unknown;
  const server = { name: 'm', url: 'http://127.0.0.1:1/mcp' };
  expect(() => call(server, { needsConfirmation: 'all' })).toThrow('mcpTools takes one object');
});
