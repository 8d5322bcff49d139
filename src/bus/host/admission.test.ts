import { expect, test } from 'vitest';
import { type Agent, agent, textOf } from '../../agents/index.ts';
import { artifact, message } from '../../protocol/index.ts';
import { generateSigningKey, publicKeySet } from '../../push/index.ts';
import { openMemory } from '../../store/index.ts';
import { type Logger, silentLogger } from '../../telemetry/index.ts';
import { MessageSigner } from '../identity/signer.ts';
import { MessageVerifier } from '../identity/verifier.ts';
import { describeBuses, eventually, nameOf, TestCaller } from '../testing.contract.ts';
import type { Bus } from '../transport/bus.ts';
import { type HostOptions, hostOnBus } from './host.ts';

describeBuses('callers on the bus', (buses) => {
  async function host(bus: Bus, made: Agent, options: Partial<HostOptions> = {}) {
    const hosting = await hostOnBus(made, { bus, cancelGraceMs: 50, ...options });
    buses.after(() => hosting.close());
    return hosting;
  }

  const skills = ['track', 'refund'].map((id) => ({ id, name: id, description: id, tags: [id] }));
  const skillScopes = { refund: ['orders:write'] };

  function shop(name: string) {
    const begun: string[] = [];
    const made = agent({ name, skills }, async function* (turn) {
      begun.push(textOf(turn.message));
      yield artifact('done');
    });
    return { made, begun };
  }

  /** A verifier that trusts one sender with these scopes, and that sender's signer. */
  function trusting(issuer: string, scopes?: readonly string[]) {
    const key = generateSigningKey();
    const trusted = [
      { issuer, keys: publicKeySet([key]), ...(scopes !== undefined && { scopes }) },
    ];
    return {
      verifier: new MessageVerifier({ trusted }),
      signer: new MessageSigner({ issuer, key }),
    };
  }

  const to = (skill: string) => ({ message: message(skill, { metadata: { skill } }) });

  test('a skill is for senders with its scopes, and its agent is not asked otherwise', async () => {
    const bus = await buses.open();
    const name = nameOf('shop');
    const { made, begun } = shop(name);
    const caller = nameOf('desk');
    const { verifier, signer } = trusting(caller, ['orders:write']);
    await host(bus, made, { skillScopes, verifier });
    const signed = await TestCaller.start(bus, { name: caller, signer });
    const stranger = await TestCaller.start(bus);
    const allowed = await signed.send(name, to('refund'));
    const open = await stranger.send(name, to('track'));
    const refused = await stranger.send(name, to('refund'));
    // One that names no skill could be answered by any.
    const vague = await stranger.send(name, 'refund me');
    await eventually(() => signed.state(allowed)).toBe('TASK_STATE_COMPLETED');
    await eventually(() => stranger.state(open)).toBe('TASK_STATE_COMPLETED');
    for (const id of [refused, vague]) {
      await eventually(() => stranger.of(id)[0]?.error?.code).toBe('PERMISSION_DENIED');
    }
    expect(begun.toSorted()).toEqual(['refund', 'track']);
  });

  test('a sender that was proved and lacks the scope is refused, and that is audited', async () => {
    const bus = await buses.open();
    const name = nameOf('shop');
    const { made, begun } = shop(name);
    const caller = nameOf('desk');
    const { verifier, signer } = trusting(caller);
    const denied: unknown[] = [];
    const logger: Logger = { ...silentLogger, warn: (fields) => void denied.push(fields) };
    await host(bus, made, { skillScopes, verifier, logger });
    const signed = await TestCaller.start(bus, { name: caller, signer });
    const id = await signed.send(name, to('refund'));
    await eventually(() => signed.of(id)[0]?.error?.code).toBe('PERMISSION_DENIED');
    expect(begun).toEqual([]);
    expect(denied).toContainEqual(
      expect.objectContaining({
        audit: 'denied',
        code: 'PERMISSION_DENIED',
        subject: caller,
        what: expect.stringContaining(name) as string,
      }),
    );
  });

  test('a sender that asks more often than it may is told to come again', async () => {
    const bus = await buses.open();
    const name = nameOf('shop');
    const { made, begun } = shop(name);
    await host(bus, made, { callerLimits: { requestsPerSecond: 0.001, burst: 2 } });
    const caller = await TestCaller.start(bus);
    const ids: string[] = [];
    for (let count = 0; count < 3; count += 1) ids.push(await caller.send(name, to('track')));
    const codes = () => ids.map((id) => String(caller.of(id)[0]?.error?.code ?? caller.state(id)));
    await eventually(() => codes().toSorted()).toEqual([
      'RATE_LIMITED',
      'TASK_STATE_COMPLETED',
      'TASK_STATE_COMPLETED',
    ]);
    expect(begun).toHaveLength(2);
  });

  test('a sender that cancels unknown tasks more often than it may is told to come again', async () => {
    const bus = await buses.open();
    const name = nameOf('shop');
    const { made } = shop(name);
    const store = openMemory();
    await host(bus, made, { store, callerLimits: { requestsPerSecond: 0.001, burst: 2 } });
    const caller = await TestCaller.start(bus);
    for (const id of ['a', 'b', 'c']) await caller.cancel(name, id);
    await eventually(() => caller.answers.map(({ error }) => error?.code)).toEqual([
      'RATE_LIMITED',
    ]);
    const query = { space: 'bus-cancellations', limit: 10, now: Date.now() };
    await eventually(async () => (await store.records.list(query)).length).toBe(2);
  });

  test('a sender without a tenant of its own cancels what it sent to one', async () => {
    const bus = await buses.open();
    const name = nameOf('sleeper');
    const begun = Promise.withResolvers<string>();
    const sleeper = agent({ name }, async function* (turn) {
      begun.resolve(turn.caller.tenant);
      await new Promise((_, reject) => {
        turn.signal.addEventListener('abort', () => reject(turn.signal.reason as Error));
      });
      yield artifact('never');
    });
    await host(bus, sleeper);
    const caller = await TestCaller.start(bus);
    const id = await caller.send(name, { tenant: 'acme', message: message('sleep') });
    expect(await begun.promise).toBe('acme');
    await caller.cancel(name, id);
    await eventually(() => caller.state(id)).toBe('TASK_STATE_CANCELED');
  });

  test('a sender of one tenant does not reach another', async () => {
    const bus = await buses.open();
    const name = nameOf('shop');
    const caller = nameOf('gateway');
    const key = generateSigningKey();
    const trusted = [{ issuer: caller, keys: publicKeySet([key]), mayVouch: true }];
    const { made } = shop(name);
    await host(bus, made, { verifier: new MessageVerifier({ trusted }) });
    const signer = new MessageSigner({ issuer: caller, key });
    const inTenant = {
      issuer: caller,
      sign: (sent: Parameters<MessageSigner['sign']>[0]) =>
        signer.sign(sent, { subject: 'ada', tenant: 'acme' }),
    } as MessageSigner;
    const signed = await TestCaller.start(bus, { name: caller, signer: inTenant });
    const id = await signed.send(name, { tenant: 'other', message: message('x') });
    await eventually(() => signed.of(id)[0]?.error?.code).toBe('PERMISSION_DENIED');
  });
});
