/** `legate push`: what was abandoned can be seen and sent again, also beside a server that runs. */
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { startPushServer } from './support/child.ts';
import { temporaryDirectory } from '../support/stores.ts';
import { startReceiver } from '../../src/push/receiver.contract.ts';
import { pushCommand } from '../../src/cli/commands/operations.ts';

let output: string[] = [];
let remarks: string[] = [];
beforeEach(() => {
  output = [];
  remarks = [];
  vi.spyOn(console, 'log').mockImplementation((line: string) => void output.push(line));
  vi.spyOn(console, 'error').mockImplementation((line: string) => void remarks.push(line));
});
afterEach(() => vi.restoreAllMocks());

async function run(...args: readonly string[]): Promise<void> {
  const command = pushCommand();
  for (const inner of command.commands) {
    inner.exitOverride().configureOutput({ writeErr: (text) => void remarks.push(text) });
  }
  await command.parseAsync(args, { from: 'user' });
}

const secrets = ['token-secret', 'credential-secret', 'path-secret'];

async function notify(url: string, hook: string): Promise<void> {
  const response = await fetch(`${url}/message:send`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
    body: JSON.stringify({
      message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'go' }] },
      configuration: {
        taskPushNotificationConfig: {
          id: 'hook',
          url: `${hook}/path-secret`,
          token: 'token-secret',
          authentication: { scheme: 'Bearer', credentials: 'credential-secret' },
        },
      },
    }),
  });
  expect(response.status).toBe(200);
}

test('dead deliveries are listed without secrets, and sent again by the server that runs', async () => {
  await using directory = await temporaryDirectory();
  const path = join(directory.path, 'store.db');
  let isDown = true;
  await using receiver = await startReceiver(
    (_call, response) => void response.writeHead(isDown ? 500 : 204).end(),
  );
  await using server = await startPushServer(path, { maxAttempts: 1 });
  await notify(server.url, receiver.url);
  await expect
    .poll(async () => {
      output = [];
      await run('list', '--store', path, '--state', 'dead', '--json');
      return output.length;
    })
    .toBe(6);
  const [first = ''] = output;
  expect(JSON.parse(first)).toMatchObject({
    state: 'dead',
    event: 1,
    config: 'hook',
    to: receiver.url,
    version: '1.0',
    authentication: 'Bearer',
    attempts: 1,
    lastError: 'answered 500',
  });
  await run('list', '--store', path);
  expect(output.at(-1)).toMatch(/^\d+ {2}dead {2}task \S+ {2}event 6 {2}to http:.* answered 500$/);
  for (const secret of secrets) expect(output.join('\n')).not.toContain(secret);

  isDown = false;
  const before = receiver.calls.length;
  const { id } = JSON.parse(first) as { id: number };
  await run('retry', String(id), '--store', path);
  expect(output.at(-1)).toBe(`delivery ${id} will be retried`);
  expect(JSON.parse(remarks.at(-1) ?? '')).toEqual({
    audit: 'action',
    event: 'audit.push.revived',
    deliveryId: id,
  });
  await expect.poll(() => receiver.calls.length).toBe(before + 1);
  await run('retry', '--all', '--store', path);
  await expect.poll(() => receiver.calls.length).toBe(before + 6);
  await expect
    .poll(async () => {
      output = [];
      await run('list', '--store', path);
      return output;
    })
    .toEqual([]);
  expect(remarks.at(-1)).toBe('No deliveries match.');
  await run('retry', '--all', '--store', path);
  expect(remarks.at(-1)).toBe('There are no dead deliveries.');
});

test('what cannot be done is said, and how it can', async () => {
  await using directory = await temporaryDirectory();
  const path = join(directory.path, 'store.db');
  await expect(run('list', '--store', path)).rejects.toMatchObject({
    code: 'CONFIGURATION_INVALID',
    message: expect.stringContaining(`there is no store ${path}`),
  });
  const server = await startPushServer(path);
  await server.kill();
  await expect(run('retry', '7', '8', '--store', path)).rejects.toMatchObject({
    code: 'INVALID_PARAMS',
    message: expect.stringContaining('7, 8'),
  });
  await expect(run('retry', '--store', path)).rejects.toMatchObject({
    code: 'CONFIGURATION_INVALID',
  });
  await expect(run('retry', '1', '--all', '--store', path)).rejects.toMatchObject({
    code: 'CONFIGURATION_INVALID',
  });
  await expect(run('retry', 'x', '--store', path)).rejects.toMatchObject({
    code: 'commander.invalidArgument',
  });
  await run('list', '--store', path, '--state', 'dead', '--limit', '1', '--task', 'none');
  expect(output).toEqual([]);
});
