import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { readConftest } from '../../src/assistant/e2e/read-test-file.ts';
import { loadProject } from '../../src/assistant/index.ts';
import { readBusIdentity, readBusOptions } from '../../src/bus/index.ts';
import { main } from '../../src/cli/main.ts';
import { formatProblem, Problems, YamlFile } from '../../src/config/index.ts';
import { type Block, blocksOf, fileOf } from '../newcomer/markdown.ts';
import { makeCertificate } from '../certificate.ts';
import { greenhouseFolder, projectFolder } from '../support/greenhouse.ts';

const root = join(import.meta.dirname, '../..');
const pages = globSync('{README.md,docs/**/*.md}', { cwd: root }).sort();

function yamlOf(page: string): readonly Block[] {
  const text = readFileSync(join(root, page), 'utf8');
  // Files that examples have are checked where they are.
  return blocksOf(text).filter(
    ({ language, info }) => language === 'yaml' && !info.startsWith('file='),
  );
}

/** Every variable that a text asks for, with something in it. */
function environmentOf(text: string): Readonly<Record<string, string>> {
  const names = Array.from(text.matchAll(/\$\{(\w+)\}/g), ([, name = '']) => name);
  const values = {
    AMQP_URL: 'amqp://localhost',
    DATABASE_URL: 'postgres://localhost/x',
    POOLER_URL: 'postgres://localhost:6432/x',
  };
  return { ...Object.fromEntries(names.map((name) => [name, 'x'])), ...values };
}

async function problemsOf(directory: string, text: string): Promise<readonly string[]> {
  const { problems } = await loadProject({ directory }, environmentOf(text));
  return problems.all.map(formatProblem);
}

/** What the pages take for granted. */
const besides: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'README.md': {
    'domain.yml': `
slots: {size: {type: text, mappings: [{type: from_llm}]}, name: {type: text, mappings: [{type: from_llm}]}}
responses:
  utter_ask_size: [{text: Which size?}]
  utter_ask_name: [{text: For whom?}]
  utter_ordered: [{text: Ordered.}]
`,
  },
  'docs/guides/matching-generator.md': {
    'domain.yml': 'responses: {utter_balance: [{text: You have ten euros.}]}\n',
  },
};

const withFlows = pages.filter((page) =>
  yamlOf(page).some((block) => fileOf(block)?.startsWith('data/')),
);

test.each(withFlows)('the project of %s is valid', async (page) => {
  const blocks = yamlOf(page).filter((block) =>
    /^(?!tests\/|conftest)/.test(fileOf(block) ?? 'tests/'),
  );
  const text = readFileSync(join(root, page), 'utf8');
  const code = blocksOf(text).filter(({ language, title }) => language === 'ts' && title);
  const files = Object.fromEntries(
    [...blocks, ...code].map((block) => [fileOf(block) ?? '', block.body]),
  );
  await using folder = await projectFolder({ ...besides[page], ...files });
  expect(await problemsOf(folder.directory, text)).toEqual([]);
});

const endpoints = pages.flatMap((page) =>
  yamlOf(page)
    .filter((block) => fileOf(block) === 'endpoints.yml')
    .map(({ body }) => [page, body] as const),
);

test.each(endpoints)('endpoints.yml of %s has only what is read: %s', async (_, body) => {
  // Certificates and keys of the bus, which are read with its options.
  const { certificate, key } = makeCertificate({ commonName: 'researcher' });
  const named = Array.from(
    body.matchAll(/\btls\/[\w.-]+/g),
    ([path]) => [path, path.endsWith('.key') ? key : certificate] as const,
  );
  await using folder = await greenhouseFolder({
    ...Object.fromEntries(named),
    'endpoints.yml': body,
  });
  expect(await problemsOf(folder.directory, body)).toEqual([]);
  const { bus } = parse(body) as { readonly bus?: { readonly type: string } };
  if (bus === undefined) return;
  expect(readBusOptions(bus, { directory: folder.directory }).type).toBe(bus.type);
});

test('the keys of the guide to the bus are made by its command, and read by its endpoints.yml', async () => {
  const text = readFileSync(join(root, 'docs/guides/bus.md'), 'utf8');
  const [, line = ''] = /^(legate bus key \S+ --out \S+)/m.exec(text) ?? [];
  await using folder = await projectFolder({});
  const [, ...args] = line.split(' ');
  for (const name of ['alice', 'bob', 'gateway']) {
    const typed = args.map((word) =>
      word.replace('alice', name).replace(/^keys$/, folder.path('keys')),
    );
    await main(typed);
  }
  const signed = yamlOf('docs/guides/bus.md').find(({ body }) => body.includes('signing_key'));
  const { bus } = parse(signed?.body ?? '') as { readonly bus: object };
  const identity = await readBusIdentity(bus, { directory: folder.directory, issuer: 'bob' });
  expect(identity).toMatchObject({ signer: expect.anything(), verifier: expect.anything() });
});

test('conftest.yml of the guide has only what is read', () => {
  const blocks = pages.flatMap(yamlOf).filter((block) => fileOf(block) === 'conftest.yml');
  expect(blocks).not.toEqual([]);
  for (const { body: text } of blocks) {
    const problems = new Problems();
    readConftest(YamlFile.parse({ file: 'conftest.yml', text }, problems), problems);
    expect(problems.all.map(formatProblem)).toEqual([]);
  }
});

/** Files of other programs: only checked to be YAML. */
const foreign = new Set(['compose.yml', 'prometheus.yml']);

test('every piece of YAML says which file it belongs to, or what it is', () => {
  const unknown = pages.flatMap((page) =>
    yamlOf(page)
      .filter((block) => {
        const file = fileOf(block);
        const isOurs =
          file !== undefined &&
          /^(?:endpoints|credentials|config|domain|data|tests|conftest|evals|sub_agents)\b/.test(
            file,
          );
        return !isOurs && !foreign.has(file ?? '') && !block.body.startsWith('apiVersion:');
      })
      .map(({ body }) => `${page}: ${body.split('\n')[0]}`),
  );
  expect(unknown).toEqual([]);
});
