import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { greenhouseFolder } from '../../test/support/greenhouse.ts';
import { serve, type Serving } from '../http/index.ts';
import { type Ended, legate, patient, start } from './testing/legate-process.ts';
import { triedAgent } from './testing/tried-agent.ts';
import { environment } from './testing/environment.ts';
import { giveInput } from './testing/input.ts';

const command = join(import.meta.dirname, '../../bin/legate.cjs');

let server: Serving;
let empty: string;
beforeAll(async () => {
  empty = mkdtempSync(join(tmpdir(), 'legate-empty-'));
  server = await serve(triedAgent);
});
afterAll(async () => {
  await server.close();
  rmSync(empty, { recursive: true, force: true });
});

describe('a reader that has seen enough', () => {
  /** What is left of a command in a pipe whose reader takes one line and goes. */
  function headed(args: readonly string[], input = ''): Promise<Ended> {
    const script = `"$@" | head -n 1; exit "\${PIPESTATUS[0]}"`;
    const child = spawn('bash', ['-c', script, 'bash', process.execPath, command, ...args], {
      cwd: empty,
      env: { ...environment, HOME: empty },
    });
    const said = { out: '', err: '' };
    child.stdout.setEncoding('utf8').on('data', (text: string) => (said.out += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said.err += text));
    giveInput(child.stdin, input);
    return new Promise((resolve) => child.on('close', (code) => resolve({ code, ...said })));
  }

  test.each([[['--help']], [['send', '--help']], [['completion', 'bash']], [['config', 'show']]])(
    '%j | head succeeds',
    patient,
    async (args) => {
      const { code, out, err } = await headed(args);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(out.trimEnd().split('\n')).toHaveLength(1);
    },
  );

  test('neither are commands that call, and conversations', patient, async () => {
    expect(await headed(['check', server.url, '--all'])).toMatchObject({ code: 0, err: '' });
    expect(await headed(['send', server.url, '--stream', 'chunks'])).toMatchObject({ err: '' });
    const talked = await headed(['shell', server.url], 'reply\nreply\nreply\n');
    expect(talked).toMatchObject({ code: 0, out: 'Plainly said\n', err: '' });
  });

  test('a server continues without one', patient, async () => {
    const running = start(['hello', '-p', '0']);
    await expect.poll(() => running.out, { timeout: 60_000 }).toContain('Stop:');
    running.child.stdout?.destroy();
    running.child.stderr?.destroy();
    const url = /at (http:\/\/localhost:\d+)/.exec(running.out)?.[1] ?? '';
    expect((await legate(['send', url, 'you'])).out).toContain('Hello, you!');
    running.child.kill('SIGTERM');
    expect((await running.ended).code).toBe(0);
  });
});

describe('in the wrong place', () => {
  test.each([[['run']], [['shell']], [['validate']], [['train']]])(
    '%j in a folder without a project says how to get one',
    patient,
    async (args) => {
      const { code, out, err } = await legate(args, { directory: empty });
      expect({ code, out }).toEqual({ code: 2, out: '' });
      expect(err).toContain('this folder is not an assistant project');
      expect(err).toContain('legate init');
    },
  );

  test.each([
    [['run', 'agent.ts'], 'no such file or folder: agent.ts'],
    [['validate', 'domain.yml'], 'domain.yml is a file; name the folder'],
    [['validate', 'nowhere'], 'no such folder: nowhere'],
    [['shell', 'nowhere'], 'no such folder: nowhere'],
    [['push', 'list'], 'there is no store .legate/store.db'],
    [['card', 'nothing.json'], 'there is no agent card at nothing.json'],
  ])('%j names what is missing', patient, async (args, words) => {
    writeFileSync(join(empty, 'domain.yml'), '');
    const ended = await legate(args, { directory: empty });
    rmSync(join(empty, 'domain.yml'));
    expect(ended.out).toBe('');
    expect(ended.code).toBeGreaterThan(1);
    expect(ended.err).toContain(words);
    // One line, and a hint at most; never a trace.
    expect(ended.err.trimEnd().split('\n').length).toBeLessThanOrEqual(2);
  });

  test('a file that is not a module is refused with the reason', patient, async () => {
    await using folder = await greenhouseFolder();
    const { code, err } = await legate(['run', folder.path('domain.yml')]);
    expect(code).toBe(2);
    expect(err).toMatch(/domain\.yml is not a module; name one.*\n$/);
  });

  test('what the operating system refuses is one line', patient, async () => {
    await using folder = await greenhouseFolder({ models: 'a file' });
    const trained = await legate(['train', folder.directory]);
    expect(trained).toMatchObject({ code: 1, out: '' });
    expect(trained.err).toMatch(/^legate: .*models: (?:it exists already|.* not a folder) .*\n$/);
    const made = await legate(['init', folder.path('models/here'), '--yes']);
    expect(made).toMatchObject({ code: 1, out: '' });
    expect(made.err).toMatch(/^legate: .* \(mkdir\); choose another path.*\n$/);
    const report = ['--format', 'html', '--report', folder.path('no/such/report.html')];
    const checked = await legate(['check', server.url, '--read-only', ...report]);
    expect(checked.code).toBe(1);
    expect(checked.err).toContain('no such file or folder');
    expect(checked.err).not.toContain('--debug');
  });

  test(
    'help for a command that is not there names the one that may be meant',
    patient,
    async () => {
      const { code, out, err } = await legate(['help', 'sned']);
      expect({ code, out }).toEqual({ code: 2, out: '' });
      expect(err).toContain('Did you mean send?');
      expect((await legate(['help', 'chat'])).code).toBe(0);
    },
  );

  test('a port that is taken is named', patient, async () => {
    await using folder = await greenhouseFolder();
    const { port } = new URL(server.url);
    const { code, err } = await legate(['run', folder.directory, '-p', port]);
    expect(code).toBe(2);
    expect(err).toContain(`port ${port} is in use`);
  });

  test('a task that is unknown is not named as one to see later', patient, async () => {
    const { code, err } = await legate(['subscribe', server.url, 'nothing']);
    expect(code).toBe(1);
    expect(err).not.toContain('to see it later');
  });
});

describe('the shell', () => {
  test('a host names an agent, as it does elsewhere', patient, async () => {
    const { host } = new URL(server.url);
    for (const args of [
      ['shell', host],
      ['shell', '-a', host],
      ['chat', server.url],
    ]) {
      const { code, out } = await legate(args, { input: 'reply\n' });
      expect({ code, out }).toEqual({ code: 0, out: 'Plainly said\n' });
    }
  });

  test('/help tells what a conversation with an assistant can be asked', patient, async () => {
    await using folder = await greenhouseFolder();
    const { out } = await legate(['shell', folder.directory], {
      input: '/help\n/stack\n/history\n',
    });
    for (const word of ['/slots', '/stack', '/history', '/restart', '/stop']) {
      expect(out).toContain(word);
    }
    expect(out).not.toContain('/session_start');
  });

  test('Ctrl+C while an agent works ends the wait, and names the task', patient, async () => {
    const running = start(['send', server.url, 'wait']);
    await expect.poll(() => running.err, { timeout: 60_000 }).toContain('to see it later');
    running.child.kill('SIGINT');
    const { code, err } = await running.ended;
    expect(code).toBe(130);
    expect(err).toContain('interrupted');
  });
});

test(
  'a module in a package of type "commonjs" is refused with the command that fixes it',
  patient,
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'legate-commonjs-'));
    writeFileSync(join(folder, 'package.json'), '{"name": "mine", "type": "commonjs"}');
    const module = join(folder, 'agent.ts');
    writeFileSync(
      module,
      "import { agent } from 'legate';\nexport const mine = agent({ name: 'mine' }, () => 'hi');\n",
    );
    const { code, err } = await legate(['run', module]);
    expect({ code, err }).toEqual({
      code: 2,
      err: expect.stringContaining('Run: npm pkg set type=module'),
    });
    rmSync(folder, { recursive: true });
  },
);

describe('an agent file that fails to load', () => {
  test.each([
    ['throws', "function boom() {\n  throw new Error('no key');\n}\nboom();\n", 'Error: no key'],
    ['imports what is missing', "import { agnet } from 'legate';\nagnet();\n", "named 'agnet'"],
  ])('%s: the error shows its lines only', patient, async (_what, text, message) => {
    const file = join(empty, `agent-${message.length}.ts`);
    writeFileSync(file, text);
    const { code, err } = await legate(['run', file]);
    expect(code).toBe(1);
    expect(err).toContain(message);
    expect(err).toContain(`${file}:`);
    expect(err).not.toMatch(/load-agent|commander|node:internal/);
  });
});
