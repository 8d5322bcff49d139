import { expect, test } from 'vitest';
import { serve } from '../http/index.ts';
import { legate, start, patient } from './testing/legate-process.ts';
import { triedAgent } from './testing/tried-agent.ts';

interface About {
  readonly agents: readonly { readonly name: string }[];
}

test(
  'inspect shows any agent by its address: what is said goes there, and is kept here',
  patient,
  async () => {
    await using remote = await serve(triedAgent);
    const running = start(['inspect', remote.url, '-p', '0', '--no-open']);
    try {
      await expect.poll(() => running.out, { timeout: 60_000 }).toContain('Stop:');
      const url = /at (http:\/\/localhost:\d+)/.exec(running.out)?.[1] ?? '';
      const token =
        /^Inspector: {3}\S+\/inspect\/\?token=([\w-]{43})$/m.exec(running.out)?.[1] ?? '';
      expect(running.out).toContain(`Inspector:   ${url}/inspect/?token=${token}`);
      expect((await fetch(`${url}/inspect/api/about`)).status).toBe(401);
      const headers = { authorization: `Bearer ${token}` };
      const about = await fetch(`${url}/inspect/api/about`, { headers });
      expect(((await about.json()) as About).agents).toMatchObject([{ name: 'tried' }]);
      const sent = await legate(['send', url, 'chunks']);
      expect(sent.out).toContain('  one two\n');
      const tasks = await fetch(`${url}/inspect/api/tasks`, { headers });
      expect(await tasks.text()).toContain('TASK_STATE_COMPLETED');
      const page = await fetch(`${url}/inspect/`);
      expect(page.headers.get('content-type')).toContain('text/html');
    } finally {
      running.child.kill('SIGTERM');
    }
    expect((await running.ended).code).toBe(0);
  },
);

test('inspect without an agent there says so, with the exit codes of calls', patient, async () => {
  const gone = await serve(triedAgent);
  await gone.close();
  const { code, err } = await legate(['inspect', gone.url, '--no-open']);
  expect(code).toBe(3);
  expect(err).toContain('A2ACLI_ERR_UNREACHABLE');
});
