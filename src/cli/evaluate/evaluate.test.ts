import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { startScriptedModelServer, type Script } from '../../models/index.ts';
import { testAgents } from './test-agents.ts';

let folder = '';
let printed: string[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'legate-evaluate-'));
  printed = [];
  const print = (...values: unknown[]) => void printed.push(values.join(' '));
  vi.spyOn(console, 'log').mockImplementation(print);
  vi.spyOn(console, 'error').mockImplementation(print);
});
afterEach(async () => {
  vi.restoreAllMocks();
  process.exitCode = undefined;
  await rm(folder, { recursive: true });
});

const root = new URL('../../../', import.meta.url).href;

/** An agent with one tool, whose model is behind HTTP. */
async function project(url: string, cases: string): Promise<string> {
  const models = JSON.stringify([{ provider: 'openai-compatible', model: 'm', api_base: url }]);
  await writeFile(
    join(folder, 'agent.ts'),
    `import { llmAgent, tool } from '${root}src/index.ts';
     const find = tool({ name: 'find_order', description: 'Finds an order.',
       input: { type: 'object', properties: { number: { type: 'string' }, exact: { type: 'boolean' } } },
       run: () => ({ total: 20 }) });
     const pay = tool({ name: 'refund', description: 'Refunds.', needsConfirmation: true, run: () => 'done' });
     export const clerk = llmAgent({ name: 'clerk', model: { id: 'm', models: ${models} }, tools: [find, pay] });`,
  );
  await mkdir(join(folder, 'evals'));
  const file = join(folder, 'evals', 'orders.yml');
  await writeFile(file, `agent: ../agent.ts\n${cases}`);
  return file;
}

const options = { model: 'auto', logLevel: 'error' } as const;
const asking: Script = ({ lastUserText }, index) =>
  index === 0
    ? { toolCalls: [{ name: 'find_order', input: { number: '17', exact: true } }] }
    : `Your order is 20 francs. (${lastUserText})`;

const found = `cases:
  - name: finds an order
    input: Where is order 17?
    tools: [find_order: {number: '17'}]
    contains: 20 Francs
    excludes: sorry
`;

test('a real model is recorded, and replayed without it', async () => {
  const server = await startScriptedModelServer(asking);
  const file = await project(server.url, found);
  await testAgents(file, { ...options, model: 'record' });
  expect(printed.at(-1)).toContain('1 passed, 0 failed');
  expect(await readdir(join(folder, 'evals', 'recordings'))).toEqual([
    'orders.finds-an-order.agent-clerk.json',
  ]);
  expect(server.calls).toHaveLength(2);
  await server.close();
  await testAgents(join(folder, 'evals'), { ...options, model: 'replay' });
  await testAgents(file, options);
  expect(printed.join('\n').match(/1 passed, 0 failed/g)).toHaveLength(3);
  expect(process.exitCode).toBeUndefined();
});

const differing = `cases:
  - name: asks for nothing
    input: Where is order 17?
    tools: []
    contains: 30 francs
    excludes: '20 francs'
`;

test('what differs is reported, as text and JUnit, with exit code 1', async () => {
  await using server = await startScriptedModelServer(asking);
  const junit = join(folder, 'out', 'r.xml');
  await testAgents(await project(server.url, differing), { ...options, junit });
  const text = printed.join('\n');
  expect(text).toContain('calls of tools (exact): none');
  expect(text).toContain('+ find_order({"number":"17","exact":true})');
  expect(text).toContain('failed by: 1 tools, 1 contains, 1 excludes');
  expect(process.exitCode).toBe(1);
  expect(await readFile(junit, 'utf8')).toMatch(/failures="1".*<failure type="tools"/s);
});

test('with --json, a JSON list is all that is printed', async () => {
  await using server = await startScriptedModelServer(asking);
  await testAgents(await project(server.url, differing), { ...options, json: true });
  expect(JSON.parse(printed.join('\n'))).toMatchObject([
    { name: 'asks for nothing', passed: false, tools: [{ tool: 'find_order' }], line: 3 },
  ]);
  expect(process.exitCode).toBe(1);
});

test('a script stands in for the model, and messages answer questions', async () => {
  const cases = `cases:
  - name: refunds after a confirmation
    input: [Refund order 17, yes]
    tools: [refund]
    contains: done
    script:
      - tool_calls: [{name: refund}]
      - It is done.
  - name: asks before it refunds
    input: Refund order 17
    state: input-required
    script: [{tool_calls: [{name: refund}]}]
`;
  await testAgents(await project('http://127.0.0.1:9/v1', cases), options);
  expect(printed.at(-1)).toContain('2 passed, 0 failed');
});

test('facts are judged by a model, which is recorded with the case', async () => {
  await using server = await startScriptedModelServer(({ promptText }) =>
    promptText.includes('You judge')
      ? JSON.stringify({
          statements: [
            { statement: 'x', holds: promptText.includes('costs 20'), reason: 'says 20' },
          ],
        })
      : 'Your order is 20 francs.',
  );
  const cases = `judge: {model_group: judge}
cases:
  - name: knows the price
    input: What is it?
    facts: [it costs 20 francs]
  - name: knows another price
    input: What is it?
    facts: [it costs 30 francs]
`;
  const file = await project(server.url, cases);
  const group = `model_groups: [{id: judge, models: [{provider: openai-compatible, model: j, api_base: ${server.url}}]}]`;
  await writeFile(join(folder, 'endpoints.yml'), group);
  vi.spyOn(process, 'cwd').mockReturnValue(folder);
  await testAgents(file, { ...options, model: 'record' });
  const text = printed.join('\n');
  expect(text).toContain('1 passed, 1 failed');
  expect(text).toContain('the answer states: it costs 30 francs');
  expect(await readdir(join(folder, 'evals', 'recordings'))).toContain(
    'orders.knows-the-price.judge.json',
  );
});

test.each([
  ['in_order', ['find_order', 'refund'], true],
  ['in_order', ['refund', 'find_order'], false],
  ['any_order', ['refund', 'find_order'], true],
  ['exact', ['find_order'], false],
] as const)('%s compares %j', async (match, tools, isGood) => {
  const cases = `cases:
  - name: a case
    input: [Go, yes]
    match: ${match}
    tools: ${JSON.stringify(tools)}
    script:
      - tool_calls: [{name: find_order}]
      - tool_calls: [{name: refund}]
      - Good.
`;
  await testAgents(await project('http://127.0.0.1:9/v1', cases), options);
  expect(printed.join('\n')).toContain(isGood ? '1 passed' : '1 failed');
});

test.each([
  ['cases:\n  - name: a\n', /input/],
  ['cases:\n  - {name: a, input: b, tols: []}\n', /tools/],
  ['cases:\n  - {name: a, input: b, facts: [c]}\n', /judge/],
  ['cases:\n  - {name: a, input: b, match: near}\n', /exact, in_order, any_order, but is "near"/],
])('an invalid file is an error that says what to write', async (cases, message) => {
  const file = await project('http://127.0.0.1:9/v1', cases);
  // The command line prints what was thrown.
  await expect(testAgents(file, options)).rejects.toThrow(message);
  expect(printed).toEqual([]);
});
