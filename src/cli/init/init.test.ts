import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { rabbitMq } from '../../../test/support/rabbitmq.ts';
import { legate, start, patient } from '../testing/legate-process.ts';
import { Typist } from '../testing/typist.ts';
import { askPlan } from './questions.ts';
import { templateOf } from './template.ts';
import { environment } from '../testing/environment.ts';

const root = join(import.meta.dirname, '../../..');

function temporary(): Disposable & { readonly directory: string } {
  const directory = mkdtempSync(join(tmpdir(), 'legate-init-'));
  return {
    directory,
    [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }),
  };
}

/** Serves it, and gives its address once it is open. */
async function served(args: readonly string[], directory: string) {
  const running = start(['run', ...args, '-p', '0'], { directory });
  await expect.poll(() => running.out, { timeout: 60_000 }).toContain('Stop:');
  const url = /at (http:\/\/localhost:\d+)/.exec(running.out)?.[1] ?? '';
  return {
    url,
    out: running.out,
    async [Symbol.asyncDispose]() {
      running.child.kill('SIGTERM');
      expect((await running.ended).code).toBe(0);
    },
  };
}

test(
  'an assistant that was made is valid, passes its tests, and runs with the inspector',
  patient,
  async () => {
    using folder = temporary();
    const { directory } = folder;
    const made = await legate(['init', 'bistro', '--kind', 'assistant'], { directory });
    expect(made.code).toBe(0);
    expect(made.out.split('\n')).toEqual(
      expect.arrayContaining(['bistro/domain.yml', 'bistro/.gitignore', 'bistro/data/flows.yml']),
    );
    expect(made.err).toBe(
      '\nCreated the assistant "bistro". Next steps:\n  cd bistro\n' +
        `  npm pack ${root} --pack-destination vendor\n  npm install\n` +
        '  npx legate test e2e\n  npx legate shell\n  npx legate run --inspect\n',
    );
    const project = join(directory, 'bistro');
    expect(await legate(['validate', '--fail-on-warnings'], { directory: project })).toMatchObject({
      code: 0,
      out: '',
    });
    const tested = await legate(['test', 'e2e'], { directory: project });
    expect(tested.out).toContain('2 passed, 0 failed');
    await using server = await served(['--inspect'], project);
    expect(server.out).toContain(`Inspector:   ${server.url}/inspect/?token=`);
    expect((await fetch(`${server.url}/inspect/`)).status).toBe(200);
    const sent = await legate(['send', server.url, 'when are you open']);
    expect(sent.out).toContain('We are open from noon to midnight.');
  },
);

test(
  'an agent that was made runs before anything is installed, and passes every check',
  patient,
  async () => {
    using folder = temporary();
    const { directory } = folder;
    const options = ['--kind', 'agent', '--name', 'word-count', '-d', 'Counts "words".'];
    expect((await legate(['init', ...options], { directory })).code).toBe(0);
    const inspect = ['--inspect', '--inspect-token', 'open-sesame'];
    await using server = await served(['agent.ts', ...inspect], directory);
    const sent = await legate(['send', server.url, 'one two three']);
    expect(sent.out).toContain('  3 words\n');
    const checked = await legate(['check', server.url]);
    expect(checked.code).toBe(0);
    const card = await legate(['card', server.url]);
    expect(card.out).toContain('Name: word-count\nDescription: Counts "words".');
    const headers = { authorization: 'Bearer open-sesame' };
    expect((await fetch(`${server.url}/inspect/api/about`, { headers })).status).toBe(200);
    expect(server.out).toContain(`Inspector:   ${server.url}/inspect/?token=open-sesame`);
  },
);

test('a code agent with a token asks its callers for it', patient, async () => {
  using folder = temporary();
  const { directory } = folder;
  await legate(['init', '-k', 'agent', '-n', 'kept'], { directory });
  const open = await legate(['run', 'agent.ts', '-i', '0.0.0.0', '-p', '0'], { directory });
  expect(open.code).toBe(2);
  expect(open.err).toContain('set --auth-token, listen on 127.0.0.1');
  expect(open.err).toContain('--dangerously-allow-unauthenticated-remote');
  expect(open.err).not.toContain('dangerouslyAllow');
  await using server = await served(['agent.ts', '-t', 'sesame-open'], directory);
  expect((await legate(['send', server.url, 'x'])).code).toBe(4);
  const env = { A2ACLI_BEARER: 'sesame-open' };
  expect((await legate(['send', server.url, 'x'], { env })).code).toBe(0);
});

test('the next steps say what to type in another terminal', patient, async () => {
  using folder = temporary();
  const steps = async (kind: string) => {
    const options = ['init', kind, '-k', kind, '-n', 'counter'];
    const { err } = await legate(options, { directory: folder.directory });
    return err.split('\n').filter((line) => line.includes('#'));
  };
  expect(await steps('agent')).toEqual([
    '  npx legate send http://localhost:5005 "one two three"    # in another terminal',
  ]);
  expect(await steps('worker')).toEqual([
    '  export AMQP_URL=amqp://localhost    # in every terminal',
    '  npx legate call counter count "one two three"    # in another terminal',
  ]);
});

test('a worker that was made takes its tasks from the bus', patient, async () => {
  const { url } = await rabbitMq();
  using folder = temporary();
  const { directory } = folder;
  const name = `worker-${crypto.randomUUID().slice(0, 8)}`;
  expect((await legate(['init', '-k', 'worker', '-n', name], { directory })).code).toBe(0);
  const options = { directory, env: { AMQP_URL: url } };
  const working = start(['work', 'agent.ts'], options);
  try {
    await expect.poll(() => working.out, { timeout: 60_000 }).toContain(`Working as "${name}"`);
    const called = await legate(['call', name, 'count', 'one two'], options);
    expect(called).toMatchObject({ code: 0, out: expect.stringContaining('2 words') as string });
  } finally {
    working.child.kill('SIGTERM');
    await working.ended;
  }
});

test.each(['agent', 'worker'])(
  'an %s in code that was made passes its own test',
  patient,
  async (kind) => {
    using folder = temporary();
    const { directory } = folder;
    expect((await legate(['init', '-k', kind, '-n', 'word-count'], { directory })).code).toBe(0);
    // As if it had been installed.
    const installed = join(directory, 'node_modules/legate');
    mkdirSync(installed, { recursive: true });
    const source = JSON.stringify(join(import.meta.dirname, '../../index.ts'));
    writeFileSync(join(installed, 'package.json'), '{"type": "module", "exports": "./index.js"}');
    writeFileSync(join(installed, 'index.js'), `export * from ${source};`);
    const { scripts } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as {
      scripts: { test: string };
    };
    expect(scripts.test).toBe('node --test');
    const readme = readFileSync(join(directory, 'README.md'), 'utf8');
    expect(readme).toMatch(/^npm pack <checkout> --pack-destination vendor$/m);
    expect(readme).not.toMatch(/^legate /m);
    const out = execFileSync(process.execPath, ['--test', '--test-reporter', 'tap'], {
      cwd: directory,
      encoding: 'utf8',
      // Without what the runner of this test tells its own children.
      env: { ...environment, HOME: directory },
    });
    expect(out).toContain('# pass 1\n# fail 0');
  },
);

test('nothing that is there is replaced, unless it is to be', patient, async () => {
  using folder = temporary();
  const { directory } = folder;
  writeFileSync(join(directory, 'README.md'), 'mine');
  const refused = await legate(['init', '--yes'], { directory });
  expect(refused).toMatchObject({ code: 2, out: '' });
  expect(refused.err).toContain('README.md');
  expect(readFileSync(join(directory, 'README.md'), 'utf8')).toBe('mine');
  expect((await legate(['init', '--yes', '--force'], { directory })).code).toBe(0);
  expect(readFileSync(join(directory, 'README.md'), 'utf8')).not.toBe('mine');
});

test('in a folder with a project, a person is asked for another folder', patient, async () => {
  using folder = temporary();
  const { directory } = folder;
  writeFileSync(join(directory, 'package.json'), '{}');
  const typist = new Typist(['init', '-n', 'bistro', '-k', 'assistant', '-d', 'Cooks.'], directory);
  await typist.says('already contains package.json. Folder of the project');
  await typist.type('.\r', 'already contains package.json');
  await typist.type('\u0015\r', 'cd bistro');
  expect(await typist.ended).toBe(0);
  expect(readFileSync(join(directory, 'package.json'), 'utf8')).toBe('{}');
  expect(readFileSync(join(directory, 'bistro/README.md'), 'utf8')).toContain('Cooks.');
});

test('wrong names and kinds are wrong usage', patient, async () => {
  using folder = temporary();
  const { directory } = folder;
  expect((await legate(['init', '--name', '../x'], { directory })).code).toBe(2);
  expect((await legate(['init', '--kind', 'robot'], { directory })).err).toContain('assistant');
});

/** Answers each question, when it is shown, with the keys that a person would press. */
async function asked(answers: readonly string[], given: Parameters<typeof askPlan>[0] = {}) {
  const input = new PassThrough();
  const output = new PassThrough();
  const questions = ['What do you want to create?', 'Name', 'starts with a letter', 'Description'];
  const left = answers.length > 3 ? questions : questions.filter((one) => !one.includes('letter'));
  let shown = '';
  let seen = 0;
  output.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
    const next = left[seen];
    if (next === undefined || !shown.includes(next)) return;
    const answer = answers[seen];
    seen += 1;
    // The question listens once it is drawn.
    setImmediate(() => (answer === undefined ? input.end() : input.write(answer)));
  });
  return { plan: await askPlan(given, 'my shop', { input, output }), shown };
}

const enter = '\r';
const down = '\u001B[B';

test(
  'three questions, each with an answer that Enter gives; the kinds are explained',
  patient,
  async () => {
    const { plan, shown } = await asked([enter, enter, enter]);
    expect(plan).toEqual({
      kind: 'assistant',
      name: 'my-shop',
      description: 'Books tables at a restaurant.',
    });
    expect(shown).toContain('worker: an agent in TypeScript that takes its tasks from RabbitMQ');
  },
);

test('an invalid name is asked for again; what is known is not asked for', patient, async () => {
  const { plan } = await asked([
    `${down}${down}${enter}`,
    `1 bad name${enter}`,
    `\u0015good${enter}`,
    `Sorts.${enter}`,
  ]);
  expect(plan).toEqual({ kind: 'worker', name: 'good', description: 'Sorts.' });
  const { shown } = await asked([], { kind: 'agent', name: 'n', description: 'd' });
  expect(shown).toBe('');
});

test.each([
  ['ends the input', []],
  ['presses Ctrl+C', [enter, '\u0003']],
])('a user who %s creates nothing', patient, async (_, answers) => {
  await expect(asked(answers)).rejects.toThrow('no project created');
});

test.each(['assistant', 'agent', 'worker'] as const)(
  'every %s has a README, a Dockerfile, tests, a workflow, and how to get the package',
  (kind) => {
    const { files } = templateOf({ kind, name: 'Shop', description: 'Sells.' });
    const names = Object.keys(files);
    expect(names).toEqual(
      expect.arrayContaining([
        'README.md',
        'Dockerfile',
        '.dockerignore',
        '.gitignore',
        '.github/workflows/ci.yml',
        'package.json',
        'vendor/README.md',
      ]),
    );
    expect(names.some((name) => /^tests\/|\.test\.ts$/.test(name))).toBe(true);
    expect(Object.values(files).join('')).not.toContain('{{');
    const manifest = JSON.parse(files['package.json'] ?? '') as {
      readonly dependencies: { readonly legate: string };
      readonly scripts: object;
    };
    // A registry could have another package of that name.
    expect(manifest.dependencies.legate).toMatch(/^file:vendor\/legate-\d+\.\d+\.\d+\.tgz$/);
    expect(manifest.scripts).toEqual({
      start: expect.stringMatching(/^legate /) as string,
      test: expect.stringMatching(/e2e|--test/) as string,
    });
    // Arguments given to the image follow the entry point, as in the chart.
    expect(files['Dockerfile']).toMatch(/^ENTRYPOINT \["legate"\]\nCMD \["(?:run|work)".*\]$/m);
    const workflow = parse(files['.github/workflows/ci.yml'] ?? '') as {
      readonly jobs: { readonly test: { readonly steps: readonly { readonly run?: string }[] } };
    };
    expect(workflow.jobs.test.steps.at(-1)).toEqual({ run: 'npm test' });
  },
);
