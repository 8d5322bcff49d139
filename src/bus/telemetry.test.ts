import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Attributes,
  type Context,
  context,
  type ContextManager,
  type MeterProvider,
  metrics,
  propagation,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  type TextMapPropagator,
  trace,
  type TracerProvider,
} from '@opentelemetry/api';
import { afterEach, expect, test } from 'vitest';
import { agent, inputRequired } from '../agents/index.ts';
import { connect } from '../client/index.ts';
import { serve } from '../http/index.ts';
import { joinPeers, peerSubject } from '../peers/index.ts';
import { artifact } from '../protocol/index.ts';
import { openMemory, type Store } from '../store/index.ts';
import { metricTable } from '../telemetry/index.ts';
import { busLink, gateway, hostOnBus, openBus } from './index.ts';
import { busTest, eventually, nameOf } from './testing.contract.ts';
import { done, type MessageType } from './transport/bus.ts';
import { type Broker, BrokerBus } from './transport/broker-bus.ts';
import { MemoryBroker } from './transport/memory-broker.ts';

interface Recorded {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string | undefined;
  attributes: Attributes;
  isEnded: boolean;
}

/** As little of an SDK as shows what is told to one. */
function listen() {
  const spans: Recorded[] = [];
  const counts: { name: string; value: number; attributes: Attributes }[] = [];
  const gauges = new Map<string, (result: object) => Promise<void>>();
  const id = (bytes: number): string =>
    crypto
      .randomUUID()
      .replaceAll('-', '')
      .slice(0, bytes * 2);
  const storage = new AsyncLocalStorage<Context>();
  const manager: ContextManager = {
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with: (active, work, thisArg, ...args) =>
      storage.run(active, () => work.call(thisArg as never, ...args)),
    bind: (_context, target) => target,
    enable: () => manager,
    disable: () => manager,
  };
  const startSpan = (
    name: string,
    options: { attributes?: Attributes } = {},
    at?: Context,
  ): Span => {
    const parent = trace.getSpanContext(at ?? context.active());
    const own: SpanContext = {
      traceId: parent?.traceId ?? id(16),
      spanId: id(8),
      traceFlags: 1,
    };
    const recorded: Recorded = {
      name,
      ...own,
      parentId: parent?.spanId,
      attributes: { ...options.attributes },
      isEnded: false,
    };
    spans.push(recorded);
    const span: Span = {
      ...trace.wrapSpanContext(own),
      spanContext: () => own,
      setAttribute: (key, value) => {
        recorded.attributes = { ...recorded.attributes, [key]: value };
        return span;
      },
      setAttributes: (more) => {
        recorded.attributes = { ...recorded.attributes, ...more };
        return span;
      },
      addEvent: () => span,
      addLink: () => span,
      addLinks: () => span,
      setStatus: () => span,
      updateName: () => span,
      recordException: () => undefined,
      isRecording: () => true,
      end: () => {
        recorded.isEnded = true;
      },
    };
    return span;
  };
  const tracers = {
    getTracer: () => ({ startSpan, startActiveSpan: () => undefined }),
  } as unknown as TracerProvider;
  const instrument = (name: string) => {
    const note = (value: number, attributes: Attributes = {}): void =>
      void counts.push({ name, value, attributes });
    return { add: note, record: note };
  };
  const meters = {
    getMeter: () => ({
      createCounter: instrument,
      createHistogram: instrument,
      createUpDownCounter: instrument,
      createObservableGauge: (name: string) => ({
        addCallback: (callback: (result: object) => Promise<void>) => {
          gauges.set(name, callback);
        },
        removeCallback: (callback: (result: object) => Promise<void>) => {
          if (gauges.get(name) === callback) gauges.delete(name);
        },
      }),
    }),
  } as unknown as MeterProvider;
  const propagator: TextMapPropagator = {
    fields: () => ['traceparent'],
    inject(active, carrier, setter) {
      const found = trace.getSpanContext(active);
      if (found === undefined) return;
      setter.set(carrier, 'traceparent', `00-${found.traceId}-${found.spanId}-01`);
    },
    extract(active, carrier, getter) {
      const value = getter.get(carrier, 'traceparent');
      const [, traceId, spanId] = typeof value === 'string' ? value.split('-') : [];
      if (traceId === undefined || spanId === undefined) return active;
      return trace.setSpanContext(active, { traceId, spanId, traceFlags: 1, isRemote: true });
    },
  };
  context.setGlobalContextManager(manager);
  trace.setGlobalTracerProvider(tracers);
  metrics.setGlobalMeterProvider(meters);
  propagation.setGlobalPropagator(propagator);
  const read = async (name: string): Promise<unknown[]> => {
    const seen: unknown[] = [];
    await gauges.get(name)?.({ observe: (...told: unknown[]) => void seen.push(told) });
    return seen;
  };
  return { spans, counts, read };
}

afterEach(() => {
  for (const api of [context, trace, metrics, propagation]) api.disable();
});

const caller = { tenant: '', subject: 'u', method: 'test' };

for (const kind of ['memory', 'rabbitmq'] as const) {
  const buses = busTest(kind);

  test(`one trace leads from the gateway over the bus to the agent and back (${kind})`, async () => {
    const { spans } = listen();
    const bus = await buses.open();
    const name = nameOf('echo');
    let inAgent: string | undefined;
    await using host = await hostOnBus(
      agent({ name }, async function* () {
        inAgent = trace.getSpanContext(context.active())?.traceId;
        yield artifact('x');
      }),
      { bus },
    );
    await using server = await gateway({ bus, agents: [host.name], drainMs: 0 });
    const client = await connect(server.url);
    spans.length = 0;
    await client.sendMessage('x');
    const published = spans.filter((span) => span.name === 'legate.messaging.publish');
    const processed = spans.filter((span) => span.name === 'legate.messaging.process');
    const ofType = (type: string) =>
      published.find(({ attributes }) => attributes['legate.messaging.type'] === type);
    const [task, result] = [ofType('task'), ofType('result')];
    expect(task?.attributes['messaging.destination.name']).toBe(`agent.task.${name}`);
    expect(inAgent).toBe(task?.traceId);
    expect(processed[0]).toMatchObject({ traceId: task?.traceId, parentId: task?.spanId });
    expect(result?.traceId).toBe(task?.traceId);
    const answered = processed.find(({ parentId }) => parentId === result?.spanId);
    expect(answered?.traceId).toBe(task?.traceId);
  });

  test(`a call that starts a trace leads to the agent, its questions and its answer (${kind})`, async () => {
    const { spans } = listen();
    const bus = await buses.open();
    const name = nameOf('asker');
    const inAgent: (string | undefined)[] = [];
    await using host = await hostOnBus(
      agent({ name }, async function* (turn) {
        inAgent.push(trace.getSpanContext(context.active())?.traceId);
        if (turn.isContinuation) yield artifact('done');
        else yield inputRequired('?');
      }),
      { bus },
    );
    let answering: string | undefined;
    await using network = await joinPeers({
      name: nameOf('me'),
      store: openMemory(),
      links: [busLink({ bus })],
      wellKnown: [{ name: host.name }],
      conversations: {
        answer: async () => {
          answering = trace.getSpanContext(context.active())?.traceId;
          return 'yes';
        },
      },
    });
    await network.trust.grant(peerSubject(name), { level: 'act', skills: [name], by: 'user' });
    const request = { agent: name, skill: name, message: 'x' };
    const { outcome } = await network.invoker.invokeAndWait(request, { id: 'c', caller });
    expect(outcome?.text).toBe('done');
    const named = (wanted: string) => spans.find((span) => span.name === wanted);
    const invoke = named('legate.a2a.invoke');
    // Nobody called from within a span, so that this is where the trace begins.
    expect(invoke?.parentId).toBe(undefined);
    const traceId = invoke?.traceId;
    expect([...inAgent, answering]).toEqual([traceId, traceId, traceId]);
    const tasks = spans.filter(
      ({ name: what, attributes }) =>
        what === 'legate.messaging.publish' && attributes['legate.messaging.type'] === 'task',
    );
    expect(tasks.map(({ parentId }) => parentId)).toEqual([invoke?.spanId, invoke?.spanId]);
    const loop = named('legate.a2a.input_required_loop');
    expect(loop).toMatchObject({ traceId, parentId: invoke?.spanId, isEnded: true });
    const round = named('legate.a2a.input_required_round');
    expect(round).toMatchObject({ traceId, parentId: loop?.spanId, isEnded: true });
  });
}

test('the calling of peers is counted and spanned under its names, with what joins the traces', async () => {
  const { spans, counts } = listen();
  await using bus = await openBus({ type: 'memory' });
  await using host = await hostOnBus(
    agent({ name: 'asker' }, async function* (turn) {
      if (turn.isContinuation) yield artifact('done');
      else yield inputRequired('?');
    }),
    { bus },
  );
  await using network = await joinPeers({
    name: 'me',
    store: openMemory(),
    links: [busLink({ bus })],
    wellKnown: [{ name: host.name }],
    conversations: { answer: async () => 'yes' },
  });
  await network.trust.grant(peerSubject('asker'), { level: 'act', skills: ['asker'], by: 'user' });
  const session = { id: 'c', caller: { tenant: '', subject: 'u', method: 'test' } };
  const done = await network.invoker.invokeAndWait(
    { agent: 'asker', skill: 'asker', message: 'x' },
    session,
  );
  expect(done.outcome?.end).toBe('TASK_STATE_COMPLETED');
  const named = (name: string) => spans.filter((span) => span.name === `legate.a2a.${name}`);
  expect(named('invoke')[0]).toMatchObject({
    isEnded: true,
    attributes: {
      'legate.a2a.target_agent': 'asker',
      'legate.a2a.skill': 'asker',
      'legate.a2a.transport': 'bus',
      'legate.a2a.correlation_id': done.id,
      'legate.a2a.session_id': 'c',
      'legate.a2a.task_id': done.remote?.taskId,
      'legate.a2a.context_id': done.remote?.contextId,
      'legate.a2a.protocol': 'a2a',
      'legate.a2a.duration_ms': expect.any(Number) as unknown,
    },
  });
  // On every span, so that the traces of caller and responder can be joined.
  const joining = ['task_id', 'context_id', 'correlation_id', 'session_id'];
  for (const name of ['invoke', 'input_required_loop', 'input_required_round']) {
    const attributes = Object.keys(named(name)[0]?.attributes ?? {});
    expect(attributes).toEqual(expect.arrayContaining(joining.map((each) => `legate.a2a.${each}`)));
  }
  expect(named('input_required_loop')).toHaveLength(1);
  expect(named('input_required_round')[0]?.attributes).toMatchObject({
    'legate.a2a.round': 1,
    'legate.a2a.autonomous': true,
  });
  const total = (name: string): number =>
    counts.filter((count) => count.name === name).reduce((sum, { value }) => sum + value, 0);
  expect(total('legate.a2a.requests')).toBe(1);
  expect(total('legate.a2a.failures')).toBe(0);
  expect(total('legate.a2a.input_required_rounds')).toBe(1);
  expect(counts.find(({ name }) => name === 'legate.a2a.duration')?.attributes).toMatchObject({
    status: 'ok',
    latency_grade: 'fast',
  });
  expect(total('legate.messaging.publish.messages')).toBeGreaterThan(0);
  expect(total('legate.messaging.process.messages')).toBeGreaterThan(0);
  await network.close();
  await host.close();
  expect(total('legate.messaging.active_messages')).toBe(0);
});

test('the queues of one process have no series of their own', async () => {
  const { counts } = listen();
  await using bus = await openBus({ type: 'memory' });
  await using server = await gateway({ bus, agents: ['echo'], drainMs: 0 });
  await using _host = await hostOnBus(
    agent({ name: 'echo' }, async function* () {
      yield artifact('x');
    }),
    { bus },
  );
  await (await connect(server.url)).sendMessage('x');
  const queues = () => counts.map(({ attributes }) => String(attributes['legate.messaging.queue']));
  await eventually(queues).toContain('legate.discovery.gateway');
  expect(queues().filter((name) => /[0-9a-f]{12}$/.test(name))).toEqual([]);
});

test('no span waits for a person: the trace is whole while a question is open, and the answer has its own', async () => {
  const { spans } = listen();
  await using bus = await openBus({ type: 'memory' });
  await using host = await hostOnBus(
    agent({ name: 'asker' }, async function* (turn) {
      if (turn.isContinuation) yield artifact('done');
      else yield inputRequired('?');
    }),
    { bus },
  );
  await using network = await joinPeers({
    name: 'me',
    store: openMemory(),
    links: [busLink({ bus })],
    wellKnown: [{ name: host.name }],
  });
  const session = { id: 'c', caller: { tenant: '', subject: 'u', method: 'test' } };
  const request = { agent: 'asker', skill: 'asker', message: 'x' };
  const asking = await network.invoker.invokeAndWait(request, session);
  const calling = () => spans.filter(({ name }) => name.startsWith('legate.a2a.'));
  expect(calling().map(({ name, isEnded }) => [name, isEnded])).toEqual([
    ['legate.a2a.invoke', true],
    ['legate.a2a.input_required_loop', true],
    ['legate.a2a.input_required_round', true],
  ]);
  await network.invoker.answer(asking.id, 'yes');
  await network.invoker.wait(asking.id);
  const [, , , answering] = calling();
  expect(answering).toMatchObject({ name: 'legate.a2a.invoke', isEnded: true });
  expect(answering?.attributes['legate.a2a.duration_ms']).toEqual(expect.any(Number));
});

test('calls over HTTP are counted and spanned: streams by their events, polled tasks by the looks', async () => {
  const { spans, counts } = listen();
  const answering = (name: string) =>
    agent({ name }, async function* () {
      yield artifact('done');
    });
  await using streaming = await serve(answering('streaming'), { drainMs: 0 });
  await using polled = await serve(answering('polled'), { drainMs: 0, streaming: false });
  await using network = await joinPeers({
    name: 'me',
    store: openMemory(),
    wellKnown: [
      { name: 'streaming', url: streaming.url },
      { name: 'polled', url: polled.url },
      { name: 'nowhere', url: 'http://127.0.0.1:1' },
    ],
  });
  const session = { id: 'c', caller: { tenant: '', subject: 'u', method: 'test' } };
  for (const name of ['streaming', 'polled']) {
    await network.invoker.invokeAndWait({ agent: name, skill: name, message: 'x' }, session);
  }
  const lost = network.invoker.invokeAndWait(
    { agent: 'nowhere', skill: 'x', message: 'x' },
    session,
  );
  await expect(lost).rejects.toThrow();
  const named = (name: string) =>
    spans.filter((span) => span.name === `legate.a2a.${name}`).map((span) => span.attributes);
  const http = { 'legate.a2a.transport': 'http', 'legate.a2a.protocol': 'a2a' };
  expect(named('streaming_dispatch')).toMatchObject([
    { ...http, 'legate.a2a.a2a_version': '1.0', 'legate.a2a.target_agent': 'streaming' },
  ]);
  expect(named('streaming_dispatch')[0]?.['legate.a2a.total_events']).toBeGreaterThan(1);
  expect(named('http_dispatch')[0]).toMatchObject({ ...http, 'legate.a2a.target_agent': 'polled' });
  const about = (name: string) => counts.filter((count) => count.name === name);
  expect(about('legate.a2a.streaming_events').length).toBeGreaterThan(1);
  expect(about('legate.a2a.failures')).toMatchObject([
    { value: 1, attributes: { 'legate.a2a.target_agent': 'nowhere', end: 'error' } },
  ]);
  expect(about('legate.a2a.requests')).toHaveLength(3);
  // A model may name any skill of an agent whose card lists none.
  expect(
    about('legate.a2a.requests').map(({ attributes }) => attributes['legate.a2a.skill']),
  ).toEqual(['streaming', 'polled', 'other']);
  expect(named('invoke').map((attributes) => attributes['legate.a2a.skill'])).toEqual([
    'streaming',
    'polled',
    'x',
  ]);
});

/** An invoker that looks after tasks without waiting for seconds. */
function hastyInvoker(url: string, store: Store, name = 'me') {
  const client = { poll: { initialMs: 5, maximumMs: 20 } };
  return joinPeers({ name, store, wellKnown: [{ name: 'bob', url }], client });
}

test('a task that is polled is one span with the number of looks and the ids of both sides', async () => {
  const { spans, counts } = listen();
  const gate = Promise.withResolvers<void>();
  const slow = agent({ name: 'bob' }, async function* () {
    await gate.promise;
    yield artifact('done');
  });
  await using server = await serve(slow, { drainMs: 0, streaming: false });
  await using calling = await hastyInvoker(server.url, openMemory());
  const { invoker } = calling;
  const request = { agent: 'bob', skill: 'bob', message: 'x' };
  const { id } = await invoker.invoke(request, { id: 'c', caller }, { mode: 'wait' });
  const polls = (): number =>
    counts.filter(({ name }) => name === 'legate.a2a.polling_attempts').length;
  await eventually(polls).toBeGreaterThan(2);
  gate.resolve();
  const { outcome, remote } = await invoker.wait(id);
  expect(outcome?.text).toBe('done');
  const loop = (): Recorded | undefined =>
    spans.find(({ name }) => name === 'legate.a2a.poll_loop');
  await eventually(() => loop()?.isEnded).toBe(true);
  expect(loop()?.attributes).toMatchObject({
    'legate.a2a.total_polls': polls(),
    'legate.a2a.task_id': remote?.taskId,
    'legate.a2a.context_id': remote?.contextId,
    'legate.a2a.correlation_id': id,
    'legate.a2a.session_id': 'c',
    'legate.a2a.transport': 'http',
  });
  expect(remote?.taskId).not.toBe(id);
  const dispatch = spans.find(({ name }) => name === 'legate.a2a.http_dispatch');
  expect(dispatch?.attributes).toMatchObject({
    'legate.a2a.task_id': remote?.taskId,
    'legate.a2a.context_id': remote?.contextId,
  });
  // The server's turn is in the trace of the call.
  expect(dispatch?.traceId).toBe(spans.find(({ name }) => name === 'legate.a2a.invoke')?.traceId);
});

test('a task that another process started is followed in a span of its own, and counted', async () => {
  const { spans, counts } = listen();
  const gate = Promise.withResolvers<void>();
  const slow = agent({ name: 'bob' }, async function* () {
    await gate.promise;
    yield artifact('done');
  });
  await using server = await serve(slow, { drainMs: 0 });
  const store = openMemory();
  let id = '';
  {
    await using first = await hastyInvoker(server.url, store);
    const request = { agent: 'bob', skill: 'bob', message: 'x' };
    ({ id } = await first.invoker.invoke(request, { id: 'c', caller }));
    await eventually(async () => (await first.invoker.find(id))?.remote?.taskId).toBeDefined();
  }
  await using second = await hastyInvoker(server.url, store);
  gate.resolve();
  const { outcome, remote } = await second.invoker.wait(id);
  expect(outcome?.text).toBe('done');
  const followed = spans.find(({ name }) => name === 'legate.a2a.subscribe_loop');
  await eventually(() => followed?.isEnded).toBe(true);
  expect(followed?.attributes).toMatchObject({
    'legate.a2a.task_id': remote?.taskId,
    'legate.a2a.context_id': remote?.contextId,
    'legate.a2a.correlation_id': id,
    'legate.a2a.session_id': 'c',
  });
  const fallbacks = counts.filter(({ name }) => name === 'legate.a2a.subscribe_fallbacks');
  expect(fallbacks).toHaveLength(1);
});

test('an exchange that goes nowhere is counted with its reason', async () => {
  const { counts } = listen();
  await using bus = await openBus({ type: 'memory' });
  let asked = 0;
  await using host = await hostOnBus(
    agent({ name: 'asker', skills: ['parrot', 'endless'] }, async function* (turn) {
      asked += 1;
      const isParrot = JSON.stringify(turn.message.metadata).includes('parrot');
      yield inputRequired(isParrot ? 'Which?' : `Which, for the ${asked}th time?`);
    }),
    { bus },
  );
  await using network = await joinPeers({
    name: 'me',
    store: openMemory(),
    links: [busLink({ bus })],
    wellKnown: [{ name: host.name }],
    conversations: { answer: async () => 'this' },
  });
  const skills = ['parrot', 'endless'];
  await network.trust.grant(peerSubject('asker'), { level: 'act', skills, by: 'user' });
  const session = { id: 'c', caller: { tenant: '', subject: 'u', method: 'test' } };
  for (const skill of skills) {
    await network.invoker.invokeAndWait({ agent: 'asker', skill, message: 'x' }, session);
  }
  const breaks = counts.filter(({ name }) => name === 'legate.a2a.input_required_breaks');
  expect(breaks.map(({ attributes }) => attributes['reason'])).toEqual([
    'repetition',
    'max_rounds',
  ]);
});

test('the names of the metrics of messages and calls are those that dashboards know', () => {
  const names = Object.keys(metricTable).filter((name) => /^legate\.(a2a|messaging)\./.test(name));
  expect(names.toSorted()).toEqual([
    'legate.a2a.duration',
    'legate.a2a.failures',
    'legate.a2a.input_required_breaks',
    'legate.a2a.input_required_rounds',
    'legate.a2a.polling_attempts',
    'legate.a2a.requests',
    'legate.a2a.streaming_events',
    'legate.a2a.subscribe_fallbacks',
    'legate.messaging.active_messages',
    'legate.messaging.connected',
    'legate.messaging.dlq.depth',
    'legate.messaging.process.duration',
    'legate.messaging.process.messages',
    'legate.messaging.publish.duration',
    'legate.messaging.publish.messages',
  ]);
});

test('the depth of dead letters can be watched', async () => {
  const { read } = listen();
  await using bus = await openBus({ type: 'memory' });
  await using host = await hostOnBus(
    agent({ name: 'echo' }, async function* () {}),
    { bus },
  );
  await bus.publish('agent.task.echo', { type: 'task', body: 'poison' });
  await eventually(() => read('legate.messaging.dlq.depth')).toEqual([
    [1, { 'legate.messaging.queue': 'legate.task.echo' }],
  ]);
  // A bus that is closed is not asked any more.
  await host.close();
  await bus.close();
  expect(await read('legate.messaging.dlq.depth')).toEqual([]);
});

test('a broker that is away keeps no other metrics waiting', async () => {
  const { read } = listen();
  await using bus = new BrokerBus(silent(new MemoryBroker()));
  await using _host = await hostOnBus(
    agent({ name: 'echo' }, async function* () {}),
    { bus },
  );
  expect(await read('legate.messaging.dlq.depth')).toEqual([]);
});

/** The broker, except that it never answers for queues that keep dead letters. */
function silent(broker: Broker): Broker {
  return new Proxy(broker, {
    get(target, key) {
      if (key === 'inspect') {
        return (name: string) =>
          name.startsWith('legate.task.') ? new Promise(() => {}) : target.inspect(name);
      }
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

test('message types of foreign senders add no metric series', async () => {
  const { counts } = listen();
  await using bus = await openBus({ type: 'memory' });
  let taken = 0;
  await bus.consume({ name: 'queue', topics: ['topic'] }, async () => {
    taken += 1;
    return done;
  });
  for (const type of ['made-up-1', 'made-up-2'] as unknown as MessageType[]) {
    await bus.publish('topic', { type, body: '{}' });
  }
  await eventually(() => taken).toBe(2);
  const processed = (): unknown[] =>
    counts
      .filter(({ name }) => name === 'legate.messaging.process.messages')
      .map(({ attributes }) => attributes['legate.messaging.type']);
  await eventually(processed).toEqual(['other', 'other']);
});
