import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { agent, completed, textOf } from '../../src/agents/index.ts';
import {
  type Bus,
  busLink,
  declareAgentQueue,
  gateway,
  hostOnBus,
  openBus,
} from '../../src/bus/index.ts';
import { connect } from '../../src/client/index.ts';
import { openPeers, withPeers } from '../../src/peers/index.ts';
import { openStore } from '../../src/store/index.ts';
import { type OwnRabbitMq, startRabbitMq } from '../support/rabbitmq.ts';

const legate = join(import.meta.dirname, '../../bin/legate.cjs');
const guide = readFileSync(
  join(import.meta.dirname, '../../docs/guides/operate-rabbitmq.md'),
  'utf8',
);

/** The permissions that the guide names. */
const own = found(/^own='(.+)'$/m);
const rockbot = found(/^With `dialect: rockbot`, use `(.+?)`\./m);
const mine = found(/^mine='(.+)'$/m);
const topics = found(/set_topic_permissions -p agents researcher legate '([^']+)'/);

function found(pattern: RegExp): string {
  const [, text] = pattern.exec(guide) ?? [];
  if (text === undefined) throw new Error(`the guide has no ${pattern}`);
  return text;
}

describe('the permissions of the guide', { timeout: 120_000 }, () => {
  let broker: OwnRabbitMq;
  const cleanups: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    broker = await startRabbitMq();
    await broker.control('add_user', 'researcher', 'secret');
  }, 180_000);

  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
    await broker.control('delete_vhost', 'agents');
  });

  async function open(user: string, declares = true): Promise<Bus> {
    const url = new URL(broker.url);
    [url.username = '', url.password = ''] = user.split(':');
    const bus = await openBus({ type: 'rabbitmq', url: `${url.href}/agents`, declares });
    cleanups.push(() => bus.close());
    return bus;
  }

  /** Opens a broker as its administrator, with the agent that the researcher calls. */
  async function administered(): Promise<Bus> {
    await broker.control('add_vhost', 'agents');
    await broker.control('set_permissions', '-p', 'agents', 'guest', '.*', '.*', '.*');
    const admin = await open('guest:guest');
    const writer = agent({ name: 'writer' }, (turn) => completed(`wrote ${textOf(turn.message)}`));
    const host = await hostOnBus(writer, { bus: admin });
    cleanups.push(() => host.close());
    return admin;
  }

  /** Runs the researcher with a bus, and calls it as the administrator. */
  async function research(bus: Bus, admin: Bus): Promise<string | undefined> {
    const store = await openStore({ type: 'memory' });
    const network = await openPeers({ name: 'researcher', store, links: [busLink({ bus })] });
    cleanups.push(() => network.close());
    const researcher = agent({ name: 'researcher' }, async (turn) => {
      const written = await turn.peers.call({ agent: 'writer', message: textOf(turn.message) });
      return written.state === 'completed' ? completed(`found and ${written.text}`) : written.end;
    });
    const host = await hostOnBus(withPeers(researcher, network), { bus, store });
    cleanups.push(() => host.close());
    await network.start();
    const callers = await openStore({ type: 'memory' });
    const caller = await openPeers({
      name: 'caller',
      store: callers,
      links: [busLink({ bus: admin })],
    });
    cleanups.push(() => caller.close());
    await caller.start();
    await expect.poll(async () => caller.directory.find('researcher')).toBeDefined();
    await expect.poll(async () => network.directory.find('writer')).toBeDefined();
    const session = { id: 'chat', caller: { tenant: '', subject: 'user', method: 'local' } };
    const said = await caller.call({ agent: 'researcher', message: 'bees' }, session);
    return said.state === 'completed' ? said.text : said.state;
  }

  test('let a worker declare its own queues, call peers and be called', async () => {
    const admin = await administered();
    await broker.control('set_permissions', '-p', 'agents', 'researcher', own, own, own);
    expect(await research(await open('researcher:secret'), admin)).toBe('found and wrote bees');
  });

  test('let a worker, a gateway and a caller work with rights on their own queues only', async () => {
    await administered();
    const forRole = (name: string) => own.replace('researcher', name);
    for (const [user, pattern] of [
      ['researcher', own],
      ['gateway', forRole('gateway')],
      ['cli', forRole('cli')],
    ] as const) {
      if (user !== 'researcher') await broker.control('add_user', user, 'secret');
      await broker.control('set_permissions', '-p', 'agents', user, pattern, pattern, pattern);
    }
    const researcher = agent({ name: 'researcher' }, (turn) =>
      completed(`found ${textOf(turn.message)}`),
    );
    const host = await hostOnBus(researcher, { bus: await open('researcher:secret') });
    cleanups.push(() => host.close());
    const server = await gateway({
      bus: await open('gateway:secret'),
      agents: ['researcher'],
      port: 0,
    });
    cleanups.push(() => server.close());
    const answer = await (await connect(server.url)).sendMessage('over HTTP');
    expect(JSON.stringify(answer)).toContain('found over HTTP');
    const url = new URL(broker.url);
    const address = `amqp://cli:secret@${url.host}/agents`;
    const call = ['call', 'researcher', 'researcher', 'bees', '--bus-url', address];
    const { stdout } = await promisify(execFile)(process.execPath, [legate, ...call]);
    expect(stdout).toBe('found bees\n');
  });

  test('let a worker use queues with the names of RockBot', async () => {
    const admin = await administered();
    const limited = ['-p', 'agents', 'researcher'];
    await broker.control('set_permissions', ...limited, rockbot, rockbot, rockbot);
    const url = new URL(broker.url);
    const dialect = { dialect: 'rockbot' } as const;
    const address = `amqp://researcher:secret@${url.host}/agents`;
    const bus = await openBus({ type: 'rabbitmq', url: address, ...dialect });
    cleanups.push(() => bus.close());
    const theirs = await openBus({ type: 'rabbitmq', url: `${url.href}/agents`, ...dialect });
    cleanups.push(() => theirs.close());
    const writer = agent({ name: 'writer' }, (turn) => completed(`wrote ${textOf(turn.message)}`));
    const host = await hostOnBus(writer, { bus: theirs });
    cleanups.push(() => host.close());
    expect(admin.isConnected).toBe(true);
    expect(await research(bus, theirs)).toBe('found and wrote bees');
  });

  test.for([true, false])(
    'let a worker use what an administrator declared, with declare: %s',
    async (declares) => {
      const admin = await administered();
      await declareAgentQueue(admin, 'researcher');
      const limited = ['-p', 'agents', 'researcher'];
      await broker.control('set_permissions', ...limited, mine, own, own);
      await broker.control('set_topic_permissions', ...limited, 'legate', topics, '.*');
      const bus = await open('researcher:secret', declares);
      expect(await research(bus, admin)).toBe('found and wrote bees');
    },
  );
});
