import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { rabbitMq } from '../support/rabbitmq.ts';

const run = promisify(execFile);
const legate = join(import.meta.dirname, '../../bin/legate.cjs');

/** The peer notes each of its runs, and answers when the file `go` exists. */
const module = `
import { appendFileSync, existsSync } from 'node:fs';
import { agent, completed, textOf, working } from 'legate';
const asking = async function* (turn) {
  yield working('started ' + turn.attempt);
  const said = await turn.peers.call({ agent: 'killed-peer', message: textOf(turn.message) });
  if (said.state !== 'completed') return yield said.end;
  yield completed('attempt ' + turn.attempt + ': ' + said.text);
};
export const again = agent({ name: 'killed-again', onInterrupted: 'run-again' }, asking);
export const plain = agent({ name: 'killed-plain' }, asking);
export const peer = agent({ name: 'killed-peer' }, async (turn) => {
  appendFileSync('runs', textOf(turn.message) + '\\n');
  while (!existsSync('go')) await new Promise((resolve) => setTimeout(resolve, 50));
  return completed('done');
});
`;

test(
  'after kill -9 the policy of the agent decides, and a call to a peer is not repeated',
  { timeout: 180_000 },
  async () => {
    const cwd = await mkdtemp(join(tmpdir(), 'legate-killed-'));
    onTestFinished(() => rm(cwd, { recursive: true, force: true }));
    const env = { ...process.env, AMQP_URL: (await rabbitMq()).url };
    await writeFile(join(cwd, 'agents.ts'), module);
    const endpoints =
      'bus: {type: rabbitmq, url: "${AMQP_URL}"}\npeers: {well_known: [killed-peer]}\n';
    await writeFile(join(cwd, 'endpoints.yml'), endpoints);
    const work = async (name: string) => {
      const args = [legate, 'work', `agents.ts#${name}`, '--log-level', 'error'];
      const child = spawn(process.execPath, args, {
        cwd,
        env,
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      onTestFinished(() => void child.kill('SIGKILL'));
      let output = '';
      child.stdout.on('data', (chunk) => (output += String(chunk)));
      await expect.poll(() => output, { timeout: 60_000 }).toContain('Working as');
      return child;
    };
    const call = (name: string) =>
      run(process.execPath, [legate, 'call', `killed-${name}`, `killed-${name}`, name], {
        cwd,
        env,
      })
        .then(({ stdout, stderr }) => ({ answer: stdout.trim(), progress: stderr.trim() }))
        .catch(({ stderr }: { stderr: string }) => ({ answer: stderr.trim(), progress: '' }));
    const runs = async () =>
      existsSync(join(cwd, 'runs'))
        ? (await readFile(join(cwd, 'runs'), 'utf8')).trim().split('\n').toSorted()
        : [];
    const [again, plain] = await Promise.all([work('again'), work('plain'), work('peer')]);
    const answers = Promise.all([call('again'), call('plain')]);
    await expect.poll(runs, { timeout: 60_000 }).toEqual(['again', 'plain']);
    const killed = Promise.all([once(again, 'exit'), once(plain, 'exit')]);
    again.kill('SIGKILL');
    plain.kill('SIGKILL');
    await killed;
    await Promise.all([work('again'), work('plain')]);
    await writeFile(join(cwd, 'go'), '');
    const [first, second] = await answers;
    expect(first.answer).toBe('attempt 2: done');
    // The engine has taken the task over before the broker delivers its message again.
    expect(first.progress.split('\n')).toEqual([
      'killed-again: started 1',
      'killed-again: started 2',
    ]);
    expect(second.answer).toContain('failed: The server was stopped while working on this task.');
    expect(await runs()).toEqual(['again', 'plain']);
  },
);
