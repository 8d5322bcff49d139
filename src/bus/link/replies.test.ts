import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { agent, type Caller, completed, textOf } from '../../agents/index.ts';
import { message } from '../../protocol/index.ts';
import { generateSigningKey, publicKeySet, type SigningKey } from '../../push/index.ts';
import { openMemory, openStore, type Store } from '../../store/index.ts';
import { systemScheduler } from '../../tasks/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { hostOnBus } from '../host/host.ts';
import { describeBuses, eventually, nameOf } from '../testing.contract.ts';
import { MessageSigner } from '../identity/signer.ts';
import { MessageVerifier } from '../identity/verifier.ts';
import type { Bus, OutgoingMessage } from '../transport/bus.ts';
import { isBusName } from '../transport/checks.ts';
import { topics } from '../transport/topics.ts';
import { busLink, replyName } from './bus-link.ts';
import { joinPeers, type PeerNetwork } from '../../peers/index.ts';

const caller: Caller = { tenant: '', subject: 'user', method: 'test' };
const session = { id: 'c1', caller };

describeBuses('answers', (buses) => {
  function joinNetwork(bus: Bus, name: string, store: Store, peer: string, logger?: Logger) {
    const wellKnown = [{ name: peer }];
    return joinPeers({
      name,
      store,
      links: [busLink({ bus })],
      wellKnown,
      ...(logger !== undefined && { logger }),
    });
  }

  async function slowAgent(bus: Bus) {
    const gate = Promise.withResolvers<void>();
    const host = await hostOnBus(
      agent({ name: nameOf('slow'), skills: ['echo'] }, async function* (turn) {
        await gate.promise;
        yield completed(`heard ${textOf(turn.message)}`);
      }),
      { bus },
    );
    buses.after(() => host.close());
    return { name: host.name, proceed: gate.resolve };
  }

  test('of a name that two processes share go to the one whose store asked', async () => {
    const bus = await buses.open();
    const peer = await slowAgent(bus);
    const name = nameOf('shared');
    const networks = await Promise.all(
      [openMemory(), openMemory()].map((store) => joinNetwork(bus, name, store, peer.name)),
    );
    for (const network of networks) buses.after(() => network.close());
    const messages = Array.from({ length: 5 }, (_, index) => String(index));
    const calls = networks.flatMap(({ invoker }) =>
      messages.map((message) => {
        return invoker.invokeAndWait({ agent: peer.name, skill: 'echo', message }, session);
      }),
    );
    peer.proceed();
    const heard = messages.map((message) => `heard ${message}`);
    const outcomes = await Promise.all(calls);
    expect(outcomes.map(({ outcome }) => outcome?.text)).toEqual([...heard, ...heard]);
  });

  test('replies that arrive while no process runs wait for the next process on the same store', async () => {
    const bus = await buses.open();
    const peer = await slowAgent(bus);
    const name = nameOf('me');
    const directory = await mkdtemp(join(tmpdir(), 'legate-replies-'));
    buses.after(() => rm(directory, { recursive: true }));
    const open = () => openStore({ type: 'sqlite', path: join(directory, 'me.db') });
    const first = await open();
    const before = await joinNetwork(bus, name, first, peer.name);
    const request = { agent: peer.name, skill: 'echo', message: 'x' };
    const { id } = await before.invoker.invoke(request, session);
    await before.close();
    await first.close();
    peer.proceed();
    const second = await open();
    buses.after(() => second.close());
    const after = await joinNetwork(bus, name, second, peer.name);
    buses.after(() => after.close());
    await eventually(async () => (await after.invoker.find(id))?.outcome?.text).toBe('heard x');
  });

  test('to a request that another sender made under the ids of a call are ignored by a caller that signs', async () => {
    const bus = await buses.open();
    const [ours, theirs] = [generateSigningKey(), generateSigningKey()];
    const [me, name] = [nameOf('me'), nameOf('bob')];
    const trusting = (issuer: string, key: SigningKey) =>
      new MessageVerifier({ trusted: [{ issuer, keys: publicKeySet([key]) }] });
    const gate = Promise.withResolvers<void>();
    const bob = agent({ name, skills: ['echo'] }, async function* (turn) {
      if (textOf(turn.message) === 'ours') await gate.promise;
      yield completed(`heard ${textOf(turn.message)}`);
    });
    const host = await hostOnBus(bob, {
      bus,
      signer: new MessageSigner({ issuer: name, key: theirs }),
      verifier: trusting(me, ours),
    });
    buses.after(() => host.close());
    const signer = new MessageSigner({ issuer: me, key: ours });
    const network = await joinPeers({
      name: me,
      store: openMemory(),
      links: [busLink({ bus, signer, verifier: trusting(name, theirs) })],
      wellKnown: [{ name }],
    });
    buses.after(() => network.close());
    const asked: OutgoingMessage[] = [];
    const publish = bus.publish.bind(bus);
    bus.publish = (topic, sent, options) => {
      if (sent.type === 'task') asked.push(sent);
      return publish(topic, sent, options);
    };
    const answer = network.invoker.invokeAndWait(
      { agent: name, skill: 'echo', message: 'ours' },
      session,
    );
    await eventually(() => asked.length).toBe(1);
    const { correlationId, replyTo } = asked[0] ?? {};
    const body = JSON.stringify({ message: message('of another') });
    await bus.publish(topics.task(name), { type: 'task', body, correlationId, replyTo });
    const queue = `legate.response.${replyTo?.split('.').at(-1)}`;
    const dead = async () => (await bus.deadLetters(queue)).map(({ message: { type } }) => type);
    await eventually(dead).toContain('result');
    gate.resolve();
    expect((await answer).outcome?.text).toBe('heard ours');
  });

  test('have a queue from the first call until their process shuts down without open calls', async () => {
    const bus = await buses.open();
    const peer = await slowAgent(bus);
    const name = nameOf('me');
    const store = openMemory();
    const queue = `legate.response.${await replyName(name, store.records, systemScheduler)}`;
    const isThere = async () => (await bus.inspect(queue)) !== undefined;
    const call = ({ invoker }: PeerNetwork) =>
      invoker.invoke({ agent: peer.name, skill: 'echo', message: 'x' }, session, { mode: 'wait' });
    const first = await joinNetwork(bus, name, store, peer.name);
    expect(await isThere()).toBe(false);
    const { id } = await call(first);
    expect(await isThere()).toBe(true);
    await first.close();
    expect(await isThere()).toBe(true);
    peer.proceed();
    const second = await joinNetwork(bus, name, store, peer.name);
    await eventually(async () => (await second.invoker.find(id))?.outcome?.text).toBe('heard x');
    await second.invoker.wait((await call(second)).id);
    await second.close();
    expect(await isThere()).toBe(false);
  });

  test('unexpected replies are logged as a warning', async () => {
    const bus = await buses.open();
    const warnings: string[] = [];
    const quiet = (): void => undefined;
    const logger: Logger = {
      debug: quiet,
      info: quiet,
      warn: (_fields, event) => void warnings.push(event),
      error: quiet,
      child: () => logger,
    };
    const store = openMemory();
    const name = nameOf('me');
    const peer = await slowAgent(bus);
    const network = await joinNetwork(bus, name, store, peer.name, logger);
    buses.after(() => network.close());
    await network.invoker.invoke({ agent: peer.name, skill: 'echo', message: 'x' }, session);
    const topic = topics.response(await replyName(name, store.records, systemScheduler));
    const body = '{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]}}';
    await bus.publish(topic, { type: 'result', body, correlationId: 'unknown' });
    await eventually(() => warnings).toEqual(['bus.reply.unmatched']);
  });
});

test('the name for answers is a name on the bus, and that of one agent in one store', async () => {
  const [one, two] = [openMemory(), openMemory()];
  const nameIn = (store: Store, name: string) => replyName(name, store.records, systemScheduler);
  const long = 'x'.repeat(99);
  const names = await Promise.all([
    nameIn(one, 'me'),
    nameIn(two, 'me'),
    nameIn(one, 'you'),
    nameIn(one, `${long}a`),
    nameIn(one, `${long}b`),
  ]);
  expect(new Set(names).size).toBe(5);
  expect(names.every(isBusName)).toBe(true);
  expect(await nameIn(one, 'me')).toBe(names[0]);
});
