import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  type Agent,
  agent,
  authRequired,
  chunk,
  completed,
  failed,
  inputRequired,
  rejected,
  reply,
  textOf,
  working,
} from '../../agents/index.ts';
import { artifact, data, file, Json, LegateError, message, text } from '../../protocol/index.ts';
import { generateSigningKey, publicKeySet } from '../../push/index.ts';
import { openMemory } from '../../store/index.ts';
import { type Scheduler, systemScheduler } from '../../tasks/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { rawProperties, RawPublisher } from '../../../test/support/raw-amqp.ts';
import { rabbitMq } from '../../../test/support/rabbitmq.ts';
import { intercepted } from '../../../test/support/intercepted-store.ts';
import { describeBuses, nameOf, TestCaller, eventually } from '../testing.contract.ts';
import { headerNames } from '../exchange.ts';
import { MessageSigner } from '../identity/signer.ts';
import { MessageVerifier } from '../identity/verifier.ts';
import { type Bus, done } from '../transport/bus.ts';
import { discoveryQueue, statusQueue, taskQueueName, topics } from '../transport/topics.ts';
import { openBus } from '../transport/open-bus.ts';
import { declareAgentQueue, type HostOptions, hostOnBus } from './host.ts';

describeBuses('an agent on the bus', (buses) => {
  async function host(bus: Bus, made: Agent, options: Partial<HostOptions> = {}) {
    const hosting = await hostOnBus(made, { bus, cancelGraceMs: 50, ...options });
    buses.after(() => hosting.close());
    return hosting;
  }

  const echo = (name: string): Agent =>
    agent({ name, inputModes: ['*/*'] }, async function* (turn) {
      yield working('on it');
      yield { ...artifact(turn.message.parts), artifactId: 'copy' };
    });

  test('a task is worked on at once, told as it goes, and answered with all its parts', async () => {
    const bus = await buses.open();
    const name = nameOf('echo');
    await host(bus, echo(name));
    const caller = await TestCaller.start(bus);
    const parts = [
      text('words'),
      data({ a: [1, { b: null }] }),
      file({ bytes: new Uint8Array([0, 255]), filename: 'x.bin', mediaType: 'image/png' }),
      file({ url: 'https://example.com/a.csv' }),
      text('more words'),
    ];
    const id = await caller.send(name, { message: message(parts) });
    await eventually(() => caller.state(id)).toBe('TASK_STATE_COMPLETED');
    expect(caller.task(id)?.artifacts).toEqual([{ artifactId: 'copy', parts }]);
    const updates = caller.updatesOf(id);
    expect(updates[0]).toMatchObject({
      statusUpdate: { taskId: caller.task(id)?.id, status: { state: 'TASK_STATE_WORKING' } },
    });
    expect(updates[1]).toMatchObject({
      statusUpdate: { status: { message: { parts: [{ text: 'on it' }] } } },
    });
    expect(updates[2]).toMatchObject({ artifactUpdate: { artifact: { parts } } });
    expect(caller.of(id)).toHaveLength(1);
  });

  test('the caller selects which updates it receives', async () => {
    const bus = await buses.open();
    const name = nameOf('echo');
    await host(bus, echo(name));
    const caller = await TestCaller.start(bus);
    const few = await caller.send(name, 'x', { updates: 'status' });
    const none = await caller.send(name, 'x', { updates: 'none' });
    await eventually(() => [caller.state(few), caller.state(none)]).not.toContain(undefined);
    expect(caller.updatesOf(few).every((event) => 'statusUpdate' in event)).toBe(true);
    expect(caller.updatesOf(few)).toHaveLength(2);
    expect(caller.updatesOf(none)).toEqual([]);
  });

  test('tasks that say nothing are reported as working, however many there are', async () => {
    const bus = await buses.open();
    const name = nameOf('silent');
    const gate = Promise.withResolvers<void>();
    const silent = agent({ name, serialise: 'task' }, async function* () {
      await gate.promise;
      yield completed('Done.');
    });
    await host(bus, silent, { concurrency: 120 });
    const caller = await TestCaller.start(bus);
    const ids = await Promise.all(Array.from({ length: 120 }, () => caller.send(name, 'x')));
    const first = (id: string) => caller.updatesOf(id)[0];
    await eventually(() => ids.filter((id) => first(id) !== undefined).length).toBe(120);
    for (const id of ids)
      expect(first(id)).toMatchObject({
        statusUpdate: { status: { state: 'TASK_STATE_WORKING' } },
      });
    gate.resolve();
    await eventually(
      () => ids.filter((id) => caller.state(id) === 'TASK_STATE_COMPLETED').length,
    ).toBe(120);
  });

  test('a task that takes longer is told as it goes, in order', async () => {
    const bus = await buses.open();
    const name = nameOf('slow');
    const gate = Promise.withResolvers<void>();
    await host(
      bus,
      agent({ name }, async function* () {
        yield chunk('a', '0');
        yield chunk('a', '1', { append: true });
        await gate.promise;
        yield chunk('a', '2', { append: true, last: true });
      }),
    );
    const caller = await TestCaller.start(bus);
    const id = await caller.send(name, 'x');
    await eventually(() => caller.updatesOf(id).length).toBe(3);
    gate.resolve();
    await eventually(() => caller.state(id)).toBe('TASK_STATE_COMPLETED');
    const chunks = caller
      .updatesOf(id)
      .flatMap((event) => ('artifactUpdate' in event ? event.artifactUpdate.artifact.parts : []));
    expect(chunks.map((part) => part.text).join(' ')).toBe('0 1 2');
    const whole = caller.task(id)?.artifacts?.[0]?.parts.map((part) => part.text);
    expect(whole).toEqual(['012']);
  });

  test('a question waits for its answer, in the same task and context', async () => {
    const bus = await buses.open();
    const name = nameOf('asker');
    const asker = agent({ name }, async function* (turn) {
      const earlier = await turn.history();
      if (earlier.length === 0) yield inputRequired('When?');
      else yield artifact(`${earlier.map(textOf).join('|')}|${textOf(turn.message)}`);
    });
    await host(bus, asker);
    const caller = await TestCaller.start(bus);
    const id = await caller.send(name, 'meet');
    await eventually(() => caller.state(id)).toBe('TASK_STATE_INPUT_REQUIRED');
    const asked = caller.task(id);
    const { id: taskId = '', contextId = '' } = asked ?? {};
    await caller.send(name, { message: message('noon', { taskId, contextId }) }, {}, id);
    await eventually(() => caller.state(id)).toBe('TASK_STATE_COMPLETED');
    expect(caller.task(id)).toMatchObject({
      id: taskId,
      contextId,
      artifacts: [{ parts: [{ text: 'meet|When?|noon' }] }],
    });
  });

  test.each([
    ['failed', failed('broke'), 'TASK_STATE_FAILED'],
    ['rejected', rejected('no'), 'TASK_STATE_REJECTED'],
    ['auth-required', authRequired('log in'), 'TASK_STATE_AUTH_REQUIRED'],
  ])('an end as %s arrives as such', async (_kind, end, state) => {
    const bus = await buses.open();
    const name = nameOf('ender');
    await host(
      bus,
      agent({ name }, async function* () {
        yield end;
      }),
    );
    const caller = await TestCaller.start(bus);
    const id = await caller.send(name, 'x');
    await eventually(() => caller.state(id)).toBe(state);
    expect(caller.task(id)?.status.message?.parts).toEqual(end.parts);
  });

  test('a plain message answers as a message', async () => {
    const bus = await buses.open();
    const name = nameOf('replier');
    await host(
      bus,
      agent({ name, replies: 'message' }, async function* () {
        yield reply('hello');
      }),
    );
    const caller = await TestCaller.start(bus);
    const id = await caller.send(name, 'x');
    await eventually(() => caller.of(id)[0]?.result).toMatchObject({
      message: { parts: [{ text: 'hello' }] },
    });
  });

  test('an agent that throws is a failed task, not a lost one', async () => {
    const bus = await buses.open();
    const name = nameOf('thrower');
    await host(
      bus,
      // oxlint-disable-next-line require-yield
      agent({ name }, async function* () {
        throw new Error('secret detail');
      }),
    );
    const caller = await TestCaller.start(bus);
    const id = await caller.send(name, 'x');
    await eventually(() => caller.state(id)).toBe('TASK_STATE_FAILED');
    expect(JSON.stringify(caller.task(id))).not.toContain('secret');
    expect(await bus.deadLetters(taskQueueName(name))).toEqual([]);
  });

  test('an invalid A2A message is dead-lettered with the reason, and its sender gets an error', async () => {
    const bus = await buses.open();
    const name = nameOf('echo');
    await host(bus, echo(name));
    const caller = await TestCaller.start(bus);
    const bodies = ['{ not json', '{}', '{"message":{"parts":[]}}', '['.repeat(5_000), '"x"'];
    for (const [index, body] of bodies.entries()) {
      const replyTo = topics.response(caller.name);
      const correlationId = String(index);
      await bus.publish(topics.task(name), { type: 'task', body, correlationId, replyTo });
    }
    await eventually(() => caller.answers.length).toBe(bodies.length);
    for (const { error } of caller.answers) expect(error?.code).toMatch(/^(PARSE|INVALID)_/);
    await eventually(async () => (await bus.deadLetters(taskQueueName(name))).length).toBe(
      bodies.length,
    );
    const id = await caller.send(name, 'still alive');
    await eventually(() => caller.state(id)).toBe('TASK_STATE_COMPLETED');
  });

  test('a reply does not repeat headers that its sender made too large', async () => {
    const bus = await buses.open();
    const name = nameOf('echo');
    await host(bus, echo(name));
    const caller = await TestCaller.start(bus);
    const headers = { [headerNames.dialect]: 'x'.repeat(5_900) };
    const replyTo = topics.response(caller.name);
    const sent = { type: 'task', body: '{}', correlationId: '1', replyTo, headers } as const;
    await bus.publish(topics.task(name), sent);
    await eventually(() => caller.answers.map(({ error }) => error?.code)).toEqual([
      'INVALID_PARAMS',
    ]);
  });

  test('refusals of the engine arrive as errors', async () => {
    const bus = await buses.open();
    const name = nameOf('text-only');
    await host(
      bus,
      agent({ name }, async function* (turn) {
        yield artifact(textOf(turn.message));
      }),
    );
    const caller = await TestCaller.start(bus);
    const unknown = await caller.send(name, { message: message('x', { taskId: 'nope' }) });
    await eventually(() => caller.of(unknown)[0]?.error?.code).toBe('TASK_NOT_FOUND');
    const media = await caller.send(name, {
      message: message(text('x', { mediaType: 'image/png' })),
    });
    await eventually(() => caller.of(media)[0]?.error?.code).toBe('CONTENT_TYPE_NOT_SUPPORTED');
  });

  test('a message that the broker repeats runs one turn, and is answered each time', async () => {
    const bus = await buses.open();
    const name = nameOf('counter');
    let turns = 0;
    const { promise, resolve } = Promise.withResolvers<void>();
    await host(
      bus,
      agent({ name }, async function* () {
        turns += 1;
        yield chunk('a', 'one');
        await promise;
        yield chunk('a', 'two', { append: true, last: true });
      }),
    );
    const caller = await TestCaller.start(bus);
    const request = { message: message('x') };
    await caller.send(name, request, {}, 'same');
    await eventually(() => caller.updatesOf('same').length).toBe(2);
    // While it runs: the repetition joins it.
    await caller.send(name, request, {}, 'same');
    await eventually(() => caller.updatesOf('same').length).toBe(3);
    resolve();
    await eventually(() => caller.of('same').length).toBe(2);
    // When it is over: the repetition is answered from the store.
    await caller.send(name, request, {}, 'same');
    await eventually(() => caller.of('same').length).toBe(3);
    expect(turns).toBe(1);
    const ids = caller.of('same').map(({ result }) => result && 'task' in result && result.task.id);
    expect(new Set(ids).size).toBe(1);
  });

  test('cancel stops a running turn, and the caller is told by the result', async () => {
    const bus = await buses.open();
    const name = nameOf('sleeper');
    let isAborted = false;
    await host(
      bus,
      agent({ name }, async function* (turn) {
        yield working('sleeping');
        await new Promise<void>((resolve) => {
          turn.signal.addEventListener('abort', () => resolve(), { once: true });
        });
        isAborted = true;
      }),
    );
    const caller = await TestCaller.start(bus);
    const id = await caller.send(name, 'x');
    await eventually(() => caller.updatesOf(id).length).toBe(2);
    await caller.cancel(name, id);
    await eventually(() => caller.state(id)).toBe('TASK_STATE_CANCELED');
    expect(isAborted).toBe(true);
  });

  test('cancel ends a task that waits for its caller', async () => {
    const bus = await buses.open();
    const name = nameOf('asker');
    await host(
      bus,
      agent({ name }, async function* () {
        yield inputRequired('?');
      }),
    );
    const caller = await TestCaller.start(bus);
    const id = await caller.send(name, 'x');
    await eventually(() => caller.state(id)).toBe('TASK_STATE_INPUT_REQUIRED');
    const taskId = caller.task(id)?.id ?? '';
    await caller.cancel(name, id, taskId);
    await eventually(() =>
      caller.answers.map(({ result, message: { headers } }) => [headers.answers, result]),
    ).toContainEqual([
      'cancel',
      {
        task: expect.objectContaining({
          status: expect.objectContaining({ state: 'TASK_STATE_CANCELED' }),
        }),
      },
    ]);
  });

  test('cancel of a task that has ended is refused, and its result stands', async () => {
    const bus = await buses.open();
    const name = nameOf('echo');
    await host(bus, echo(name));
    const caller = await TestCaller.start(bus);
    const id = await caller.send(name, 'x');
    await eventually(() => caller.state(id)).toBe('TASK_STATE_COMPLETED');
    await caller.cancel(name, id, caller.task(id)?.id);
    await eventually(() => caller.answers.map(({ error }) => error?.code)).toContain(
      'TASK_NOT_CANCELABLE',
    );
    expect(caller.state(id)).toBe('TASK_STATE_COMPLETED');
  });

  test('a task that is cancelled while it waits in the queue is never started', async () => {
    const bus = await buses.open();
    const name = nameOf('late');
    let turns = 0;
    await declareAgentQueue(bus, name);
    const caller = await TestCaller.start(bus);
    const id = await caller.send(name, 'x');
    const other = await caller.send(name, 'y');
    await caller.cancel(name, id);
    const made = agent({ name }, async function* () {
      turns += 1;
      yield artifact('done');
    });
    await host(bus, made);
    await eventually(() => caller.state(other)).toBe('TASK_STATE_COMPLETED');
    await eventually(() => caller.state(id)).toBe('TASK_STATE_CANCELED');
    expect(turns).toBe(1);
  });

  test('a cancelled message does not cancel that of another caller with the same id', async () => {
    const bus = await buses.open();
    const name = nameOf('late');
    const arrived = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    buses.after(async () => gate.resolve());
    let isFirst = true;
    const store = intercepted(openMemory(), {
      admit: async (go) => {
        if (isFirst) {
          isFirst = false;
          arrived.resolve();
          await gate.promise;
        }
        return go();
      },
    });
    await declareAgentQueue(bus, name);
    const alice = await TestCaller.start(bus);
    const eve = await TestCaller.start(bus);
    const same = { message: message('x') };
    const cancelled = await eve.send(name, same);
    await eve.cancel(name, cancelled);
    const made = agent({ name }, async function* () {
      yield artifact('done');
    });
    await host(bus, made, { store });
    await arrived.promise;
    const id = await alice.send(name, same);
    await eventually(() => alice.state(id)).toBe('TASK_STATE_COMPLETED');
    gate.resolve();
    await eventually(() => eve.state(cancelled)).toBe('TASK_STATE_CANCELED');
  });

  test('a cancellation that an earlier version stored holds for its task', async () => {
    const bus = await buses.open();
    const name = nameOf('upgraded');
    const store = openMemory();
    const key = createHash('sha256')
      .update(JSON.stringify([name, '', 'unverified:caller', 'early']))
      .digest('base64url');
    const expiresAt = Date.now() + 60_000;
    const write = { space: 'bus-cancel-wishes', key, value: Json.of(true), expiresAt };
    await store.records.write([write], Date.now());
    let turns = 0;
    await host(
      bus,
      agent({ name }, async function* () {
        turns += 1;
        yield completed('ran');
      }),
      { store },
    );
    const caller = await TestCaller.start(bus);
    await caller.send(name, 'x', { from: 'caller' }, 'early');
    await eventually(() => caller.state('early')).toBe('TASK_STATE_CANCELED');
    expect(turns).toBe(0);
  });

  test('a cancellation request that arrives together with its task is never lost', async () => {
    const bus = await buses.open();
    const name = nameOf('sleeper');
    const made = agent({ name }, async function* (turn) {
      yield working();
      await new Promise<void>((resolve) => {
        turn.signal.addEventListener('abort', () => resolve(), { once: true });
      });
    });
    // Two processes with stores of their own: the responsible one may not be the one at work.
    await host(bus, made);
    await host(bus, made);
    const caller = await TestCaller.start(bus);
    const ids = Array.from({ length: 10 }, () => crypto.randomUUID());
    for (const id of ids) {
      await Promise.all([caller.send(name, 'x', {}, id), caller.cancel(name, id)]);
    }
    await eventually(
      () => ids.filter((id) => caller.state(id) === 'TASK_STATE_CANCELED').length,
    ).toBe(10);
  });

  test('a cancellation request survives a store that fails when it arrives', async () => {
    const bus = await buses.open();
    const name = nameOf('sleeper');
    let failures = 4;
    const failing = () =>
      intercepted(openMemory(), {
        requestCancel: (go) => {
          if (failures === 0) return go();
          failures -= 1;
          return Promise.reject(new LegateError('STORE_FAILED', 'the disk is full'));
        },
      });
    const sleeper = agent({ name }, async function* (turn) {
      yield working('sleeping');
      await new Promise<void>((resolve) => {
        turn.signal.addEventListener('abort', () => resolve(), { once: true });
      });
    });
    // Each has its own store: the host that does not run the turn has no record of it.
    await host(bus, sleeper, { store: failing() });
    await host(bus, sleeper, { store: failing() });
    const caller = await TestCaller.start(bus);
    const id = await caller.send(name, 'x');
    await eventually(() => caller.updatesOf(id).length).toBe(2);
    await caller.cancel(name, id);
    await eventually(() => caller.state(id)).toBe('TASK_STATE_CANCELED');
    expect(failures).toBe(0);
  });

  test("callers can't cancel or continue another caller's task", async () => {
    const bus = await buses.open();
    const name = nameOf('asker');
    await host(
      bus,
      agent({ name }, async function* () {
        yield inputRequired('?');
      }),
    );
    const alice = await TestCaller.start(bus);
    const eve = await TestCaller.start(bus);
    const id = await alice.send(name, 'x');
    await eventually(() => alice.state(id)).toBe('TASK_STATE_INPUT_REQUIRED');
    const { id: taskId = '', contextId = '' } = alice.task(id) ?? {};
    await eve.cancel(name, 'other', taskId);
    await eventually(() => eve.answers[0]?.error?.code).toBe('TASK_NOT_FOUND');
    const answer = await eve.send(name, { message: message('me', { taskId, contextId }) });
    await eventually(() => eve.of(answer)[0]?.error?.code).toBe('TASK_NOT_FOUND');
  });

  test('tasks wait for an agent that is not there, and an undeclared one is an error', async () => {
    const bus = await buses.open();
    const name = nameOf('absent');
    const caller = await TestCaller.start(bus);
    await expect(caller.send(name, 'x')).rejects.toThrow(/no queue is bound to agent\.task\./);
    await declareAgentQueue(bus, name);
    const id = await caller.send(name, 'x');
    await host(bus, echo(name));
    await eventually(() => caller.state(id)).toBe('TASK_STATE_COMPLETED');
  });

  test('a closing host lets turns finish within the grace period, and requeues the others', async () => {
    const bus = await buses.open();
    const name = nameOf('slow');
    const store = openMemory();
    let attempts = 0;
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow = agent({ name, onInterrupted: 'run-again' }, async function* (turn) {
      attempts += 1;
      yield working();
      if (textOf(turn.message) === 'hangs' && turn.attempt === 1) await gates[1]?.promise;
      else await gates[0]?.promise;
      yield artifact('done');
    });
    const first = await host(bus, slow, { store });
    const caller = await TestCaller.start(bus);
    const soon = await caller.send(name, 'soon');
    const hangs = await caller.send(name, 'hangs');
    await eventually(() => attempts).toBe(2);
    const closing = first.close({ graceMs: 200 });
    gates[0]?.resolve();
    await closing;
    expect(caller.state(soon)).toBe('TASK_STATE_COMPLETED');
    expect(caller.of(hangs)).toEqual([]);
    await host(bus, slow, { store });
    await eventually(() => caller.state(hangs)).toBe('TASK_STATE_COMPLETED');
  });

  test('a store that fails is tried again, and told when it keeps failing', async () => {
    const bus = await buses.open();
    const name = nameOf('echo');
    const store = openMemory();
    let failures = 2;
    const flaky = new Proxy(store, {
      get(target, property, receiver) {
        if (property === 'admit' && failures > 0) {
          failures -= 1;
          return () => Promise.reject(new Error('disk'));
        }
        const value: unknown = Reflect.get(target, property, receiver);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
    await host(bus, echo(name), { store: flaky, queue: { retryDelaysMs: [20, 20] } });
    const caller = await TestCaller.start(bus);
    const id = await caller.send(name, 'x');
    await eventually(() => caller.state(id)).toBe('TASK_STATE_COMPLETED');
    failures = 3;
    const lost = await caller.send(name, 'y');
    await eventually(() => caller.of(lost)[0]?.error?.code).toBe('INTERNAL');
    await eventually(async () =>
      (await bus.deadLetters(taskQueueName(name))).map(({ attempts }) => attempts),
    ).toEqual([3]);
  });

  test('a signed sender is identified, and an unsigned one is anonymous', async () => {
    const bus = await buses.open();
    const name = nameOf('who');
    const who = agent({ name }, async function* (turn) {
      yield artifact([data({ ...turn.caller })]);
    });
    const key = generateSigningKey();
    const callerName = nameOf('signed');
    const verifier = new MessageVerifier({
      trusted: [{ issuer: callerName, keys: publicKeySet([key]) }],
    });
    await host(bus, who, { verifier });
    const signer = new MessageSigner({ issuer: callerName, key });
    const signed = await TestCaller.start(bus, { name: callerName, signer });
    const id = await signed.send(name, 'x');
    await eventually(() => signed.task(id)?.artifacts?.[0]?.parts[0]?.data).toMatchObject({
      subject: callerName,
      method: 'message-token',
    });
    // Claiming the same name without the key, and with the token of another message.
    const thief = await TestCaller.start(bus);
    const claimed = await thief.send(name, 'x', { from: callerName });
    await eventually(() => thief.task(claimed)?.artifacts?.[0]?.parts[0]?.data).toMatchObject({
      subject: `unverified:${callerName}`,
      method: 'self-asserted',
    });
    const forged = await thief.send(name, 'x', { from: callerName, token: 'a.b.c' });
    await eventually(() => thief.of(forged)[0]?.error?.code).toBe('UNAUTHENTICATED');
    await eventually(async () => (await bus.deadLetters(taskQueueName(name)))[0]?.reason).toMatch(
      /token/,
    );
  });

  test('where signatures are required, nothing else is taken', async () => {
    const bus = await buses.open();
    const name = nameOf('strict');
    await host(bus, echo(name), { requireSigned: true });
    const caller = await TestCaller.start(bus);
    const id = await caller.send(name, 'x');
    await eventually(() => caller.of(id)[0]?.error?.code).toBe('UNAUTHENTICATED');
  });

  test('status subscribers see the states of tasks, and nothing of their contents', async () => {
    const bus = await buses.open();
    const name = nameOf('echo');
    const seen: string[] = [];
    await bus.consume(statusQueue(nameOf('onlooker')), async ({ body }) => {
      seen.push(body);
      return done;
    });
    await host(bus, echo(name));
    const caller = await TestCaller.start(bus);
    await caller.send(name, 'private words');
    await eventually(() => seen.length).toBe(2);
    expect(seen[0]).toContain('TASK_STATE_WORKING');
    expect(seen[1]).toContain('TASK_STATE_COMPLETED');
    expect(seen.join()).not.toMatch(/private|on it/);
  });

  test('states without a subscriber are no error, and the task is answered', async () => {
    const events: string[] = [];
    const note = (_: unknown, event: string): void => void events.push(event);
    const logger: Logger = {
      debug: note,
      info: note,
      warn: note,
      error: note,
      child: () => logger,
    };
    const bus = await buses.open();
    const name = nameOf('echo');
    await host(bus, echo(name), { logger });
    const caller = await TestCaller.start(bus);
    for (let index = 0; index < 3; index += 1) {
      const id = await caller.send(name, 'x');
      await eventually(() => caller.state(id)).toBe('TASK_STATE_COMPLETED');
    }
    await eventually(() => events.filter((event) => event === 'bus.task.ended').length).toBe(3);
    expect(events.filter((event) => /status|failed|error|unroutable/.test(event))).toEqual([]);
  });

  test('a reply topic that is not one is logged', async () => {
    const warned: string[] = [];
    const quiet = (): void => undefined;
    const logger: Logger = {
      debug: quiet,
      info: quiet,
      warn: (_fields, event) => void warned.push(event),
      error: quiet,
      child: () => logger,
    };
    const bus = await buses.open();
    const name = nameOf('echo');
    await host(bus, echo(name), { logger });
    const body = JSON.stringify({ message: message('x') });
    await bus.publish(topics.task(name), { type: 'task', body, replyTo: 'agent.task.other' });
    await eventually(() => warned).toContain('bus.reply.unroutable');
  });

  test('an agent announces itself when it comes, while it stays, and when it goes', async () => {
    const bus = await buses.open();
    const name = nameOf('echo');
    const seen: { body: string; presence: string | undefined }[] = [];
    await bus.consume(discoveryQueue(nameOf('listener')), async ({ body, headers }) => {
      seen.push({ body, presence: headers.presence });
      return done;
    });
    const hosting = await host(bus, echo(name), { announceIntervalMs: 20 });
    await eventually(() => seen.length).toBeGreaterThan(2);
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual(hosting.card);
    expect(hosting.card).toMatchObject({
      name,
      supportedInterfaces: [
        { url: `legate-bus:agent.task.${name}`, protocolBinding: 'urn:legate:binding:bus' },
      ],
    });
    await hosting.close();
    await eventually(() => seen.at(-1)?.presence).toBe('gone');
  });

  test('unless told otherwise an agent announces itself every two minutes, and a worker of one task never', async () => {
    const bus = await buses.open();
    const name = nameOf('echo');
    let announced = 0;
    await bus.consume(discoveryQueue(nameOf('listener')), async () => {
      announced += 1;
      return done;
    });
    const due: (() => void)[] = [];
    const scheduler: Scheduler = {
      ...systemScheduler,
      after: (ms, callback) => {
        if (ms !== 120_000) return systemScheduler.after(ms, callback);
        due.push(callback);
        return { cancel: () => undefined, restart: () => undefined };
      },
    };
    await host(bus, echo(name), { scheduler });
    await eventually(() => announced).toBe(1);
    expect(due).toHaveLength(1);
    due.shift()?.();
    await eventually(() => announced).toBe(2);
    await eventually(() => due.length).toBe(1);
    await host(bus, echo(nameOf('once')), { scheduler, once: true });
    expect(due).toHaveLength(1);
  });

  test('an agent whose name cannot stand in a topic says so, and can be given another', async () => {
    const bus = await buses.open();
    const bad = echo('The #1 Agent');
    await expect(host(bus, bad)).rejects.toThrow(/cannot be used on the bus/);
    const name = nameOf('number-one');
    await host(bus, bad, { name });
    const caller = await TestCaller.start(bus);
    const id = await caller.send(name, 'x');
    await eventually(() => caller.state(id)).toBe('TASK_STATE_COMPLETED');
  });
});

describeBuses('a worker for one task', (buses) => {
  const worker = (name: string): Agent =>
    agent({ name }, async function* (turn) {
      const said = textOf(turn.message);
      if (said === 'fail') yield failed('no');
      else if (said === 'ask') yield inputRequired('?');
      else yield artifact('done');
    });

  test('takes one task, answers it, and ends; the next is for another', async () => {
    const bus = await buses.open();
    const name = nameOf('worker');
    await declareAgentQueue(bus, name);
    const caller = await TestCaller.start(bus);
    const ids = [await caller.send(name, 'a'), await caller.send(name, 'b')];
    const first = await hostOnBus(worker(name), { bus, once: true });
    expect(await first.finished).toEqual({
      kind: 'answered',
      isSuccess: true,
      answer: 'TASK_STATE_COMPLETED',
    });
    await eventually(() => ids.filter((id) => caller.state(id) !== undefined).length).toBe(1);
    await eventually(async () => (await bus.inspect(taskQueueName(name)))?.messages).toBe(1);
    const second = await hostOnBus(worker(name), { bus, once: true });
    expect(await second.finished).toMatchObject({ isSuccess: true });
    await eventually(() => ids.map((id) => caller.state(id))).not.toContain(undefined);
  });

  test.each([
    ['fail', false],
    ['ask', true],
    ['x', true],
  ])('says whether its task went well: %s, %s', async (said, isSuccess) => {
    const bus = await buses.open();
    const name = nameOf('worker');
    await declareAgentQueue(bus, name);
    const caller = await TestCaller.start(bus);
    await caller.send(name, said);
    const hosting = await hostOnBus(worker(name), { bus, once: true });
    expect(await hosting.finished).toMatchObject({ kind: 'answered', isSuccess });
  });

  test('fails on poison, and ends when nothing comes', async () => {
    const bus = await buses.open();
    const name = nameOf('worker');
    await declareAgentQueue(bus, name);
    await bus.publish(topics.task(name), { type: 'task', body: 'poison' });
    const first = await hostOnBus(worker(name), { bus, once: true });
    expect(await first.finished).toMatchObject({ kind: 'answered', isSuccess: false });
    const second = await hostOnBus(worker(name), { bus, once: true, idleTimeoutMs: 20 });
    expect(await second.finished).toEqual({ kind: 'idle' });
  });

  test('an answer to an ended task gets an error, and is not dead-lettered', async () => {
    const bus = await buses.open();
    const name = nameOf('asking');
    await using hosting = await hostOnBus(
      agent({ name }, async function* () {
        yield inputRequired('which one?');
      }),
      { bus },
    );
    const caller = await TestCaller.start(bus);
    const id = await caller.send(name, { message: message('hello') });
    await eventually(() => caller.state(id)).toBe('TASK_STATE_INPUT_REQUIRED');
    const asked = caller.answers.find(({ message: { correlationId } }) => correlationId === id);
    const task =
      asked?.result !== undefined && 'task' in asked.result ? asked.result.task : undefined;
    const { id: taskId = '', contextId = '' } = task ?? {};
    const known = { tenant: '', subject: `unverified:${caller.name}`, method: 'self-asserted' };
    await hosting.engine.cancelTask({ id: taskId }, { caller: known, version: '1.0' });
    const late = await caller.send(name, { message: message('this one', { taskId, contextId }) });
    await eventually(() => caller.answers.at(-1)?.message.correlationId).toBe(late);
    expect(caller.answers.at(-1)?.error?.message).toMatch(/ended|terminal|canceled/i);
    expect(await bus.inspect(taskQueueName(name))).toMatchObject({ deadLetters: 0 });
  });
});

test('the sender of a task that cannot be decoded is told why', async () => {
  const { url } = await rabbitMq();
  await using bus = await openBus({ type: 'rabbitmq', url, maxBodyBytes: 1_000 });
  const name = nameOf('agent');
  await using host = await hostOnBus(
    agent({ name }, async function* () {
      yield completed('done');
    }),
    { bus },
  );
  const caller = await TestCaller.start(bus);
  await using publisher = await RawPublisher.open(url);
  const bodies = {
    large: 'x'.repeat(2_000),
    deep: `${'['.repeat(400)}${']'.repeat(400)}`,
    bytes: Buffer.of(0xff),
  };
  for (const [correlationId, body] of Object.entries(bodies)) {
    await publisher.publish({
      routingKey: topics.task(host.name),
      properties: rawProperties({
        contentType: 'application/json',
        correlationId,
        replyTo: topics.response(caller.name),
      }),
      body: Buffer.from(body),
    });
  }
  const told = () =>
    Object.fromEntries(
      caller.answers.map(({ message: { correlationId = '' }, error }) => [
        correlationId,
        error?.message,
      ]),
    );
  await eventually(told).toEqual({
    large: expect.stringContaining('larger than 1000') as unknown,
    deep: expect.stringContaining('deeper than 64') as unknown,
    bytes: expect.stringContaining('not UTF-8') as unknown,
  });
  const id = await caller.send(name, { message: message('hello') });
  await eventually(() => caller.state(id)).toBe('TASK_STATE_COMPLETED');
});
