import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type OwnRabbitMq, startRabbitMq } from '../../test/support/rabbitmq.ts';
import { freePort } from '../../test/support/servers.ts';
import { agent, completed } from '../agents/index.ts';
import { busLink, hostOnBus, taskQueueName, topics } from '../bus/index.ts';
import { joinPeers } from '../peers/index.ts';
import { message } from '../protocol/index.ts';
import { openMemory } from '../store/index.ts';
import { type BusFolder, busFolder, slow } from './testing.contract.ts';
import { environment } from './testing/environment.ts';

const command = join(import.meta.dirname, '../../bin/legate.cjs');

/** Runs the command on a terminal, and types an answer to its question. */
function onTerminal(
  { directory, env }: BusFolder,
  args: readonly string[],
  answer: string,
): Promise<{ readonly code: number | null; readonly shown: string }> {
  const line = [process.execPath, command, ...args].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['-qec', line, '/dev/null'], {
    cwd: directory,
    env: { ...environment, ...env, TERM: 'xterm-256color' },
  });
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (!shown.includes('[y/N]') && (shown + text).includes('[y/N]')) {
      child.stdin.write(`${answer}\n`);
    }
    shown += text;
  });
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, shown })));
}

describe('with the management API', slow, () => {
  let broker: OwnRabbitMq;
  let managementUrl = '';

  beforeAll(async () => {
    const port = await freePort();
    managementUrl = `http://127.0.0.1:${port}`;
    broker = await startRabbitMq({
      plugins: ['rabbitmq_management'],
      config: () => [
        `management.tcp.port = ${port}`,
        'management.tcp.ip = 127.0.0.1',
        'collect_statistics_interval = 1000',
      ],
    });
  }, 180_000);

  afterAll(() => broker.kill());

  const open = (dialect: 'legate' | 'rockbot') =>
    busFolder({}, `, management_url: "${managementUrl}"`, { url: broker.url, dialect });

  for (const dialect of ['legate', 'rockbot'] as const) {
    test(`status shows the agent, its queue and unacked messages, in the dialect ${dialect}`, async () => {
      await using folder = await open(dialect);
      const { bus, name } = folder;
      const real =
        dialect === 'legate' ? `legate.task.${name}` : `rockbot.${name}.agent-task-${name}`;
      const gate = Promise.withResolvers<void>();
      const slowAgent = agent({ name }, async () => {
        await gate.promise;
        return completed('done');
      });
      await using _host = await hostOnBus(slowAgent, { bus, concurrency: 1 });
      for (const text of ['one', 'two']) {
        const body = JSON.stringify({ message: message(text) });
        await bus.publish(topics.task(name), { type: 'task', body });
      }
      const row = new RegExp(`^${name} +${real.replaceAll('.', '\\.')} +1 +1 +1 +0 +`, 'm');
      // The statistics of the management API are behind by some seconds.
      for (const args of [[name], []]) {
        await expect
          .poll(async () => (await folder.run(['bus', 'status', ...args])).out, {
            timeout: 60_000,
            interval: 1_000,
          })
          .toMatch(row);
      }
      const all = (await folder.run(['bus', 'status'])).out;
      expect(all).not.toMatch(/\.(dead|dlq) /);
      // After the version and the headings, agents come before other queues.
      expect(all.split('\n')[2]).toMatch(/^agent-/);
      gate.resolve();
    });
  }

  test('purge and delete ask on a terminal, and delete takes the queues of answers along', async () => {
    await using folder = await open('rockbot');
    const { bus, name } = folder;
    await folder.run(['bus', 'declare', name]);
    const real = `rockbot.${name}.agent-task-${name}`;
    const network = await joinPeers({
      name,
      store: openMemory(),
      links: [busLink({ bus })],
      wellKnown: [{ name: 'somebody' }],
    });
    // An open call keeps the queue of answers.
    await bus.declare({ name: `held-${name}`, topics: [topics.task('somebody')] });
    const session = { id: 'c', caller: { tenant: '', subject: 'user', method: 'test' } };
    await network.invoker.invoke({ agent: 'somebody', message: 'x' }, session);
    await network.close();
    await bus.delete(`held-${name}`);
    const body = JSON.stringify({ message: message('hello') });
    await bus.publish(topics.task(name), { type: 'task', body });
    const kept = await onTerminal(folder, ['bus', 'purge', name], 'n');
    expect(kept).toMatchObject({
      code: 0,
      shown: expect.stringContaining(`Delete 1 waiting messages of ${real}? [y/N]`) as unknown,
    });
    expect(kept.shown).toContain('Nothing was deleted.');
    expect(await bus.inspect(taskQueueName(name))).toMatchObject({ messages: 1 });
    const purged = await onTerminal(folder, ['bus', 'purge', name], 'y');
    expect(purged.shown).toContain(`1 deleted from ${real}`);
    const queues = () => broker.control('list_queues', 'name');
    await expect.poll(queues).toContain(`legate.response.${name}-`);
    const deleted = await onTerminal(folder, ['bus', 'delete', name], 'yes');
    expect(deleted.shown).toMatch(
      new RegExp(`Delete ${real} with 0 messages, .*legate\\.response\\.${name}-`),
    );
    expect(await queues()).not.toContain(name);
  });
});

test('delete says which queues stay where it can’t list them', slow, async () => {
  await using folder = await busFolder();
  await folder.run(['bus', 'declare', folder.name]);
  const deleted = await folder.run(['bus', 'delete', folder.name, '--yes']);
  expect(deleted).toMatchObject({ code: 0, out: `legate.task.${folder.name} deleted\n` });
  expect(deleted.err).toContain(`(legate.response.${folder.name}-*) stay`);
});

test(
  'with --json, purge, replay and delete print their results as lines of JSON',
  slow,
  async () => {
    await using folder = await busFolder();
    const { name } = folder;
    await folder.run(['bus', 'declare', name]);
    const queue = `legate.task.${name}`;
    const run = async (...args: readonly string[]) =>
      JSON.parse((await folder.run(['bus', ...args, '--json'])).out) as unknown;
    expect(await run('purge', name, '--yes')).toEqual({ queue, deleted: 0 });
    expect(await run('dead', 'replay', name, '--all')).toEqual({ queue, replayed: 0 });
    expect(await run('delete', name, '--yes')).toEqual({ queue });
  },
);

test(
  'declare prints nine queues, and what differs is an error until it is migrated',
  slow,
  async () => {
    await using folder = await busFolder();
    const { name } = folder;
    const { out } = await folder.run(['bus', 'declare', name]);
    const lines = out.split('\n').filter((line) => line.startsWith('queue'));
    expect(lines).toHaveLength(9);
    expect(lines.every((line) => line.endsWith('made'))).toBe(true);
    const queues = 'queues: {max_messages: 7}';
    await using limited = await busFolder({}, `, ${queues}`);
    const differing = await limited.run(['bus', 'declare', name, '--json']);
    expect(differing.code).toBe(2);
    expect(differing.err).toContain(`legate bus declare ${name} --migrate`);
    expect(differing.out).toContain(
      JSON.stringify({ name: `legate.task.${name}`, kind: 'queue', state: 'differs' }),
    );
  },
);
