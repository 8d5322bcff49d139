import { expect, test } from 'vitest';
import { type Agent, agent } from '../../agents/index.ts';
import { artifact } from '../../protocol/index.ts';
import { generateSigningKey, publicKeySet } from '../../push/index.ts';
import { openMemory } from '../../store/index.ts';
import { silentLogger } from '../../telemetry/index.ts';
import { announceOnce } from '../host/announcer.ts';
import { hostOnBus, type HostOptions } from '../host/host.ts';
import { MessageSigner } from '../identity/signer.ts';
import { MessageVerifier } from '../identity/verifier.ts';
import { describeBuses, eventually, nameOf } from '../testing.contract.ts';
import { type Bus, type BusMessage, done, type OutgoingMessage } from '../transport/bus.ts';
import { discoveryQueue, topics } from '../transport/topics.ts';
import { busLink } from './bus-link.ts';
import { joinPeers, type PeerNetworkOptions } from '../../peers/index.ts';
import type { Identification } from '../exchange.ts';

describeBuses('agents that announce themselves', (buses) => {
  const painter = (name: string): Agent =>
    agent({ name, description: 'Paints', skills: ['paint'] }, async function* () {
      yield artifact('painted');
    });

  async function host(bus: Bus, name: string, options: Partial<HostOptions> = {}) {
    const hosting = await hostOnBus(painter(name), { bus, ...options });
    buses.after(() => hosting.close());
    return hosting;
  }

  async function join(
    bus: Bus,
    {
      verifier,
      requireSigned = false,
      ...options
    }: Partial<PeerNetworkOptions> & Identification = {},
  ) {
    const link = busLink({ bus, requireSigned, ...(verifier !== undefined && { verifier }) });
    const network = await joinPeers({
      name: nameOf('me'),
      store: openMemory(),
      links: [link],
      ...options,
    });
    buses.after(() => network.close());
    const names = async (): Promise<readonly string[]> =>
      (await network.directory.list()).map(({ name }) => name);
    return { network, names };
  }

  /** Keeps what is announced, as anybody on the bus can. */
  async function overhear(bus: Bus): Promise<BusMessage[]> {
    const heard: BusMessage[] = [];
    await bus.consume(discoveryQueue(nameOf('eve')), async (delivery) => {
      heard.push(delivery);
      return done;
    });
    return heard;
  }

  test('a newcomer knows at once who is there', async () => {
    const bus = await buses.open();
    const [alice, bob] = [nameOf('alice'), nameOf('bob')];
    // Long before the next announcement.
    await host(bus, alice, { announceIntervalMs: 3_600_000 });
    await host(bus, bob, { announceIntervalMs: 3_600_000 });
    const { names } = await join(bus);
    await eventually(async () => (await names()).toSorted()).toEqual([alice, bob].toSorted());
  });

  test('however many announcements are refused, the log has a line and then summaries', async () => {
    const bus = await buses.open();
    const lines: string[] = [];
    const note = (_fields: object, event?: string): void => void lines.push(event ?? '');
    const logger = { ...silentLogger, warn: note, child: () => logger };
    const { names } = await join(bus, { logger });
    for (let index = 0; index < 50; index += 1) {
      await bus.publish(topics.discovery, {
        id: `bad-${index}`,
        type: 'announce',
        correlationId: 'nobody',
        body: '{}',
        headers: {},
      });
    }
    const name = nameOf('painter');
    await host(bus, name);
    await eventually(names).toContain(name);
    expect(lines.filter((line) => line === 'bus.announcement.refused')).toHaveLength(1);
  });

  test('where cards must be signed, no other announcement is taken', async () => {
    const bus = await buses.open();
    const [good, bad] = [generateSigningKey(), generateSigningKey()];
    const cardKeys = [{ keys: publicKeySet([good]) }];
    const { network, names } = await join(bus, { cardKeys, requireSignedCards: true });
    const [unsigned, strange, signed] = [nameOf('plain'), nameOf('eve'), nameOf('bob')];
    await host(bus, unsigned);
    await host(bus, strange, { cardKeys: [bad] });
    // Announcements are heard in their order: once the last is known, the others were refused.
    const bob = await host(bus, signed, { cardKeys: [good] });
    await eventually(names).toEqual([signed]);
    const session = { id: 'c', caller: { tenant: '', subject: 'u', method: 'test' } };
    const request = { agent: signed, skill: 'paint', message: 'x' };
    expect((await network.invoker.invokeAndWait(request, session)).outcome?.text).toBe('painted');
    await bob.close();
    await eventually(names).toEqual([]);
  });

  test('where messages must be signed, so must announcements', async () => {
    const bus = await buses.open();
    const key = generateSigningKey();
    const [unsigned, signed] = [nameOf('plain'), nameOf('bob')];
    const trusted = [{ issuer: signed, keys: publicKeySet([key]) }];
    const verifier = new MessageVerifier({ trusted });
    const { names } = await join(bus, { verifier, requireSigned: true });
    await host(bus, unsigned);
    await host(bus, signed, { signer: new MessageSigner({ issuer: signed, key }) });
    await eventually(names).toEqual([signed]);
  });

  test('an announcement that was signed once cannot be sent again as a farewell', async () => {
    const bus = await buses.open();
    const key = generateSigningKey();
    const name = nameOf('bob');
    const verifier = new MessageVerifier({
      trusted: [{ issuer: name, keys: publicKeySet([key]) }],
    });
    const heard = await overhear(bus);
    const { network, names } = await join(bus, { verifier });
    const bob = await host(bus, name, { signer: new MessageSigner({ issuer: name, key }) });
    await eventually(names).toEqual([name]);
    await eventually(() => heard.length).toBe(1);
    const [first] = heard;
    if (first === undefined) throw new Error('expected an announcement');
    const { body, correlationId, headers } = first;
    const replay = (changed: Partial<OutgoingMessage>): Promise<void> =>
      bus.publish(topics.discovery, {
        type: 'announce',
        body,
        ...(correlationId !== undefined && { correlationId }),
        headers: { ...headers, presence: 'gone' },
        ...changed,
      });
    // With the header alone, as another message, and without any proof.
    await replay({});
    await replay({ correlationId: `gone ${Date.now() + 60_000}` });
    await replay({ headers: { from: name, presence: 'gone' } });
    const last = nameOf('last');
    await announceOnce(painter(last), { bus });
    await eventually(async () => (await names()).includes(last)).toBe(true);
    expect(await names()).toContain(name);
    // What it says itself is believed; and what it said then is of no use when it is back.
    await bob.close();
    await eventually(names).toEqual([last]);
    const isFarewell = ({ correlationId: mark = '', headers: { token } }: BusMessage): boolean =>
      mark.startsWith('gone') && token !== headers.token;
    await eventually(() => heard.some(isFarewell)).toBe(true);
    const farewell = heard.find(isFarewell);
    await host(bus, name, { signer: new MessageSigner({ issuer: name, key }) });
    await eventually(names).toContain(name);
    const seenAt = async (): Promise<number | undefined> =>
      (await network.directory.find(last))?.lastSeenAt;
    const before = (await seenAt()) ?? 0;
    await bus.publish(topics.discovery, {
      type: 'announce',
      body: farewell?.body ?? '',
      correlationId: farewell?.correlationId ?? '',
      headers: farewell?.headers ?? {},
    });
    await announceOnce(painter(last), { bus });
    await eventually(async () => ((await seenAt()) ?? 0) > before).toBe(true);
    expect(await names()).toContain(name);
  });
});
