import { expect, test } from 'vitest';
import { projectFolder } from '../../test/support/greenhouse.ts';
import { legate, start } from './testing.contract.ts';

const echo = `
import { agent, artifact } from ${JSON.stringify(new URL('../index.ts', import.meta.url).href)};
export const echo = agent({ name: 'echo' }, async function* () {
  yield artifact('x');
});
`;

test('run gives notice on SIGTERM: /ready refuses while everything else is still served', async () => {
  await using folder = await projectFolder({ 'agent.ts': echo });
  const running = start([
    'run',
    folder.path('agent.ts'),
    '-p',
    '0',
    '--notice',
    '1',
    '--drain',
    '5',
  ]);
  await using _running = running;
  await running.says('Stop:');
  const url = /at (http:\/\/localhost:\d+)/.exec(running.out())?.[1] ?? '';
  expect((await fetch(`${url}/ready`)).status).toBe(200);
  const ended = running.stop('SIGTERM');
  await expect.poll(async () => (await fetch(`${url}/ready`)).status, { interval: 10 }).toBe(503);
  const health = await fetch(`${url}/health`);
  expect([health.status, health.headers.get('connection')]).toEqual([200, 'close']);
  expect((await ended).code).toBe(0);
  await expect(fetch(`${url}/health`)).rejects.toThrow();
});

test('run takes no notice that is not a number of seconds', async () => {
  const { code, err } = await legate(['run', '.', '--notice', 'soon']);
  expect(code).not.toBe(0);
  expect(err).toContain('It must be a number of seconds from 0 to 86400.');
});
