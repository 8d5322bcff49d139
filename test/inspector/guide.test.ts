import { readFile } from 'node:fs/promises';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { agent, artifact, textOf } from '../../src/index.ts';
import { serve, type Serving } from '../../src/http/index.ts';

const root = join(import.meta.dirname, '../..');
const guide = await readFile(join(root, 'docs/guides/inspector.md'), 'utf8');

test('the code of the guide shows an agent in the inspector', async () => {
  const code = /^```ts title=inspect\.ts\n([\s\S]*?)^```$/m.exec(guide)?.[1] ?? '';
  const names = 'agent, artifact, serve, textOf';
  expect(code).toContain(`import { ${names} } from 'legate';`);
  const body = code.replace(/^import .*\n/, '').replace('port: 8080', 'port: 0');
  const AsyncFunction = (async () => {}).constructor as new (
    ...parts: string[]
  ) => (...values: unknown[]) => Promise<Serving>;
  const run = new AsyncFunction('console', ...names.split(', '), `${body}; return server;`);
  const printed: unknown[] = [];
  const console = { log: (line: unknown) => void printed.push(line) };
  await using server = await run(console, agent, artifact, serve, textOf);
  expect(printed).toEqual([server.inspectorUrl]);
  expect((await fetch(`${server.url}/inspect/`)).status).toBe(200);
  const token = new URL(server.inspectorUrl ?? '').searchParams.get('token') ?? '';
  const headers = { authorization: `Bearer ${token}` };
  const about = await fetch(`${server.url}/inspect/api/about`, { headers });
  expect(await about.json()).toMatchObject({ agents: [{ name: 'greeter' }] });
});

test('every picture and page that the guide names exists', () => {
  const addresses = [...guide.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(
    ([, address]) => address ?? '',
  );
  expect(addresses.length).toBeGreaterThan(4);
  for (const address of addresses) {
    expect(existsSync(join(root, 'docs/guides', address)), address).toBe(true);
  }
});

test('the guide shows every picture there is, and the command makes each of them', async () => {
  const made = await readFile(join(root, 'test/inspector/screenshots.ts'), 'utf8');
  const names = readdirSync(join(root, 'docs/images')).filter((name) =>
    name.startsWith('inspector-'),
  );
  expect(names.length).toBeGreaterThan(20);
  for (const name of names) {
    expect(guide).toContain(`../images/${name})`);
    expect(made).toContain(`'${name.slice('inspector-'.length, -'.png'.length)}')`);
  }
});

test('the guide names every option', async () => {
  const source = await readFile(join(root, 'src/http/inspector/options.ts'), 'utf8');
  const block = /interface InspectorOptions \{([\s\S]*?)^\}/m.exec(source)?.[1] ?? '';
  const options = [...block.matchAll(/readonly (\w+)\?:/g)].map(([, name]) => name ?? '');
  expect(options).toContain('proxy');
  for (const name of options.filter((option) => option !== 'scheduler')) {
    expect(guide).toContain(`| \`${name}\` |`);
  }
});
