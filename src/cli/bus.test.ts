import { readFile, stat } from 'node:fs/promises';
import { expect, test } from 'vitest';
import {
  nestedField,
  type RawProperties,
  rawProperties,
  RawPublisher,
  textField,
} from '../../test/support/raw-amqp.ts';
import { rabbitMq } from '../../test/support/rabbitmq.ts';
import { freePort } from '../../test/support/servers.ts';
import { agent } from '../agents/index.ts';
import { busLink, hostOnBus, taskQueueName, topics } from '../bus/index.ts';
import { openMemory } from '../store/index.ts';
import { busFolder, legate, slow } from './testing.contract.ts';
import { joinPeers } from '../peers/index.ts';

test('declare makes the queue before any worker is there, so that tasks wait', slow, async () => {
  await using folder = await busFolder();
  const { bus, name } = folder;
  expect(await bus.inspect(taskQueueName(name))).toBeUndefined();
  const declared = await folder.run(['bus', 'declare', name]);
  expect(declared.code).toBe(0);
  expect(declared.out).toMatch(new RegExp(`^queue +legate\\.task\\.${name} +made$`, 'm'));
  expect(declared.out).toMatch(/^queue +\S+\.retry\.1000 +made$/m);
  await bus.publish(topics.task(name), { type: 'task', body: '{}' }, { mandatory: true });
  expect(await bus.inspect(taskQueueName(name))).toMatchObject({ messages: 1, consumers: 0 });
  // A second time changes nothing, and takes nothing away.
  const again = await folder.run(['bus', 'declare', name]);
  expect(again.code).toBe(0);
  expect(again.out).not.toContain('made');
  expect(await bus.inspect(taskQueueName(name))).toMatchObject({ messages: 1 });
});

test('declare --announce makes an agent known that does not run', slow, async () => {
  await using folder = await busFolder();
  await using network = await joinPeers({
    name: 'me',
    store: openMemory(),
    links: [busLink({ bus: folder.bus })],
  });
  const declared = await folder.run(['bus', 'declare', './agent.ts', '--announce']);
  expect(declared).toMatchObject({ code: 0, out: expect.stringContaining(folder.name) });
  await expect
    .poll(async () => (await network.directory.list({ skill: 'echo' })).map(({ name }) => name), {
      timeout: 10_000,
    })
    .toEqual([folder.name]);
});

test('dead letters are listed with their reason, and replayed into their queue', slow, async () => {
  await using folder = await busFolder();
  const { bus, name } = folder;
  const silent = agent({ name }, async function* () {});
  const host = await hostOnBus(silent, { bus });
  for (const correlationId of ['one', 'two']) {
    await bus.publish(topics.task(name), { type: 'task', body: '{"secret":', correlationId });
  }
  await expect
    .poll(() => bus.inspect(taskQueueName(name)), { timeout: 10_000 })
    .toMatchObject({ deadLetters: 2 });
  await host.close();
  const listed = await folder.run(['bus', 'dead', 'list', name, '--json']);
  const letters = listed.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { id: string });
  expect(letters).toMatchObject([
    { correlationId: 'one', type: 'task', reason: expect.stringContaining('JSON') as unknown },
    { correlationId: 'two' },
  ]);
  // Bodies are shown only on request.
  expect(listed.out).not.toContain('secret');
  const shown = await folder.run(['bus', 'dead', 'list', `legate.task.${name}`, '--bodies']);
  expect(shown.out).toContain('{"secret":');

  const [first] = letters;
  const one = await folder.run(['bus', 'dead', 'replay', name, first?.id ?? '']);
  expect(one).toMatchObject({ code: 0, out: `1 moved back to legate.task.${name}\n` });
  const wrong = await folder.run(['bus', 'dead', 'replay', name, 'no-such-id']);
  expect(wrong).toMatchObject({ code: 1 });
  const rest = await folder.run(['bus', 'dead', 'replay', name, '--all']);
  expect(rest).toMatchObject({ code: 0, out: `1 moved back to legate.task.${name}\n` });
  expect(await bus.inspect(taskQueueName(name))).toMatchObject({ messages: 2, deadLetters: 0 });
  const none = await folder.run(['bus', 'dead', 'list', name]);
  expect(none).toMatchObject({ code: 0, out: '' });
  expect(none.err).toContain('There are no dead letters');
});

test('dead letters that no sender of ours writes are listed as well', slow, async () => {
  await using folder = await busFolder();
  const { bus, name } = folder;
  await using host = await hostOnBus(
    agent({ name }, async function* () {}),
    { bus },
  );
  await using publisher = await RawPublisher.open((await rabbitMq()).url);
  const routingKey = taskQueueName(host.name);
  const deep = '['.repeat(100_000) + ']'.repeat(100_000);
  const messages: readonly (readonly [RawProperties, string])[] = [
    [{ contentType: 'application/json' }, deep],
    [{ headers: [nestedField('deep', 6_000)] }, '{}'],
    [{ headers: [textField('big', 'x'.repeat(100_000))] }, '{}'],
    [{ messageId: 'a\u001b[2J', type: '\u0007' }, '{}'],
  ];
  for (const [properties, body] of messages) {
    const message = { messageId: 'x', ...properties };
    await publisher.publish({
      exchange: '',
      routingKey,
      properties: rawProperties(message),
      body: Buffer.from(body),
    });
  }
  await expect
    .poll(() => bus.inspect(taskQueueName(name)), { timeout: 10_000 })
    .toMatchObject({ deadLetters: 4 });
  const { code, out } = await folder.run(['bus', 'dead', 'list', name]);
  expect(code).toBe(0);
  const withoutTime = out.replaceAll(/ {2}\S+Z {2}/g, '  ');
  expect(withoutTime.trim().split('\n').toSorted()).toEqual([
    'a [2J     attempts 1  message: is required',
    'x    attempts 1  headers nest deeper than 8',
    'x    attempts 1  headers of 100009 bytes: at most 32768',
    'x    attempts 1  the JSON nests deeper than 64 levels',
  ]);
});

test('a missing project, broker or queue is an error with a fix', slow, async () => {
  await using folder = await busFolder({}, ', connect_timeout: 2000');
  const unknown = await folder.run(['bus', 'dead', 'list', 'nobody-at-all']);
  expect(unknown).toMatchObject({ code: 1, out: '' });
  expect(unknown.err).toContain('legate bus declare nobody-at-all');
  const vague = await folder.run(['bus', 'dead', 'replay', folder.name]);
  expect(vague).toMatchObject({ code: 2 });
  expect(vague.err).toContain('--all');
  expect((await folder.run(['bus', 'declare', 'a.b#*'])).code).toBe(2);
  const away = await folder.run([
    'bus',
    'declare',
    'x',
    '--bus-url',
    'amqp://me:pw123@127.0.0.1:1',
  ]);
  expect(away).toMatchObject({ code: 3, out: '' });
  expect(away.err).not.toContain('pw123');
});

test('a key is made for one who signs, and never written over', slow, async () => {
  await using folder = await busFolder();
  const made = await folder.run(['bus', 'key', 'alice', '--out', 'keys']);
  expect(made).toMatchObject({ code: 0, out: 'keys/alice.pem\nkeys/alice.jwks.json\n' });
  expect((await stat(folder.path('keys/alice.pem'))).mode & 0o077).toBe(0);
  const shown = JSON.parse(await readFile(folder.path('keys/alice.jwks.json'), 'utf8')) as {
    keys: object[];
  };
  expect(shown.keys[0]).not.toHaveProperty('d');
  expect((await folder.run(['bus', 'key', 'alice', '--out', 'keys'])).code).toBe(2);
});

test('every command of the bus has help with examples', slow, async () => {
  for (const name of [['work'], ['gateway'], ['call'], ['trust'], ['bus'], ['bus', 'declare']]) {
    const { code, out } = await legate([...name, '--help']);
    expect({ name, code }).toEqual({ name, code: 0 });
    expect(out).toMatch(/Examples?:/);
  }
});

test('status shows queues, purge and delete ask first', slow, async () => {
  await using folder = await busFolder();
  const { bus, name } = folder;
  await folder.run(['bus', 'declare', name]);
  for (const body of ['1', '2']) await bus.publish(topics.task(name), { type: 'task', body });
  const shown = await folder.run(['bus', 'status', name]);
  expect(shown.code).toBe(0);
  expect(shown.out).toMatch(new RegExp(`^${name} +legate\\.task\\.${name} +2 +- +0 +0 +-$`, 'm'));
  expect(shown.err).toContain('management API');
  const listed = await folder.run(['bus', 'status', name, '--oldest', '--json']);
  expect(JSON.parse(listed.out)).toMatchObject({
    agent: name,
    queue: taskQueueName(name),
    messages: 2,
    consumers: 0,
    deadLetters: 0,
    oldestSeconds: expect.any(Number) as unknown,
  });
  expect((await folder.run(['bus', 'status'])).err).toContain('which agents?');
  const unasked = await folder.run(['bus', 'purge', name]);
  expect(unasked).toMatchObject({ code: 2, out: '' });
  expect(unasked.err).toContain(`Delete 2 waiting messages of ${taskQueueName(name)}?`);
  const purged = await folder.run(['bus', 'purge', name, '--yes']);
  expect(purged.out).toBe(`2 deleted from ${taskQueueName(name)}\n`);
  expect((await folder.run(['bus', 'delete', name])).code).toBe(2);
  expect((await folder.run(['bus', 'delete', name, '--yes'])).code).toBe(0);
  expect(await bus.inspect(taskQueueName(name))).toBeUndefined();
  expect((await folder.run(['bus', 'status', name])).err).toContain('there is no queue');
});

test('work waits for a broker until its deadline, and logs what happens', slow, async () => {
  await using folder = await busFolder();
  const nowhere = `amqp://localhost:${await freePort()}`;
  const args = ['work', 'agent.ts', '--bus-url', nowhere, '--connect-timeout', '1'];
  const late = await folder.run(args);
  expect(late.code).toBe(3);
  expect(late.err).toContain('bus.connection.waiting');
  expect(late.err).toContain('nothing listens there');
  await using working = folder.start(['work', 'agent.ts']);
  await working.says('Working as');
  expect((await folder.run(['call', folder.name, 'echo', 'hi'])).code).toBe(0);
  await working.says('bus.task.ended');
  expect(working.err()).toMatch(/bus\.connection\.open/);
  expect(working.err()).toMatch(/bus\.task\.started/);
});
