import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { projectFolder } from '../../../test/support/greenhouse.ts';
import { silentLogger } from '../../telemetry/index.ts';
import { findPython } from '../actions/python.ts';
import type { ActionCall, ActionResult } from '../actions/runner.ts';
import { loadProject } from '../project/load-project.ts';
import { domain, TestClock } from '../testing/domain.ts';
import { type ActionsOptions, actionsOf, checkActions, pythonActionsOf } from './actions.ts';

const basics = {
  'config.yml': 'assistant_id: shop\npipeline:\n  - name: MatchingCommandGenerator\n',
  'domain.yml': 'actions: [action_rate]\nresponses: {utter_hi: [{text: Hi}]}\n',
  'data/flows.yml':
    'flows:\n  hi:\n    description: Say hi.\n    steps:\n      - action: utter_hi\n',
};

/** A project with these files; `python` is what its `.venv` has for an interpreter. */
async function shop(files: Readonly<Record<string, string>>, python?: string) {
  const folder = await projectFolder({ ...basics, ...files });
  if (python !== undefined) {
    mkdirSync(join(folder.directory, '.venv/bin'), { recursive: true });
    const path = join(folder.directory, '.venv/bin/python');
    writeFileSync(path, python);
    chmodSync(path, 0o755);
  }
  const { project, problems } = await loadProject({ directory: folder.directory }, {});
  problems.throwIfErrors();
  return { ...folder, project };
}

/** Nothing but the shell and its programs: no Python of this machine. */
const bare = { PATH: '/nonexistent' };

interface Line {
  readonly level: string;
  readonly event: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

function options(environment: ActionsOptions['environment'] = bare) {
  const lines: Line[] = [];
  const log = (level: string) => (fields: Line['fields'], event: string) =>
    void lines.push({ level, event, fields });
  const logger = { ...silentLogger, info: log('info'), warn: log('warn'), error: log('error') };
  return { environment, logger, lines };
}

/** Answers like rasa_sdk, counts its starts, and ends when `action_crash` is called. */
const server = `
import { appendFileSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
const args = process.argv.slice(2);
if (args[0] === '-c') process.exit(0);
appendFileSync('starts.txt', process.pid + ' ' + process.env.SANIC_HOST + ' ' + args.join(' ') + '\\n');
const count = readFileSync('starts.txt', 'utf8').trim().split('\\n').length;
console.log('INFO rasa_sdk.endpoint - starting');
console.error('2026-01-01 ERROR rasa_sdk.executor - a complaint');
createServer((request, response) => {
  const answer = (body) => response.end(JSON.stringify(body));
  if (request.url === '/health') return answer({ status: 'ok' });
  if (request.url === '/actions') return answer([{ name: 'action_crash' }]);
  let body = '';
  request.on('data', (piece) => (body += piece));
  request.on('end', () => {
    const { next_action: name } = JSON.parse(body);
    if (name === 'action_crash') process.exit(7);
    if (name === 'action_path') return answer({ events: [], responses: [{ text: process.env.PYTHONPATH }] });
    answer({ events: [], responses: [{ text: name + ' of start ' + count }] });
  });
}).listen(Number(args[args.indexOf('-p') + 1]), '127.0.0.1');
`;
const complaining = `process.on('SIGTERM', () => {
  console.error('Traceback (most recent call last):\\nRuntimeError: stopped');
  process.exit(0);
});
`;
const stub = `#!/bin/sh\nexec ${process.execPath} server.mjs "$@"\n`;
const typescript = `export const rate = {
  name: 'action_rate',
  run: async ({ utter }) => void utter('from TypeScript'),
};
`;
const twoActions = 'actions: [action_rate, action_crawl]\nresponses: {utter_hi: [{text: Hi}]}\n';
const python = { 'actions/__init__.py': '', 'server.mjs': server };

function call(name: string): ActionCall {
  return {
    name,
    senderId: 'ada',
    slots: {},
    tracker: () => Promise.resolve({}),
    domain: domain([]),
    channel: 'rest',
    signal: new AbortController().signal,
    clock: new TestClock(),
    logger: silentLogger,
    context: {},
    stream: () => Promise.resolve(),
    newId: () => 'id',
  };
}

const endpoint = (text: string) => ({ 'endpoints.yml': `action_endpoint: {${text}}\n` });
const text = async (result: Promise<ActionResult> | undefined) => (await result)?.messages[0]?.text;
const startsOf = (directory: string) =>
  readFileSync(join(directory, 'starts.txt'), 'utf8').trim().split('\n');

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    expect(error).toMatchObject({ code: 'ESRCH' });
    return false;
  }
}

test.each([
  ['a package', 'actions', 'actions/actions.py', 'actions'],
  ['a package of packages', 'actions', 'actions/orders/price.py', 'actions'],
  ['a module', 'actions', 'actions.py', 'actions'],
  ['a file', './actions.py', 'actions.py', 'actions'],
  ['a module of a package', 'my.actions', 'my/actions.py', 'my.actions'],
])(
  'actions_module that is %s of Python is run by an action server',
  async (_, named, file, module) => {
    await using folder = await shop({ ...endpoint(`actions_module: ${named}`), [file]: 'pass\n' });
    expect(pythonActionsOf(folder.project)).toBe(module);
  },
);

test('a Python action server is started, serves the project, and is stopped with it', async () => {
  await using folder = await shop({ ...python, 'actions/rates/rate.py': '' }, stub);
  const { lines, ...given } = options();
  const actions = await actionsOf(folder.project, given);
  expect(await text(actions?.run(call('action_rate')))).toBe('action_rate of start 1');
  const [start = ''] = startsOf(folder.directory);
  expect(start).toMatch(/^\d+ 127\.0\.0\.1 -m rasa_sdk --actions actions -p \d+$/);
  expect(lines).toContainEqual({
    level: 'error',
    event: 'action.server.log',
    fields: { server: 'actions', line: '2026-01-01 ERROR rasa_sdk.executor - a complaint' },
  });
  expect(lines).toContainEqual({
    level: 'info',
    event: 'action.server.log',
    fields: { server: 'actions', line: 'INFO rasa_sdk.endpoint - starting' },
  });
  const missing = lines.find(({ event }) => event === 'action.server.actions_missing');
  expect(missing?.fields).toEqual({
    server: 'actions',
    actions: ['action_rate'],
    hint: 'rasa_sdk passes over folders without __init__.py: rates',
  });
  await actions?.close?.();
  expect(isAlive(Number.parseInt(start, 10))).toBe(false);
  expect(lines.some(({ event }) => event === 'action.server.exited')).toBe(false);
});

test('output of a Python action server that is being stopped is not logged as an error', async () => {
  await using folder = await shop({ ...python, 'server.mjs': server + complaining }, stub);
  const { lines, ...given } = options();
  const actions = await actionsOf(folder.project, given);
  const stopping: unknown[] = [];
  const debug = (fields: unknown) => void stopping.push(fields);
  Object.assign(given.logger, { debug });
  await actions?.close?.();
  expect(stopping).toContainEqual({ server: 'actions', line: 'RuntimeError: stopped' });
  expect(lines.some(({ fields }) => String(fields['line']).includes('stopped'))).toBe(false);
});

test('a Python action server that crashes is started again, on any port', async () => {
  await using folder = await shop(python, stub);
  const { lines, ...given } = options();
  const actions = await actionsOf(folder.project, given);
  await expect(actions?.run(call('action_crash'))).rejects.toThrow('did not answer');
  await expect
    .poll(() => lines.find(({ event }) => event === 'action.server.exited')?.fields)
    .toMatchObject({ code: 7, retryInMs: 1_000 });
  expect(await text(actions?.run(call('action_rate')))).toBe('action_rate of start 2');
  await actions?.close?.();
});

test('a Python action server ends when the process that started it is killed', async () => {
  await using folder = await shop(python, stub);
  const module = (path: string) =>
    JSON.stringify(pathToFileURL(join(import.meta.dirname, path)).href);
  const script = `
    const { actionsOf } = await import(${module('actions.ts')});
    const { loadProject } = await import(${module('../project/load-project.ts')});
    const { silentLogger: logger } = await import(${module('../../telemetry/index.ts')});
    const { project } = await loadProject({ directory: '.' }, {});
    await actionsOf(project, { environment: { PATH: '/nonexistent' }, logger });
    console.log('ready');`;
  const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
    cwd: folder.directory,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(parent.stdout, 'data');
  // The process may stay in the table of processes as long as nobody waits for it.
  const health = `http://127.0.0.1:${startsOf(folder.directory)[0]?.split(' ').at(-1)}/health`;
  expect((await fetch(health)).status).toBe(200);
  parent.kill('SIGKILL');
  await expect.poll(() => fetch(health).catch(() => 'refused')).toBe('refused');
});

test.each([
  { module: 'requests', name: 'requests' },
  { module: 'dotenv', name: 'python-dotenv' },
  { module: 'google.generativeai', name: 'google-generativeai' },
])('without $module the assistant runs, and calls name the package', async ({ module, name }) => {
  const broken = `#!/bin/sh
[ "$1" = -c ] && exit 0
echo "Traceback (most recent call last):" >&2
echo '  File "actions/__init__.py", line 1' >&2
echo "ModuleNotFoundError: No module named '${module}'" >&2
exit 1
`;
  await using folder = await shop(python, broken);
  const { lines, ...given } = options();
  const actions = await actionsOf(folder.project, given);
  await expect(actions?.run(call('action_rate'))).rejects.toThrow(
    'the Python action server of "actions" does not run: ModuleNotFoundError: No module named ' +
      `'${module}'; install it with pip, for example "pip install ${name}"`,
  );
  expect(lines.find(({ event }) => event === 'action.server.exited')?.level).toBe('error');
  await actions?.close?.();
});

test.each([
  { has: 'rasa', code: 0, path: 'given' },
  { has: 'rasa_sdk alone', code: 4, path: expect.stringMatching(/^given[:;].*rasa-helpers$/) },
])('helpers of rasa are on the path of Python with $has', async ({ code, path }) => {
  const script = `#!/bin/sh\n[ "$1" = -c ] && exit ${code}\nexec ${process.execPath} server.mjs "$@"\n`;
  await using folder = await shop(python, script);
  const actions = await actionsOf(folder.project, options({ ...bare, PYTHONPATH: 'given' }));
  expect(await text(actions?.run(call('action_path')))).toEqual(path);
  await actions?.close?.();
});

test('an interpreter without rasa_sdk is one error with the pip command', async () => {
  await using folder = await shop(python, '#!/bin/sh\nexit 3\n');
  const command = join(folder.directory, '.venv/bin/python');
  const starting = actionsOf(folder.project, options());
  await expect(starting).rejects.toThrow(
    `the actions of this project are written in Python, and ${command} has no rasa_sdk; run ` +
      `"${command} -m pip install rasa-sdk"`,
  );
});

test('a machine without Python is one error with the pip command', async () => {
  await using folder = await shop(python);
  const starting = actionsOf(folder.project, options());
  await expect(starting).rejects.toThrow(/there is no Python; .* -m pip install rasa-sdk"/);
});

test('VIRTUAL_ENV comes before the PATH, and an environment without rasa_sdk is passed over', async () => {
  await using folder = await shop(python, '#!/bin/sh\nexit 3\n');
  const venv = join(folder.directory, 'other');
  mkdirSync(join(venv, 'bin'), { recursive: true });
  writeFileSync(join(venv, 'bin/python'), stub, { mode: 0o755 });
  const found = await findPython({
    directory: folder.directory,
    environment: { ...bare, VIRTUAL_ENV: venv },
    canInstall: true,
  });
  expect(found.command).toBe(join(venv, 'bin/python'));
});

test('uv comes before the PATH', async () => {
  await using folder = await shop(python);
  const path = join(folder.directory, 'bin');
  mkdirSync(path);
  for (const name of ['uv', 'python3']) {
    writeFileSync(join(path, name), '#!/bin/sh\nexit 0\n', { mode: 0o755 });
  }
  const environment = { PATH: path };
  const { directory } = folder;
  const found = await findPython({ directory, environment, canInstall: true });
  expect([found.command, ...found.args]).toEqual(['uv', 'run', 'python']);
});

test('a check neither creates an environment nor installs the packages of a uv project', async () => {
  await using folder = await shop(python);
  const { directory } = folder;
  mkdirSync(join(directory, 'bin'));
  const uv = '#!/bin/sh\necho "$1 $2 $3 $4" >> calls.txt\nexit 3\n';
  writeFileSync(join(directory, 'bin/uv'), uv, { mode: 0o755 });
  const warnings = async () => {
    const loaded = await loadProject({ directory }, {});
    await checkActions(loaded, { PATH: join(directory, 'bin') });
    return loaded.problems.nonFatal.map(({ message }) => message);
  };
  expect(await warnings()).toEqual([expect.stringContaining('uv has no rasa_sdk')]);
  await folder.write({ 'pyproject.toml': '[project]\ndependencies = ["rasa-sdk>=3"]\n' });
  expect(await warnings()).toEqual([]);
  const calls = readFileSync(join(directory, 'calls.txt'), 'utf8').trim().split('\n');
  expect(new Set(calls)).toEqual(new Set(['run --no-project --offline python']));
});

test('TypeScript actions run beside Python ones, which are not started when nothing needs them', async () => {
  const module = { 'actions/index.ts': typescript };
  await using both = await shop(
    { ...python, ...module, ...endpoint('actions_module: actions'), 'domain.yml': twoActions },
    stub,
  );
  const actions = await actionsOf(both.project, options());
  expect(await text(actions?.run(call('action_rate')))).toBe('from TypeScript');
  expect(await text(actions?.run(call('action_crawl')))).toBe('action_crawl of start 1');
  await actions?.close?.();
  await using one = await shop({ ...python, ...module }, stub);
  expect(await text((await actionsOf(one.project, options()))?.run(call('action_rate')))).toBe(
    'from TypeScript',
  );
  expect(existsSync(join(one.directory, 'starts.txt'))).toBe(false);
});

/** An action server that says where it is; on the given port, or a free one. */
async function elsewhere(port = 0): Promise<AsyncDisposable & { readonly port: number }> {
  const server = createServer((_, response) => {
    response.end(JSON.stringify({ events: [], responses: [{ text: 'from elsewhere' }] }));
  });
  await once(server.listen(port, '127.0.0.1'), 'listening');
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const urlOf = (port: number) => `url: http://127.0.0.1:${port}/webhook`;

test('an action server of action_endpoint wins, and no action needs no server', async () => {
  await using other = await elsewhere();
  for (const given of [urlOf(other.port), `${urlOf(other.port)}, actions_module: actions`]) {
    await using folder = await shop({ ...endpoint(given), ...python }, stub);
    const actions = await actionsOf(folder.project, options());
    expect(await text(actions?.run(call('action_rate')))).toBe('from elsewhere');
    expect(existsSync(join(folder.directory, 'starts.txt'))).toBe(false);
  }
  const silent = { 'domain.yml': 'responses: {utter_hi: [{text: Hi}]}\n' };
  await using folder = await shop({ ...python, ...silent }, stub);
  expect(await actionsOf(folder.project, options())).toBeUndefined();
});

test('where nothing answers at the URL, the Python actions of the project run until something does', async () => {
  const free = await elsewhere();
  await free[Symbol.asyncDispose]();
  await using folder = await shop({ ...endpoint(urlOf(free.port)), ...python }, stub);
  const { lines, ...given } = options();
  const actions = await actionsOf(folder.project, given);
  expect(lines.find(({ event }) => event === 'action.server.replaced')?.fields).toMatchObject({
    url: `http://127.0.0.1:${free.port}/webhook`,
    server: 'actions',
  });
  expect(await text(actions?.run(call('action_rate')))).toBe('action_rate of start 1');
  await using _late = await elsewhere(free.port);
  expect(await text(actions?.run(call('action_rate')))).toBe('from elsewhere');
  await actions?.close?.();
});

test('in production, and without Python, nothing stands in for the action server', async () => {
  const free = await elsewhere();
  await free[Symbol.asyncDispose]();
  await using folder = await shop({ ...endpoint(urlOf(free.port)), ...python }, stub);
  const { lines, ...production } = options({ ...bare, NODE_ENV: 'production' });
  const actions = await actionsOf(folder.project, production);
  await expect(actions?.run(call('action_rate'))).rejects.toThrow('did not answer');
  expect(existsSync(join(folder.directory, 'starts.txt'))).toBe(false);
  expect(lines).toEqual([]);
  await using none = await shop({ ...endpoint(urlOf(free.port)), ...python });
  const { lines: warned, ...given } = options();
  await expect((await actionsOf(none.project, given))?.run(call('action_rate'))).rejects.toThrow(
    'did not answer',
  );
  expect(warned).toMatchObject([{ level: 'warn', event: 'action.server.unreachable' }]);
});

test('a module that is not there is named, where an action needs it', async () => {
  await using folder = await shop(endpoint('actions_module: actions'));
  await expect(actionsOf(folder.project, options())).rejects.toThrow(
    'there is no module actions in the project',
  );
  const silent = { 'domain.yml': 'responses: {utter_hi: [{text: Hi}]}\n' };
  await using template = await shop({ ...endpoint('actions_module: actions'), ...silent });
  expect(await actionsOf(template.project, options())).toBeUndefined();
});
