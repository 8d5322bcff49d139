import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { greenhouseFolder } from '../../test/support/greenhouse.ts';
import { environment } from './testing/environment.ts';
import { legate, patient, start } from './testing/legate-process.ts';

const command = join(import.meta.dirname, '../../bin/legate.cjs');

/** Serves an assistant that speaks A2A, and stops it in the end. */
async function served(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const folder = await greenhouseFolder({
    'endpoints.yml': 'a2a_server: {description: Waters plants.}\nstore: {type: memory}\n',
  });
  const running = start(['run', folder.directory, '-p', '0', ...args], { env });
  await expect.poll(() => running.out, { timeout: 60_000 }).toContain('Stop:');
  return {
    running,
    url: /at (http:\/\/localhost:\d+)/.exec(running.out)?.[1] ?? '',
    async [Symbol.asyncDispose]() {
      running.child.kill('SIGTERM');
      await running.ended;
      await folder[Symbol.asyncDispose]();
    },
  };
}

test(
  'run prints one short thing to try, and every turn as who, what, state and time',
  patient,
  async () => {
    await using server = await served([], { LOG_FORMAT: 'pretty' });
    const { running, url } = server;
    expect(running.out).toMatch(/^Try it: +npx legate send http:\/\/localhost:\d+ "[^"]+"$/m);
    expect(running.out).not.toContain('curl');
    expect(Math.max(...running.out.split('\n').map((line) => line.length))).toBeLessThan(120);
    expect((await legate(['send', url, 'water the Monstera'])).code).toBe(0);
    const body = JSON.stringify({ sender: 'ada', message: 'hi' });
    const headers = { 'Content-Type': 'application/json' };
    await fetch(`${url}/webhooks/rest/webhook`, { method: 'POST', headers, body });
    await expect.poll(() => running.err.split('\n').length).toBeGreaterThan(2);
    const [first = '', second = ''] = running.err.split('\n');
    expect(first).toMatch(
      /^\d\d:\d\d:\d\d anonymous +message +input-required +\d+ ms  context \S+$/,
    );
    expect(second).toMatch(/^\d\d:\d\d:\d\d \S+ +\S+ +completed +\d+ ms  context \S*ada\S*$/);
    expect(running.err).not.toContain('Monstera');
  },
);

test(
  'run --examples prints a request for each transport, which works as printed',
  patient,
  async () => {
    await using server = await served(['--examples']);
    const commands = Array.from(
      server.running.out.matchAll(/^ {2}(curl .+)$/gm),
      ([, line = '']) => line,
    );
    expect(commands).toHaveLength(5);
    for (const line of commands) {
      const { status, stdout } = spawnSync('bash', ['-c', line], { encoding: 'utf8' });
      expect({ line, status, stdout }).toMatchObject({
        status: 0,
        stdout: expect.stringMatching(/^(?:id: 1\ndata: |\[|\{)(?![\s\S]*"error")/) as string,
      });
    }
  },
);

test('a client that disconnects during a stream is not logged as an error', patient, async () => {
  await using server = await served(['--log-level', 'info'], { LOG_FORMAT: 'json' });
  const { running, url } = server;
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'water the Monstera' }] };
  const gone = new AbortController();
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'A2A-Version': '1.0' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'SendStreamingMessage',
      params: { message },
    }),
    signal: gone.signal,
  });
  expect(response.status).toBe(200);
  gone.abort();
  await expect.poll(() => running.err).toContain('turn.ended');
  expect(running.err).not.toMatch(/"level":"(?:warn|error)"/);
});

test.each([
  ['opens the inspector', [], /OPENED http:\/\/localhost:\d+\/inspect\/\?token=/],
  ['leaves the browser alone with --no-open', ['--no-open'], /^(?![\s\S]*OPENED)/],
])('run --inspect on a terminal %s', patient, async (_, flags, expected) => {
  await using folder = await greenhouseFolder({
    'endpoints.yml': 'store: {type: memory}\n',
    // Stands in for the desktop.
    'bin/xdg-open': '#!/bin/sh\necho "OPENED $1" >> "$HOME/opened"\n',
  });
  const { directory } = folder;
  const script = `chmod +x bin/xdg-open; touch opened
    '${process.execPath}' '${command}' run . -p 0 --inspect ${flags.join(' ')}`;
  const child = spawn('script', ['-qec', script, '/dev/null'], {
    cwd: directory,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...environment,
      HOME: directory,
      DISPLAY: ':0',
      PATH: `${directory}/bin:${process.env['PATH'] ?? ''}`,
    },
  });
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (shown += text));
  const ended = new Promise((resolve) => child.once('close', resolve));
  const opened = () => readFileSync(join(directory, 'opened'), 'utf8');
  try {
    await expect.poll(() => shown, { timeout: 60_000 }).toContain('Stop:');
    await expect.poll(opened).toMatch(expected);
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
  expect(opened()).toMatch(expected);
});
