import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { greenhouseFolder } from '../../../test/support/greenhouse.ts';
import { formatProblem } from '../../config/index.ts';
import { startScriptedModelServer } from '../../models/index.ts';
import { served, stateOf, wordsOf } from '../channels/testing/served.ts';
import { loadProject } from '../project/load-project.ts';
import { loadPacked, packProject } from '../project/pack.ts';

const documents = {
  'docs/roses.md': '# Roses\n\nRoses are pruned in March, before the buds open.',
  'docs/pests.txt': 'Aphids are washed off with soap and water.',
  'docs/soil/compost.html': '<h1>Compost</h1><p>Compost needs two years until it is ripe.</p>',
};

function config(more = ''): string {
  return `
recipe: default.v1
language: en
assistant_id: greenhouse
pipeline:
  - name: MatchingCommandGenerator
policies:
  - name: FlowPolicy
  - name: EnterpriseSearchPolicy
${more}`;
}

const endpoints = (groups: string) => `
a2a_server: {description: Looks after a greenhouse.}
store: {type: memory}
model_groups:
${groups}`;

const group = (id: string, url: string) =>
  `  - {id: ${id}, models: [{provider: self-hosted, model: ${id}, api_base: "${url}"}]}\n`;

test('without a model, the best passage answers with its source', async () => {
  await using house = await served({ files: { ...documents, 'config.yml': config() } });
  const task = await house.say('When do I prune my roses?');
  expect(wordsOf(task)).toEqual([
    'Roses: Roses are pruned in March, before the buds open.\n\nSource: docs/roses.md',
  ]);
  expect(task.status.state).toBe('input-required');
});

test('a question that no document answers is rejected with a reason', async () => {
  await using house = await served({ files: { ...documents, 'config.yml': config() } });
  const task = await house.say('What is the capital of France?');
  expect(task.status.state).toBe('rejected');
  expect(stateOf(task)).toMatchObject({ reason: 'cannot_handle_no_relevant_answer' });
});

test('a question inside a flow is answered, and the flow continues', async () => {
  await using house = await served({ files: { ...documents, 'config.yml': config() } });
  await house.say('set the shade', { contextId: 'c' });
  const task = await house.say('How long does compost need until it is ripe?', { contextId: 'c' });
  expect(wordsOf(task)).toEqual([
    expect.stringContaining('Source: docs/soil/compost.html'),
    'How much shade?',
  ]);
  expect(stateOf(task)).toMatchObject({ active_flow: 'set_shade' });
});

test('with a model, the answer is generated and names its sources', async () => {
  await using server = await startScriptedModelServer([
    'In March [1].',
    'NO_ANSWER',
    { error: { status: 400, message: 'no' } },
  ]);
  await using house = await served({
    files: {
      ...documents,
      'config.yml': config('    llm: {model_group: words}'),
      'endpoints.yml': endpoints(group('words', server.url)),
    },
  });
  const task = await house.say('When do I prune my roses?');
  expect(wordsOf(task)).toEqual(['In March [1].\n\nSources:\n[1] docs/roses.md']);
  expect(server.requests[0]?.promptText).toContain('Roses are pruned in March');
  const refused = await house.say('When do I prune my roses at night?');
  expect(refused.status.state).toBe('rejected');
  const fallback = await house.say('When do I prune old roses?');
  expect(wordsOf(fallback)).toEqual([expect.stringContaining('Source: docs/roses.md')]);
  expect(house.warned).toContain('search.model_failed');
});

test('a prompt of the project knows docs, slots and the conversation', async () => {
  await using server = await startScriptedModelServer(['Soap.']);
  const prompt =
    '{% for doc in docs %}{{ doc.metadata.source }}|{{ doc.content }}{% endfor %}#{{ current_conversation }}#{{ slots.watered }}#{% for slot in slots %}{{ slot.name }}={{ slot.value }} ({{ slot.type }});{% endfor %}';
  await using house = await served({
    files: {
      ...documents,
      'prompts/search.jinja2': prompt,
      'config.yml': config(
        '    llm: {model_group: words}\n    prompt: prompts/search.jinja2\n    citation_enabled: false',
      ),
      'endpoints.yml': endpoints(group('words', server.url)),
    },
  });
  expect(wordsOf(await house.say('What helps against aphids?'))).toEqual(['Soap.']);
  expect(server.requests[0]?.promptText).toContain('What helps against aphids?#0#');
  expect(server.requests[0]?.promptText).toContain('watered=0 (float);');
  expect(server.requests[0]?.promptText).toContain(
    'docs/pests.txt|Aphids are washed off with soap and water.#USER: ',
  );
});

/** An endpoint for embeddings; `embedded` has the texts of each request. It rejects them while `isDown`. */
async function embeddingServer() {
  const embedded: (readonly string[])[] = [];
  const state = { isDown: false };
  const vectorOf = (text: string): readonly number[] =>
    /rose|flower/i.test(text) ? [1, 0, 0] : /aphid|bug/i.test(text) ? [0, 1, 0] : [0, 0, 1];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (bytes: Buffer) => (body += bytes.toString()));
    request.on('end', () => {
      const { input } = JSON.parse(body) as { input: readonly string[] };
      embedded.push(input);
      const data = input.map((text, index) => ({ index, embedding: vectorOf(text) }));
      response.writeHead(state.isDown ? 400 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ object: 'list', data, usage: { prompt_tokens: 3 } }));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, embedded, state };
}

test('embeddings find passages by meaning; a changed document alone is embedded again', async () => {
  const { url, embedded } = await embeddingServer();
  await using house = await served({
    files: {
      ...documents,
      'config.yml': config(
        '    embeddings: {model_group: vectors}\n    vector_store: {threshold: 0.5}',
      ),
      'endpoints.yml': endpoints(group('vectors', url)),
    },
  });
  expect(embedded.flat()).toHaveLength(3);
  const task = await house.say('What do I do with bugs?');
  expect(wordsOf(task)).toEqual([expect.stringContaining('Source: docs/pests.txt')]);
  await house.folder.write({ 'docs/pests.txt': 'Aphids are food for ladybirds.' });
  embedded.length = 0;
  expect((await house.api('PUT', '/model', {})).status).toBe(204);
  expect(embedded).toEqual([['Aphids are food for ladybirds.']]);
});

test('an embedding model that fails leaves the search by words', async () => {
  await using house = await served({
    files: {
      ...documents,
      'config.yml': config('    embeddings: {model_group: vectors}'),
      'endpoints.yml': endpoints(group('vectors', 'http://127.0.0.1:1/v1')),
    },
  });
  expect(house.warned).toContain('search.embedding_failed');
  const task = await house.say('When do I prune my roses?');
  expect(wordsOf(task)).toEqual([expect.stringContaining('Source: docs/roses.md')]);
});

test('the threshold of embeddings does not apply to a query that could not be embedded', async () => {
  const { url, state } = await embeddingServer();
  await using house = await served({
    files: {
      ...documents,
      'config.yml': config(
        '    embeddings: {model_group: vectors}\n    vector_store: {threshold: 0.95}',
      ),
      'endpoints.yml': endpoints(group('vectors', url)),
    },
  });
  state.isDown = true;
  const task = await house.say('When do I prune my roses?');
  expect(house.warned).toContain('search.embedding_failed');
  expect(wordsOf(task)).toEqual([expect.stringContaining('Source: docs/roses.md')]);
});

test('a module in TypeScript searches in place of the documents', async () => {
  await using house = await served({
    files: {
      'search.ts': `
export const search = async (query, { slots, limit }) =>
  query.includes('moon') ? [] : [{ text: query + ' ' + limit + ' ' + slots.watered, source: 'https://kb.example/1' }];
`,
      'config.yml': config('    vector_store: {type: qdrant}'),
      'endpoints.yml':
        'a2a_server: {description: x}\nstore: {type: memory}\nsearch: {module: ./search.ts}\n',
    },
  });
  const task = await house.say('What is a graft?');
  expect(wordsOf(task)).toEqual(['What is a graft? 4 0\n\nSource: https://kb.example/1']);
  expect((await house.say('What is a moon rock?')).status.state).toBe('rejected');
});

test('the query has the last messages, or all of them while there are fewer', async () => {
  await using house = await served({
    files: {
      'search.ts': `export const search = async (text) => [{ text, source: 'https://kb.example/1' }];`,
      'config.yml': config('    max_messages_in_query: 4'),
      'endpoints.yml':
        'a2a_server: {description: x}\nstore: {type: memory}\nsearch: {module: ./search.ts}\n',
    },
  });
  const queries: string[] = [];
  for (const part of ['graft', 'root', 'leaf', 'bud', 'stem']) {
    const [answer = ''] = wordsOf(await house.say(`What is a ${part}?`, { contextId: 'c' }));
    queries.push(
      String(answer)
        .replaceAll(/What is a |\?|\n\nSource: .*/g, '')
        .replaceAll('\n', ' '),
    );
  }
  expect(queries).toEqual([
    'graft',
    'graft root',
    'graft root leaf',
    'graft root leaf bud',
    'root leaf bud stem',
  ]);
});

test('bad documents are named and skipped; remote stores warn', async () => {
  await using folder = await greenhouseFolder({
    ...documents,
    'docs/broken.pdf': '%PDF-1.4 broken',
    'docs/empty.md': '\n',
    'docs/sheet.xlsx': 'PK',
    'config.yml': config(
      '    vector_store: {type: milvus}\n    embeddings: {provider: openai, model: e}',
    ),
    'endpoints.yml': 'vector_store: {type: milvus, host: h}\n',
  });
  const { project, problems } = await loadProject({ directory: folder.directory }, {});
  expect(project.documents.map(({ source }) => source)).toEqual([
    'docs/pests.txt',
    'docs/roses.md',
    'docs/soil/compost.html',
  ]);
  const told = problems.all.map((each) => formatProblem(each)).join('\n');
  for (const words of [
    /broken\.pdf.*skipped: /,
    /empty\.md.*skipped: it has no text/,
    /sheet\.xlsx.*skipped: only \.md/,
    /vector store "milvus" is not supported/,
    /"vector_store" is left out/,
  ]) {
    expect(told).toMatch(words);
  }
  expect(problems.errors).toEqual([]);
});

test('a package has the texts of the documents, and another model id when one changes', async () => {
  await using folder = await greenhouseFolder({ ...documents, 'config.yml': config() });
  const places = { directory: folder.directory };
  const loaded = await loadProject(places, {});
  const file = await packProject(loaded, { directory: folder.path('models'), now: 0 });
  const packed = await loadPacked(file, { directory: '/nowhere' }, {});
  expect(packed.project.documents).toEqual(loaded.project.documents);
  await folder.write({ 'docs/pests.txt': 'Changed.' });
  expect((await loadProject(places, {})).project.modelId).not.toBe(loaded.project.modelId);
});
