import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Command } from 'commander';
import { greenhouseFolder } from '../../test/support/greenhouse.ts';
import { catalogue } from './commands/catalogue.ts';
import { environment } from './testing/environment.ts';
import { giveInput } from './testing/input.ts';
import { patient } from './testing/legate-process.ts';

const command = join(import.meta.dirname, '../../bin/legate.cjs');

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs the command as a user would, with a pipe for input and output. */
async function legate(
  args: readonly string[],
  options: { readonly input?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<Ended> {
  const child = spawn(process.execPath, [command, ...args], {
    env: { ...environment, ...options.env },
  });
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  giveInput(child.stdin, options.input);
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { code, out, err };
}

test('help is quick: it loads nothing but the command line itself', async () => {
  const script = `
    import { registerHooks } from 'node:module';
    const loaded = [];
    registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context); } });
    const { main } = await import(${JSON.stringify(join(import.meta.dirname, 'main.ts'))});
    console.log = () => {};
    process.stdout.write = () => true;
    await main(['--help']);
    await main(['run', '--help']);
    console.error(JSON.stringify(loaded));
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script]);
  let err = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  await new Promise((resolve) => child.on('close', resolve));
  const loaded = JSON.parse(err.slice(err.indexOf('['))) as readonly string[];
  const foreign = loaded.filter(
    (url) =>
      !url.includes('/src/cli/main.ts') &&
      !url.includes('/src/cli/commands/') &&
      !url.includes('/node_modules/commander/') &&
      !url.startsWith('node:'),
  );
  expect(loaded.length).toBeGreaterThan(5);
  expect(foreign).toEqual([]);
});

/** The help of a command and of those below it, by their names. */
function helpOf(command: Command, name: string): readonly (readonly [string, string])[] {
  let text = '';
  command.configureOutput({ writeOut: (piece) => (text += piece) });
  command.outputHelp();
  return [
    [name, text],
    ...command.commands.flatMap((inner) => helpOf(inner, `${name} ${inner.name()}`)),
  ];
}

test('every command has help with examples of its own', () => {
  const all = catalogue().flatMap((command) => helpOf(command, command.name()));
  const without = all.filter(([, text]) => !/\nExamples?:\n {2}\S/.test(text));
  expect(without.map(([name]) => name)).toEqual([]);
});

test('the list of commands has every command once, and an example of a call that works', async () => {
  const { code, out } = await legate(['--help']);
  expect(code).toBe(0);
  for (const command of catalogue()) {
    expect(out.match(new RegExp(`^  ${command.name()}(?:\\|[\\w-]+)? `, 'gm'))).toHaveLength(1);
  }
  expect(out).toContain('\nExamples:\n');
  // As EXIT_002 of the A2A CLI specification wants it; see send.test.ts.
  expect(out).toContain('exit with 0 even if the\ntask failed');
});

test('colours are for terminals: a pipe gets none, and NO_COLOR none either', async () => {
  await using folder = await greenhouseFolder({ 'data/x.yml': 'flows: [' });
  for (const env of [{}, { NO_COLOR: '1' }, { FORCE_COLOR: '0' }]) {
    const { out, err } = await legate(['doctor', folder.directory, '-p', '0'], { env });
    expect(out + err).not.toContain('\u001B');
  }
});

test.each([
  [['runn'], 'Did you mean run?'],
  [['sennd', 'x'], 'Did you mean send?'],
  [['task', 'gett'], 'Did you mean get?'],
  [['run', '--prot', '1'], 'Did you mean --port?'],
  [['run', '-p', '70000'], 'from 0 to 65535'],
  [['run', '/no/such/folder'], 'no such file or folder: /no/such/folder'],
  [['visualize'], 'there is no command "visualize": the inspector shows the flows'],
  [['run', '--log-level', 'loud'], 'Allowed choices'],
])('%j is wrong usage: exit 2, and nothing on standard output', async (args, message) => {
  const { code, out, err } = await legate(args);
  expect(code).toBe(2);
  expect(out).toBe('');
  expect(err).toContain(message);
});

test(
  'validate prints every problem and exits with 1; without one it exits with 0',
  patient,
  async () => {
    await using folder = await greenhouseFolder();
    expect(await legate(['validate', folder.directory])).toMatchObject({ code: 0, out: '' });
    await folder.write({
      'data/x.yml': 'flows:\n  one:\n    description: One.\n    steps:\n      - collect: plnat\n',
      'data/y.yml': 'flows: {two: {steps: []}}\n',
    });
    const { code, out } = await legate(['validate', folder.directory]);
    expect(code).toBe(1);
    expect(out).toMatch(/x\.yml:5:18 flows\.one\.steps\[0\]\.collect: .*did you mean "plant"\?\n/);
    expect(out).toContain('y.yml:1:9');
    const json = await legate(['validate', folder.directory, '--json']);
    expect(JSON.parse(json.out)).toContainEqual(expect.objectContaining({ severity: 'error' }));
  },
);

test('validate warns of a sub agent without a model, unless its module is the whole agent', async () => {
  const bank = join(import.meta.dirname, '../../examples/bank');
  expect(await legate(['validate', bank, '--fail-on-warnings'])).toMatchObject({
    code: 0,
    err: '15 flows: no errors, 0 warnings\n',
  });
  const subAgent = 'agent: {name: florist, description: Knows flowers.}\n';
  const module = 'configuration: {module: ./agent.ts}\n';
  await using folder = await greenhouseFolder({
    'sub_agents/florist/config.yml': subAgent + module,
    'sub_agents/florist/agent.ts': 'export const processInput = (input) => input;\n',
  });
  const { out } = await legate(['validate', folder.directory]);
  expect(out).toContain('sub agent florist names no model: calls of it fail');
});

test('validate and train warn of actions whose Python is missing, and run refuses to start', async () => {
  const files = { 'domain/a.yml': 'actions: [action_rate]\n', 'actions/__init__.py': '' };
  await using folder = await greenhouseFolder({
    ...files,
    'endpoints.yml': '# here\naction_endpoint:\n  actions_module: actions\n',
  });
  const { directory } = folder;
  const env = { PATH: '/nonexistent', VIRTUAL_ENV: '' };
  const problem = /in Python, and there is no Python; .* -m pip install rasa-sdk"/;
  const warning = /endpoints\.yml:2:1 action_endpoint: warning: .*pip install rasa-sdk"/;
  const validated = await legate(['validate', directory], { env });
  expect(validated).toMatchObject({ code: 0, err: expect.stringContaining('1 warning') });
  expect(validated.out).toMatch(warning);
  const trained = await legate(['train', directory], { env });
  expect(trained).toMatchObject({ code: 0, err: expect.stringMatching(warning) });
  const run = await legate(['run', directory, '-p', '0'], { env });
  expect(run).toMatchObject({ code: 2, err: expect.stringMatching(problem) });
  await folder.write({ 'endpoints.yml': '' });
  const unconfigured = await legate(['validate', directory], { env });
  expect(unconfigured.out).toMatch(/actions:1:1: warning: .*pip install rasa-sdk"/);
}, 60_000);

test('validate looks where its six flags point, and nowhere else', async () => {
  await using folder = await greenhouseFolder();
  const paths: readonly (readonly [flag: string, path: string, file?: string])[] = [
    ['--config', 'other/config.yml'],
    ['--domain', 'other/domain.yml'],
    ['--data', 'other/data', '/flows.yml'],
    ['--endpoints', 'other/endpoints.yml'],
    ['--credentials', 'other/credentials.yml'],
    ['--sub-agents', 'other/agents', '/one/config.yml'],
  ];
  const files = paths.map(([, path, file = '']) => path + file);
  await folder.write(Object.fromEntries(files.map((file) => [file, 'nonsense: [\n'])));
  const flags = paths.flatMap(([flag, path]) => [flag, folder.path(path)]);
  const { code, out } = await legate(['validate', folder.directory, ...flags]);
  expect(code).toBe(1);
  expect(files.filter((file) => !out.includes(file))).toEqual([]);
  expect(await legate(['validate', folder.directory])).toMatchObject({ code: 0, out: '' });
});

test('train prints the path of the package alone; what is wrong is not packed', async () => {
  await using folder = await greenhouseFolder();
  const { code, out } = await legate(['train', folder.directory]);
  expect(code).toBe(0);
  expect(out).toMatch(/models\/\d{8}-\d{6}-greenhouse\.tar\.gz\n$/);
  expect(existsSync(out.trim())).toBe(true);
  const packed = await legate(['train', folder.directory, '--json', '--fixed-model-name', 'm']);
  expect(JSON.parse(packed.out)).toEqual({
    file: expect.stringMatching(/m\.tar\.gz$/) as string,
    problems: [],
  });
  const report = await legate(['train', folder.directory, '--report', '--json']);
  expect(JSON.parse(report.out)).toMatchObject({
    confusions: {},
    tried: expect.any(Number) as number,
  });
  await folder.write({ 'data/x.yml': 'flows: [' });
  const failed = await legate(['train', folder.directory, '--out', folder.path('other')]);
  expect(failed).toMatchObject({ code: 1, out: '' });
  expect(failed.err).toContain('nothing was packed');
  expect(existsSync(folder.path('other'))).toBe(false);
  const problems = await legate(['train', folder.directory, '--json']);
  expect(problems.code).toBe(1);
  expect(JSON.parse(problems.out)).toMatchObject({ problems: [{ severity: 'error' }] });
});

test('shell talks over a pipe: one line is one message, a number is a button', async () => {
  await using folder = await greenhouseFolder();
  const input = 'set the shade\n2\nwater the Monstera\n/stop\nnever read\n';
  const { code, out, err } = await legate(['shell', folder.directory], { input });
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toBe(
    [
      'Hi! I can help you with watering, shading, growth report, pump and rain. What would you like to do?',
      '  1) Watering',
      '  2) Shading',
      '  3) Growth report',
      '  4) Pump',
      'How much shade?',
      '  1) Little',
      '  2) Much',
      'The shade is high.',
      'Is there anything else I can help you with?',
      'How many litres?',
      '',
    ].join('\n'),
  );
});

test('run of the actions in Python says that the action server starts with the assistant', async () => {
  await using folder = await greenhouseFolder({ 'actions/__init__.py': '', 'actions/a.py': '' });
  for (const target of ['actions', folder.path('actions')]) {
    const { code, err } = await legate(['run', target, '-p', '0']);
    expect(code).toBe(0);
    expect(err).toContain('"legate run" starts the action server itself');
  }
});

test('commands of Rasa that have nothing to do succeed', async () => {
  const { code, out, err } = await legate(['telemetry', 'disable']);
  expect({ code, out, err }).toEqual({
    code: 0,
    out: '',
    err: 'legate: nothing to do: Legate collects no data about its use\n',
  });
});

test('test e2e: exit 1 when a test fails, with reports where they are wanted', async () => {
  await using folder = await greenhouseFolder({
    'tests/one.yml': `test_cases:
  - test_case: good <one>
    steps: [{user: set the shade}, {utter: utter_ask_shade}]
  - test_case: bad & worse
    steps: [{user: set the shade}, {utter: utter_ask_plant}]
`,
  });
  const tests = folder.path('tests');
  const good = await legate(['test', 'e2e', `${tests}/one.yml::good <one>`]);
  expect(good).toMatchObject({ code: 0 });
  const junit = folder.path('out/junit.xml');
  const out = folder.path('out');
  const failed = folder.path('failed.yml');
  const reports = ['--junit', junit, '-o', out, '-f', failed, '--coverage-output-path', out];
  const prefix = ['--results-prefix', 'e2e_results_'];
  const bad = await legate(['test', 'e2e', tests, '--coverage-report', ...reports, ...prefix]);
  expect(bad.code).toBe(1);
  expect(bad.out).toContain('1 passed, 1 failed');
  expect(bad.out).toMatch(/one\.yml:5:\d+\n {2}- utter utter_ask_plant\n {2}\+ utter_ask_shade/);
  expect(bad.out).toMatch(/set_shade +1\/2 +50\.0 %/);
  const xml = await readFile(junit, 'utf8');
  expect(xml).toContain('<testcase name="good &lt;one&gt;"');
  expect(xml).toContain('tests="2" failures="1"');
  expect(await readFile(folder.path('out/e2e_results_passed.yml'), 'utf8')).toContain('good');
  expect(await readFile(failed, 'utf8')).toContain('bad & worse');
  expect(await readFile(failed, 'utf8')).toBe(
    await readFile(folder.path('out/e2e_results_failed.yml'), 'utf8'),
  );
  expect(await readFile(folder.path('out/coverage.csv'), 'utf8')).toMatch(
    /^set_shade,.*,2,1,50\.0,/m,
  );
});

test('run serves a packed model with the endpoints of its folder, and stops when asked', async () => {
  await using folder = await greenhouseFolder();
  const model = (await legate(['train', folder.directory])).out.trim();
  const args = ['run', folder.directory, '-m', folder.path('models'), '-p', '0'];
  const child = spawn(process.execPath, [command, ...args, '--enable-api', '-t', 'key']);
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  try {
    await expect.poll(() => out, { timeout: 20_000 }).toContain('Stop:');
    const url = /at (http:\/\/localhost:\d+)/.exec(out)?.[1] ?? '';
    expect(out).toContain(`Agent card:  ${url}/.well-known/agent-card.json`);
    expect(out).toContain('Data:        in memory');
    const status = await fetch(`${url}/status?token=key`);
    expect(await status.json()).toMatchObject({ model_file: model });
    expect((await fetch(`${url}/status`)).status).toBe(401);
    // One short thing to try; requests in full are for --examples.
    expect(out).toContain(`npx legate send ${url} `);
    expect(out).not.toContain('curl ');
    const card = (await (await fetch(`${url}/.well-known/agent-card.json`)).json()) as object;
    expect(card).toMatchObject({
      name: 'greenhouse',
      version: /\d{8}-\d{6}-greenhouse/.exec(model)?.[0],
    });
  } finally {
    child.kill('SIGTERM');
  }
  expect(await ended).toBe(0);
});

test(
  '-m without a package, as before the first training, stands for the project',
  patient,
  async () => {
    await using folder = await greenhouseFolder({ 'models/rasa.tar.gz': 'a model of Rasa' });
    const { directory } = folder;
    for (const model of [folder.path('models'), folder.path('absent')]) {
      const { code, out, err } = await legate(['shell', directory, '-m', model], {
        input: 'hello\n',
      });
      expect({ code, err }).toEqual({
        code: 0,
        err: expect.stringContaining(
          `there is no model in ${model}; create one with "legate train`,
        ),
      });
      expect(out).not.toBe('');
    }
  },
);

test('run tells what is wrong and does not start', patient, async () => {
  await using folder = await greenhouseFolder({
    'endpoints.yml': 'a2a_server: {description: x, tls: {}}\nstore: {type: memory}\n',
  });
  const refused = await legate(['run', folder.directory, '-p', '0']);
  expect(refused).toMatchObject({ code: 2, out: '' });
  expect(refused.err).toContain('--ssl-certificate');
  await folder.write({ 'endpoints.yml': 'a2a_server: {description: x}\n' });
  const open = await legate(['run', folder.directory, '-i', '0.0.0.0']);
  expect(open).toMatchObject({ code: 2, out: '' });
  expect(open.err).toContain('--dangerously-allow-unauthenticated-remote');
  const env = { NODE_ENV: 'production' };
  const missing = await legate(['run', folder.directory, '-m', folder.directory], { env });
  expect(missing.code).toBe(2);
  expect(missing.err).toContain('legate train');
});
