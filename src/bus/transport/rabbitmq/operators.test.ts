import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { Connection } from 'rabbitmq-client';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type OwnRabbitMq, startRabbitMq } from '../../../../test/support/rabbitmq.ts';
import { freePort } from '../../../../test/support/servers.ts';
import { LegateError } from '../../../protocol/index.ts';
import { declareAgentQueue } from '../../host/host.ts';
import { codeOf, eventually, nameOf } from '../bus.contract.ts';
import { type Bus, done } from '../bus.ts';
import { openBus, readBusOptions } from '../open-bus.ts';
import { discoveryQueue, taskQueue, taskQueueName, topics } from '../topics.ts';
import type { RabbitBusOptions } from './rabbit-broker.ts';

const newKey = [
  '-newkey',
  'ec',
  '-pkeyopt',
  'ec_paramgen_curve:prime256v1',
  '-nodes',
  '-days',
  '2',
];

/** Makes an authority, and certificates of the broker and of a user. */
function makeCertificates(directory: string): void {
  const files = ['-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=test-ca'];
  const args = ['req', '-x509', ...newKey, ...files];
  execFileSync('openssl', args, { cwd: directory, stdio: 'ignore' });
  for (const name of ['localhost', 'researcher']) makeCertificate(directory, name);
}

/** Makes a certificate of the authority. */
function makeCertificate(directory: string, name: string): void {
  const signed = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-addext', `subjectAltName=DNS:${name}`];
  const files = ['-keyout', `${name}.key`, '-out', `${name}.pem`];
  const args = ['req', '-x509', ...newKey, ...signed, ...files, '-subj', `/CN=${name}`];
  execFileSync('openssl', args, { cwd: directory, stdio: 'ignore' });
}

describe('RabbitMQ as its operators set it up', { timeout: 120_000 }, () => {
  let broker: OwnRabbitMq;
  let directory = '';
  let tlsPort = 0;
  const cleanups: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    tlsPort = await freePort();
    broker = await startRabbitMq({
      plugins: ['rabbitmq_auth_mechanism_ssl'],
      config(place) {
        directory = place;
        makeCertificates(place);
        return [
          `listeners.ssl.1 = 127.0.0.1:${tlsPort}`,
          `ssl_options.cacertfile = ${place}/ca.pem`,
          `ssl_options.certfile = ${place}/localhost.pem`,
          `ssl_options.keyfile = ${place}/localhost.key`,
          'ssl_options.verify = verify_peer',
          'ssl_options.fail_if_no_peer_cert = false',
          'ssl_cert_login_from = common_name',
          'auth_mechanisms.1 = PLAIN',
          'auth_mechanisms.2 = EXTERNAL',
        ];
      },
    });
  }, 180_000);

  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  });

  const pem = (file: string): string => readFileSync(join(directory, file), 'utf8');
  const amqps = (): string => `amqps://guest:guest@localhost:${tlsPort}`;
  const as = (user: string, password: string): string => {
    const url = new URL(broker.url);
    url.username = user;
    url.password = password;
    return url.href;
  };

  async function open(options: Partial<RabbitBusOptions> = {}): Promise<Bus> {
    const bus = await openBus({ type: 'rabbitmq', url: broker.url, ...options });
    cleanups.push(() => bus.close());
    return bus;
  }

  async function failure(options: Partial<RabbitBusOptions>): Promise<LegateError> {
    const error = await open({ connectTimeoutMs: 1_500, ...options }).catch((it: unknown) => it);
    expect(error).toBeInstanceOf(LegateError);
    return error as LegateError;
  }

  test('each connection failure has its own error text, and permanent ones are not retried', async () => {
    await broker.control('add_vhost', 'closed');
    const wrong = await failure({ url: as('guest', 'hunter2'), connectTimeoutMs: 60_000 });
    expect(wrong.message).toMatch(/refused the user "guest": check the user name and password/);
    expect(wrong.message).not.toContain('hunter2');
    const missing = await failure({ vhost: 'nowhere', connectTimeoutMs: 60_000 });
    expect(missing.message).toMatch(/refused the virtual host.*nowhere/);
    const untrusted = await failure({ url: amqps(), connectTimeoutMs: 60_000 });
    expect(untrusted.message).toMatch(/certificate that is not trusted.*set ca/);
    expect(
      [wrong, missing, untrusted].map(({ code }) => code),
      'trying again would not help',
    ).toEqual(['CONFIGURATION_INVALID', 'CONFIGURATION_INVALID', 'CONFIGURATION_INVALID']);
    const plain = await failure({ url: broker.url.replace('amqp:', 'amqps:') });
    expect(plain.message).toMatch(/does not use TLS on this port/);
    const tls = await failure({ url: amqps().replace('amqps:', 'amqp:') });
    expect(tls.message).toMatch(/use amqps:/);
    const nobody = await failure({ url: `amqp://localhost:${await freePort()}` });
    expect(nobody).toMatchObject({ code: 'UNAVAILABLE' });
    expect(nobody.message).toMatch(/nothing listens there/);
    const unknown = await failure({ url: 'amqp://no-such-host.invalid' });
    expect(unknown.message).toMatch(/host name is unknown/);
  });

  test('an address without a user logs in as guest', async () => {
    const bus = await open({ url: `amqp://${new URL(broker.url).host}` });
    expect(bus.isConnected).toBe(true);
  });

  test('a broker behind TLS takes the certificate of a user as its proof', async () => {
    const tls = { ca: pem('ca.pem') };
    const withPassword = await open({ url: amqps(), tls });
    expect(withPassword.brokerVersion).toMatch(/^\d+\.\d+\.\d+/);
    await broker.control('add_user', 'researcher', 'unused');
    await broker.control('set_permissions', 'researcher', '.*', '.*', '.*');
    const own = { cert: pem('researcher.pem'), key: pem('researcher.key') };
    const url = `amqps://localhost:${tlsPort}`;
    await open({ url, auth: 'external', tls: { ...tls, ...own }, connectionName: 'researcher' });
    const connections = await broker.control('list_connections', 'user', 'auth_mechanism');
    expect(connections.match(/researcher\s+EXTERNAL/g)).toHaveLength(2);
    const stranger = { cert: pem('localhost.pem'), key: pem('localhost.key') };
    const refused = await failure({ url, auth: 'external', tls: { ...tls, ...stranger } });
    expect(refused.message).toMatch(/refused the certificate/);
    const without = await failure({ url, auth: 'external', tls });
    expect(without.message).toMatch(/set cert and key/);
  });

  test('a client certificate that was replaced is presented with the next connection', async () => {
    for (const user of ['first', 'second']) {
      await broker.control('add_user', user, 'unused');
      await broker.control('set_permissions', user, '.*', '.*', '.*');
      makeCertificate(directory, user);
    }
    const use = (user: string): void => {
      copyFileSync(join(directory, `${user}.pem`), join(directory, 'own.pem'));
      copyFileSync(join(directory, `${user}.key`), join(directory, 'own.key'));
    };
    use('first');
    const files = { ca: 'ca.pem', cert: 'own.pem', key: 'own.key' };
    const url = `amqps://localhost:${tlsPort}`;
    const section = { type: 'rabbitmq', url, auth: 'external', ...files };
    const bus = await openBus(readBusOptions(section, { directory }));
    cleanups.push(() => bus.close());
    const connected = async (user: string): Promise<number> =>
      (await broker.control('list_connections', 'user'))
        .split('\n')
        .filter((line) => line.trim() === user).length;
    expect(await connected('first')).toBe(2);
    use('second');
    // The files are looked at every two seconds at most.
    await expect
      .poll(
        async () => {
          if ((await connected('first')) > 0) await broker.closeConnections();
          return connected('second');
        },
        { timeout: 60_000, interval: 500 },
      )
      .toBe(2);
  });

  test('the next host is tried, and connections are named by what they are for', async () => {
    const { host } = new URL(broker.url);
    const down = `localhost:${await freePort()}`;
    const waits: string[] = [];
    const bus = await open({
      hosts: [down, host],
      heartbeat: 10,
      connectionName: 'researcher worker',
      onWait: ({ message }) => void waits.push(message),
    });
    // Once for each of the two connections.
    const reason = `the message broker at ${down} cannot be reached: nothing listens there; start it, or check host and port`;
    expect(waits).toEqual([reason, reason]);
    const queue = { name: nameOf('queue'), topics: [`test.${nameOf('topic')}`] };
    await bus.consume(queue, async () => done);
    const listed = await broker.control('list_connections', 'client_properties', 'timeout');
    for (const purpose of ['publish', 'consume']) {
      expect(listed).toContain(`researcher worker ${purpose}@${hostname()}`);
    }
    expect(listed).toMatch(/\b10\b/);
  });

  test('an alarm delays messages, and neither fails them nor stops consumers', async () => {
    const bus = await open({ publishTimeoutMs: 300 });
    const queue = { name: nameOf('queue'), topics: [`test.${nameOf('topic')}`] };
    const seen: string[] = [];
    await bus.consume(queue, async ({ body }) => {
      seen.push(body);
      return done;
    });
    const [topic = ''] = queue.topics;
    await bus.publish(topic, { type: 'task', body: '"before"' });
    await eventually(() => seen).toEqual(['"before"']);
    await broker.alarm('memory', true);
    let isTaken = false;
    const during = bus
      .publish(topic, { type: 'task', body: '"during"' })
      .then(() => (isTaken = true));
    // Long after the time that a broker has to take a message.
    expect(await codeOf(Promise.race([during, pause(1_500)]))).toBe('no error');
    expect(isTaken).toBe(false);
    expect(await bus.inspect(queue.name)).toMatchObject({ consumers: 1 });
    await broker.alarm('memory', false);
    await during;
    await eventually(() => seen).toEqual(['"before"', '"during"']);
  });

  test('a user without the right to configure works with what an administrator declared', async () => {
    const name = nameOf('researcher');
    const queue = taskQueueName(name);
    await broker.control('add_user', 'limited', 'secret');
    const own = `^(legate|legate\\..*${name}([.-].*)?)$`;
    await broker.control('set_permissions', 'limited', '^$', own, own);
    const limited = await open({ url: as('limited', 'secret') });
    const early = await limited.declare(taskQueue(name)).catch((error: unknown) => error);
    expect(early).toMatchObject({ code: 'PERMISSION_DENIED' });
    expect((early as LegateError).message).toMatch(/run "legate bus declare <agent>"/);
    const admin = await open();
    const made = await declareAgentQueue(admin, name);
    expect(made.filter(({ kind }) => kind === 'queue').map(({ state }) => state)).toEqual(
      Array.from({ length: made.length - 1 }, () => 'made'),
    );
    const seen: number[] = [];
    const settings = taskQueue(name, { retryDelaysMs: [1_000] });
    await limited.consume(settings, async ({ attempt }) => {
      seen.push(attempt);
      return { kind: 'retry', reason: 'again' };
    });
    await limited.publish(topics.task(name), { type: 'task', body: '1' }, { mandatory: true });
    await eventually(() => seen).toEqual([1, 2]);
    await eventually(async () => (await limited.inspect(queue))?.deadLetters).toBe(1);
    expect(await declareAgentQueue(admin, name)).toEqual(
      made.map((each) => ({ ...each, state: 'present' })),
    );
  });

  test('a user without enough rights learns at once which one is missing', async () => {
    const name = nameOf('narrow');
    await broker.control('add_user', 'narrow', 'secret');
    const own = `^(legate|legate\\.[a-z]+\\.${name}([.-].*)?)$`;
    await broker.control('set_permissions', 'narrow', own, own, own);
    const narrow = await open({ url: as('narrow', 'secret'), publishTimeoutMs: 60_000 });
    const id = 'a1b2c3d4-0000-4000-8000-000000000000';
    const foreign = narrow.consume(discoveryQueue(`other-${id}`), async () => done);
    await expect(foreign).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      message: expect.stringContaining(
        'grant it the permissions configure, write and read for ^legate\\.[a-z]+\\.other([.-].*)?$, and write and read for the exchange legate',
      ) as unknown,
    });
    await narrow.consume(discoveryQueue(`${name}-${id}`), async () => done);
    const topic = topics.task(name);
    await narrow.consume(taskQueue(name), async () => done);
    const allowed = `^(legate\\..*|agent\\.task\\.${name})$`;
    await broker.control('set_topic_permissions', 'narrow', 'legate', allowed, '.*');
    const message = { type: 'task', body: '1' } as const;
    const sent = await Promise.all(
      [topic, topics.task('stranger'), topic].map((each) => codeOf(narrow.publish(each, message))),
    );
    expect(sent).toEqual(['no error', 'PERMISSION_DENIED', 'no error']);
    await broker.control('clear_topic_permissions', 'narrow');
    await broker.control('set_permissions', 'narrow', own, `^legate\\..*$`, own);
    await expect(narrow.publish(topic, message)).rejects.toThrow(
      /may not publish to .*write permission for the exchange/,
    );
  });

  test('where nothing is to be declared, a missing queue is an error that says what to do', async () => {
    const bus = await open({ declares: false });
    const missing = bus.consume(taskQueue(nameOf('nobody')), async () => done);
    await expect(missing).rejects.toThrow(/there is no queue .*legate bus declare/);
  });

  test('queues of a former version are used as they are, and migrated with their messages', async () => {
    const name = nameOf('former');
    const queue = taskQueueName(name);
    const raw = new Connection(broker.url);
    cleanups.push(() => raw.close());
    // What the former version declared.
    await raw.exchangeDeclare({ exchange: 'legate', type: 'topic', durable: true });
    await raw.queueDeclare({ queue: `${queue}.dead`, durable: true });
    const before = {
      'x-queue-type': 'quorum',
      'x-max-length': 100_000,
      'x-overflow': 'reject-publish',
      'x-delivery-limit': 20,
      'x-dead-letter-exchange': '',
      'x-dead-letter-routing-key': `${queue}.dead`,
    } as const;
    await raw.queueDeclare({ queue, durable: true, arguments: before });
    await raw.queueBind({ exchange: 'legate', queue, routingKey: topics.task(name) });
    const warnings: string[] = [];
    const logger = {
      debug: () => undefined,
      info: () => undefined,
      warn: (fields: object, event: string) =>
        void warnings.push(`${event} ${JSON.stringify(fields)}`),
      error: () => undefined,
      child: () => logger,
    };
    const bus = await open({ logger });
    const decisions: string[] = [];
    const consumption = await bus.consume(
      taskQueue(name, { retryDelaysMs: [100] }),
      async ({ body, attempt }) => {
        decisions.push(`${body} ${attempt}`);
        return { kind: 'retry', reason: 'broken' };
      },
    );
    expect(warnings.join('\n')).toMatch(/arguments_differ.*legate bus declare.*--migrate/);
    await bus.publish(topics.task(name), { type: 'task', body: '1', correlationId: 'one' });
    await eventually(() => decisions).toEqual(['1 1', '1 2']);
    await eventually(async () => (await bus.deadLetters(queue))[0]?.reason).toBe('broken');
    const early = declareAgentQueue(bus, name, { migrates: true });
    await expect(early).rejects.toThrow(/has 1 consumers: stop the workers/);
    await consumption.close();
    for (const body of ['2', '3']) await bus.publish(topics.task(name), { type: 'task', body });
    const states = await declareAgentQueue(bus, name, { migrates: true });
    expect(states.find((each) => each.name === queue)).toMatchObject({ state: 'migrated' });
    expect(states.find((each) => each.name === `${queue}.dead`)).toMatchObject({
      state: 'migrated',
    });
    expect(await bus.deadLetters(queue)).toMatchObject([
      { reason: 'broken', message: { body: '1', correlationId: 'one', topic: topics.task(name) } },
    ]);
    const seen: string[] = [];
    await bus.consume(taskQueue(name), async ({ body, topic }) => {
      seen.push(`${topic} ${body}`);
      return done;
    });
    await bus.publish(topics.task(name), { type: 'task', body: '4' });
    await eventually(() => seen).toEqual(['2', '3', '4'].map((it) => `${topics.task(name)} ${it}`));
    const again = await declareAgentQueue(bus, name, { migrates: true });
    expect(again.map(({ state }) => state)).not.toContain('differs');
    expect(await bus.inspect(`${queue}.migrating`)).toBeUndefined();
  });

  test('queues of one process end with its connection; dead letters are kept by quorum queues', async () => {
    const name = nameOf('worker');
    const bus = await open();
    await bus.consume(
      { name: `legate.status.${name}`, topics: ['agent.task.status'], exclusive: true },
      async () => done,
    );
    await declareAgentQueue(bus, name);
    const listed = async (): Promise<string> =>
      broker.control('list_queues', 'name', 'type', 'exclusive');
    expect(await listed()).toMatch(
      new RegExp(`legate\\.status\\.${name}\\.\\w+\\s+\\S*classic\\S*\\s+true`),
    );
    expect(await listed()).toMatch(new RegExp(`legate\\.task\\.${name}\\.dead\\s+\\S*quorum`));
    await cleanups.pop()?.();
    // The command itself takes seconds on a busy machine.
    await eventually(listed, { timeout: 60_000 }).not.toContain(`legate.status.${name}`);
  });
});

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, milliseconds));
}
