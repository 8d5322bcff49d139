import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import {
  buildAssistant,
  loadPacked,
  loadProject,
  packProject,
  serveAssistant,
} from '../../src/assistant/index.ts';
import { startScriptedModelServer } from '../../src/models/index.ts';
import { type ProjectFolder, projectFolder } from '../support/greenhouse.ts';

const sample = join(import.meta.dirname, '../../src/mcp/testing/stdio-server.ts');

const files = {
  'config.yml': 'assistant_id: sums\npipeline: [{name: MatchingCommandGenerator}]\n',
  'domain.yml': `
session_config: {start_session_after_expiry: false}
slots:
  first: {type: float, initial_value: 2, mappings: [{type: controlled}]}
  sum: {type: float, mappings: [{type: controlled}]}
responses:
  utter_sum: [{text: "That makes {sum}."}]
`,
  'data/flows.yml': `
flows:
  add_up:
    name: adding up
    description: Add up numbers.
    examples: [add up]
    run_pattern_completed: false
    steps:
      - call: add
        mcp_server: sums
        mapping:
          input: [{param: a, slot: first}, {param: b, slot: first}]
          output: [{slot: sum, value: result.structuredContent.sum}]
      - action: utter_sum
  guess:
    name: guessing
    description: Guess a number.
    examples: [guess a number]
    run_pattern_completed: false
    steps:
      - call: guesser
`,
  'endpoints.yml': `
store: {type: memory}
mcp_servers: [{name: sums, type: stdio, command: node, args: [./server.ts]}]
`,
  'server.ts': `
import { appendFileSync } from 'node:fs';
appendFileSync('programs', process.pid + ' ');
await import(${JSON.stringify(pathToFileURL(sample).href)});
`,
  'sub_agents/guesser/config.yml': `
agent: {name: guesser, description: Guesses a number.}
configuration: {module: ./agent.ts}
`,
  'sub_agents/guesser/agent.ts': `
export const run = async ({ id, userMessage, metadata }, { say }) => {
  await say({ text: 'Let me think.' });
  return metadata.asked === true
    ? { id, status: 'completed', responseMessage: 'It is ' + userMessage + '.' }
    : { id, status: 'input_required', responseMessage: 'Which one is it?', metadata: { asked: true } };
};
`,
};

/** How many of the programs that were started in a folder still run. */
async function running(folder: ProjectFolder): Promise<number> {
  const ids = (await readFile(folder.path('programs'), 'utf8')).trim().split(' ').map(Number);
  return ids.filter((id) => {
    try {
      return process.kill(id, 0);
    } catch {
      return false;
    }
  }).length;
}

async function say(url: string, text: string): Promise<readonly unknown[]> {
  const response = await fetch(`${url}/webhooks/rest/webhook`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ sender: 'ada', message: text }),
  });
  const said = (await response.json()) as readonly { readonly text?: string }[];
  return said.map((one) => one.text);
}

test('what is served starts its programs, and leaves none behind: not after a reload, not at the end', async () => {
  await using folder = await projectFolder(files);
  {
    await using serving = await serveAssistant({
      places: { directory: folder.directory },
      environment: {},
      enableApi: true,
      drainMs: 0,
    });
    expect(await say(serving.url, 'add up')).toEqual(['That makes 4.']);
    await expect.poll(() => running(folder), { timeout: 10_000 }).toBe(1);
    const reloaded = await fetch(`${serving.url}/model`, { method: 'PUT', body: '{}' });
    expect(reloaded.ok).toBe(true);
    expect(await say(serving.url, 'add up')).toEqual(['That makes 4.']);
    await expect.poll(() => running(folder), { timeout: 10_000 }).toBe(1);
  }
  await expect.poll(() => running(folder), { timeout: 10_000 }).toBe(0);
});

test('people on a channel see what an agent says as it comes, and answer it', async () => {
  await using folder = await projectFolder(files);
  await using serving = await serveAssistant({
    places: { directory: folder.directory },
    environment: {},
    drainMs: 0,
  });
  expect(await say(serving.url, 'guess a number')).toEqual(['Let me think.', 'Which one is it?']);
  expect(await say(serving.url, '7')).toEqual(['Let me think.', 'It is 7.']);
});

test('people on a channel that streams see the words of a model as they come, and once', async () => {
  await using model = await startScriptedModelServer([
    {
      text: 'Let me look around.',
      toolCalls: [{ name: 'add', input: { a: 1, b: 2 } }],
      chunkDelayMs: 5,
    },
    { text: 'Which hotel is it?', chunkDelayMs: 5 },
  ]);
  await using folder = await projectFolder({
    ...files,
    'endpoints.yml': `${files['endpoints.yml']}
model_groups:
  - id: main
    models: [{provider: self-hosted, model: scripted, api_base: "${model.url}", api_key: "\${KEY}"}]
`,
    'sub_agents/guesser/config.yml': `
agent: {name: guesser, description: Guesses a number.}
configuration: {llm: {model_group: main}}
connections: {mcp_servers: [{name: sums}]}
`,
    'sub_agents/guesser/agent.ts': '',
  });
  await using serving = await serveAssistant({
    places: { directory: folder.directory },
    environment: { KEY: 'none' },
    drainMs: 0,
  });
  const response = await fetch(`${serving.url}/webhooks/rest/webhook?stream=true`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ sender: 'ada', message: 'guess a number' }),
  });
  const lines = (await response.text()).trim().split('\n');
  const texts = lines.map((line) => (JSON.parse(line) as { text: string }).text);
  expect(texts.join('')).toBe('Let me look around.Which hotel is it?');
  expect(texts.length).toBeGreaterThan(2);
});

test('a packed project has its agents; their code is that of the place where it runs', async () => {
  await using folder = await projectFolder(files);
  const { directory } = folder;
  const packed = await packProject(await loadProject({ directory }, {}), {
    directory: folder.path('models'),
  });
  const { project, problems } = await loadPacked(
    packed,
    { directory, endpoints: folder.path('endpoints.yml') },
    {},
  );
  problems.throwIfErrors();
  await using assistant = await buildAssistant(project);
  const { messages } = await assistant.handle({
    senderId: 'ada',
    tracker: undefined,
    text: 'guess a number',
  });
  expect(messages.map(({ text }) => text)).toEqual(['Let me think.', 'Which one is it?']);
});
