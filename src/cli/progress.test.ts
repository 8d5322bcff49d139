import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { patient } from './testing/legate-process.ts';
import { rawAgent, rawCard, result, sendJson } from './testing/raw-agent.ts';
import { environment } from './testing/environment.ts';

const source = join(import.meta.dirname, 'progress.ts');

/** Runs a wait of so long, with standard error a terminal or a pipe. */
function shown(options: {
  readonly isTerminal: boolean;
  readonly env?: NodeJS.ProcessEnv;
  /** Runs while the line is on the screen. */
  readonly meanwhile?: string;
}): string {
  const script = `
    import { WriteStream } from 'node:tty';
    import { Progress } from ${JSON.stringify(source)};
    process.stderr.isTTY = ${options.isTerminal};
    process.stderr.columns = 80;
    process.stderr.getColorDepth = WriteStream.prototype.getColorDepth;
    {
      using progress = new Progress('Waiting');
      await new Promise((resolve) => setTimeout(resolve, 1300));
      ${options.meanwhile ?? ''}
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    process.stderr.write('end');
  `;
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    env: { ...environment, TERM: 'xterm-256color', ...options.env },
  });
  return stderr;
}

test(
  'a wait of more than a second shows progress on a terminal, and erases it',
  { timeout: 60_000 },
  () => {
    const text = shown({ isTerminal: true });
    expect(text).toContain('\r\u001B[K\u001B[90mWaiting … ');
    expect(text.endsWith('\r\u001B[Kend')).toBe(true);
  },
);

test(
  'other output erases the line first, and the line returns below it',
  { timeout: 60_000 },
  () => {
    const text = shown({ isTerminal: true, meanwhile: "console.error('a warning');" });
    // oxlint-disable-next-line no-control-regex -- erases the line
    expect(text).toMatch(/Waiting … 1 s\S*\r\u001B\[Ka warning\n\r\u001B\[K\S*Waiting … 2 s/);
  },
);

test('a line that is unfinished is left alone', { timeout: 60_000 }, () => {
  const text = shown({ isTerminal: true, meanwhile: "process.stderr.write('half a line');" });
  expect(text.endsWith('\r\u001B[Khalf a lineend')).toBe(true);
});

test('a pipe gets no progress output', { timeout: 60_000 }, () => {
  expect(shown({ isTerminal: false })).toBe('end');
});

test('NO_COLOR: the line has no colour', { timeout: 60_000 }, () => {
  const text = shown({ isTerminal: true, env: { NO_COLOR: '1' } });
  expect(text).toContain('\r\u001B[KWaiting … ');
});

/** What a command that calls a slow agent shows on a terminal; it runs on one of its own. */
function onTerminal(args: readonly string[], home: string): Promise<string> {
  const command = join(import.meta.dirname, '../../bin/legate.cjs');
  // Of util-linux: gives a command a terminal, and copies what it shows.
  const line = [process.execPath, command, ...args].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['-qec', line, '/dev/null'], {
    cwd: home,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...environment, HOME: home, TERM: 'xterm-256color' },
  });
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (shown += text));
  return new Promise((resolve) => child.on('close', () => resolve(shown)));
}

test(
  'every call that takes its time says so on a terminal: card, then answer',
  patient,
  async () => {
    const home = mkdtempSync(join(tmpdir(), 'legate-progress-'));
    await using agent = await rawAgent((request) => {
      const task = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_COMPLETED' } };
      const page = { tasks: [task], nextPageToken: '', pageSize: 1, totalSize: 1 };
      const { path, response, url, body } = request;
      setTimeout(() => {
        if (path.startsWith('/.well-known')) sendJson(response, rawCard(url, { capabilities: {} }));
        else result(request, body.method === 'ListTasks' ? page : task);
      }, 1_300);
    });
    try {
      for (const args of [
        ['list', agent.url],
        ['get', agent.url, 't'],
        ['cancel', agent.url, 't'],
      ]) {
        const shown = await onTerminal(args, home);
        expect(shown).toContain('Reading the card … ');
        expect(shown).toContain('Waiting for the agent … ');
        // It is wiped before the result is written; a list is a table.
        expect(shown).toMatch(
          args[0] === 'list'
            ? // oxlint-disable-next-line no-control-regex -- erases the line
              /\u001B\[KTask {2}State {6}Updated {2}Answer\r\nt {5}completed\r\n\r\nTasks: 1 of 1/
            : // oxlint-disable-next-line no-control-regex -- erases the line
              /\u001B\[KTask: t/,
        );
      }
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  },
);
