import { createServer } from 'node:http';
import {
  type AddressInfo,
  connect as connectTcp,
  createServer as createTcpServer,
  type Socket,
} from 'node:net';
import { assert, describe, expect, test } from 'vitest';
import {
  agent,
  type Agent,
  authRequired,
  type Caller,
  chunk,
  inputRequired,
  llmAgent,
  textOf,
  working,
  ToolPause,
} from '../../agents/index.ts';
import { connect } from '../../client/index.ts';
import { serveGrpc } from '../../grpc/index.ts';
import { router, serve, type ServeOptions, type Serving } from '../../http/index.ts';
import { scriptedModel } from '../../models/index.ts';
import {
  askingUsers,
  engineConversations,
  joinPeers,
  type PeerNetwork,
  type PeerNetworkOptions,
  peerSubject,
} from '../../peers/index.ts';
import { artifact, data, file, message, type Task, text } from '../../protocol/index.ts';
import { generateSigningKey, publicKeySet } from '../../push/index.ts';
import { openMemory, type Store } from '../../store/index.ts';
import { Engine, systemScheduler } from '../../tasks/index.ts';
import { runTool, toolContext, toolOf } from '../../peers/testing.contract.ts';
import { busTest, type BusTest, nameOf, eventually } from '../testing.contract.ts';
import { hostOnBus } from '../host/host.ts';
import { MessageSigner } from '../identity/signer.ts';
import { MessageVerifier } from '../identity/verifier.ts';
import type { Bus } from '../transport/bus.ts';
import { topics } from '../transport/topics.ts';
import { replyName, busLink } from './bus-link.ts';

const caller: Caller = { tenant: '', subject: 'user', method: 'test' };
const session = { id: 'c1', caller };

interface Way {
  /** Puts an agent where a network can call it. */
  offer(made: Agent, options?: ServeOptions): Promise<Pick<PeerNetworkOptions, 'wellKnown'>>;
  bus(): Promise<Bus>;
  after: BusTest['after'];
}

/** The address of a card that offers gRPC alone. */
async function overGrpc({ router }: Serving, buses: BusTest): Promise<string> {
  const door = await serveGrpc(router);
  buses.after(() => door.close());
  const { current } = router.cards;
  const supportedInterfaces = current.supportedInterfaces.filter(
    ({ protocolBinding }) => protocolBinding === 'GRPC',
  );
  const card = JSON.stringify({ ...current, supportedInterfaces });
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'application/json').end(card);
  });
  await new Promise<void>((resolve) => void server.listen(0, 'localhost', resolve));
  buses.after(async () => {
    server.closeAllConnections();
    server.close();
  });
  return `http://localhost:${(server.address() as AddressInfo).port}`;
}

/** The same behaviour over the bus, over HTTP and over gRPC. */
function describeWays(title: string, body: (way: Way) => void): void {
  for (const kind of ['memory', 'rabbitmq', 'http', 'grpc'] as const) {
    describe(`${title} (${kind})`, () => {
      const buses = busTest(kind === 'rabbitmq' ? 'rabbitmq' : 'memory');
      let bus: Promise<Bus> | undefined;
      const open = (): Promise<Bus> => {
        bus ??= buses.open().then((opened) => {
          buses.after(async () => {
            bus = undefined;
          });
          return opened;
        });
        return bus;
      };
      body({
        after: (cleanup) => buses.after(cleanup),
        bus: open,
        async offer(made, options = {}) {
          if (kind === 'http' || kind === 'grpc') {
            const server = await serve(made, { cancelGraceMs: 50, drainMs: 0, ...options });
            buses.after(() => server.close());
            const url = kind === 'http' ? server.url : await overGrpc(server, buses);
            return { wellKnown: [{ name: made.name, url }] };
          }
          const host = await hostOnBus(made, { bus: await open(), cancelGraceMs: 50 });
          buses.after(() => host.close());
          return { wellKnown: [{ name: made.name }] };
        },
      });
    });
  }
}

describeWays('calling a peer', (way) => {
  async function join(options: Partial<PeerNetworkOptions> = {}): Promise<PeerNetwork> {
    const store = options.store ?? openMemory();
    const network = await joinPeers({
      name: nameOf('me'),
      store,
      links: [busLink({ bus: await way.bus() })],
      ...options,
    });
    way.after(() => network.close());
    return network;
  }

  test('words, data and files go there and come back', async () => {
    const name = nameOf('echo');
    const made = agent({ name, inputModes: ['*/*'], outputModes: ['*/*'] }, async function* (turn) {
      yield working('half way');
      yield { ...artifact(turn.message.parts), artifactId: 'a', name: 'copy' };
    });
    const { invoker, memory } = await join(await way.offer(made));
    const parts = [
      text('words'),
      data({ deep: [{ x: null }] }),
      file({ bytes: new Uint8Array([1, 2]), filename: 'a.bin', mediaType: 'image/png' }),
      file({ url: 'https://example.com/a.csv' }),
    ];
    const progress: string[] = [];
    const done = await invoker.invokeAndWait(
      { agent: name, skill: name, message: parts },
      session,
      {
        onProgress: (said) => void progress.push(said),
      },
    );
    expect(done.outcome).toMatchObject({
      end: 'TASK_STATE_COMPLETED',
      data: [{ deep: [{ x: null }] }],
    });
    expect(progress).toEqual(['half way']);
    const kept = await memory(caller).get(done.outcome?.keys?.artifacts ?? '');
    expect(JSON.parse(kept?.value ?? '')).toEqual([{ artifactId: 'a', name: 'copy', parts }]);
  });

  test('a question is answered in the same task and context, by a message of its own', async () => {
    const name = nameOf('asker');
    const seen: { messageId: string; taskId: string; contextId: string; skill: unknown }[] = [];
    const made = agent({ name }, async function* (turn) {
      const { messageId, metadata } = turn.message;
      const { taskId, contextId } = turn;
      seen.push({ messageId, taskId, contextId, skill: metadata?.skill });
      if (seen.length < 3) yield inputRequired(`question ${seen.length}`);
      else yield artifact('done');
    });
    const { invoker } = await join(await way.offer(made));
    let current = await invoker.invokeAndWait({ agent: name, skill: name, message: 'go' }, session);
    for (const answer of ['one', 'two']) {
      expect(current.state).toBe('asking');
      await invoker.answer(current.id, answer);
      current = await invoker.wait(current.id);
    }
    expect(current.outcome).toMatchObject({ end: 'TASK_STATE_COMPLETED', text: 'done' });
    expect(new Set(seen.map(({ taskId }) => taskId)).size).toBe(1);
    expect(new Set(seen.map(({ contextId }) => contextId)).size).toBe(1);
    expect(new Set(seen.map(({ messageId }) => messageId)).size).toBe(3);
    expect(seen.every(({ skill }) => skill === name)).toBe(true);
  });

  test('a peer that needs authorization asks the user, who answers in the same task', async () => {
    const name = nameOf('vault');
    const made = agent({ name }, async function* (turn) {
      if (turn.isContinuation) yield artifact(`opened with ${textOf(turn.message)}`);
      else yield authRequired('log in first');
    });
    const { invoker } = await join(await way.offer(made));
    const request = { agent: name, skill: name, message: 'open', timeoutMs: 5_000 };
    const asked = await invoker.invokeAndWait(request, session);
    expect(asked).toMatchObject({
      state: 'asking',
      question: { text: 'log in first', needsAuthorization: true, answerer: 'user' },
    });
    await invoker.answer(asked.id, 'the key');
    const { outcome } = await invoker.wait(asked.id);
    expect(outcome).toMatchObject({ end: 'TASK_STATE_COMPLETED', text: 'opened with the key' });
  });

  test('a loop of the same question and answer is broken, and the peer is told to stop', async () => {
    const name = nameOf('parrot');
    const store = openMemory();
    let turns = 0;
    const made = agent({ name }, async function* () {
      turns += 1;
      yield inputRequired('Which day?');
    });
    const notices: string[] = [];
    const { invoker, trust } = await join({
      ...(await way.offer(made, { store })),
      conversations: {
        answer: async () => 'Tuesday',
        ended: async (_invocation, { text: said }) => void notices.push(said),
      },
    });
    await trust.grant(peerSubject(name), { level: 'act', skills: [name], by: 'user' });
    await invoker.invoke({ agent: name, skill: name, message: 'go' }, session);
    await eventually(() => notices[0], { timeout: 5_000 }).toMatch(/stuck in a loop/);
    expect(turns).toBe(3);
  });

  test('a peer may ask twenty times and no more, and is told to stop', async () => {
    const name = nameOf('curious');
    let turns = 0;
    let isAbandoned = false;
    const made: Agent = {
      ...agent({ name }, async function* () {
        turns += 1;
        yield inputRequired(`Question ${turns}?`);
      }),
      async abandon() {
        isAbandoned = true;
        return undefined;
      },
    };
    const notices: string[] = [];
    const { invoker, trust } = await join({
      ...(await way.offer(made)),
      conversations: {
        answer: async (_invocation, { text: asked }) => `An answer to ${asked}`,
        ended: async (_invocation, { text: said }) => void notices.push(said),
      },
    });
    await trust.grant(peerSubject(name), { level: 'act', skills: [name], by: 'user' });
    await invoker.invoke({ agent: name, skill: name, message: 'go' }, session);
    await eventually(() => notices[0], { timeout: 20_000 }).toMatch(/max rounds exceeded/);
    // The first message, and the answers to twenty questions.
    expect(turns).toBe(21);
    await eventually(() => isAbandoned).toBe(true);
  });

  test('a peer that takes too long is cancelled, with all that it started', async () => {
    const name = nameOf('sleeper');
    let isAborted = false;
    const made = agent({ name }, async function* (turn) {
      yield working('sleeping');
      await new Promise<void>((resolve) => {
        turn.signal.addEventListener('abort', () => resolve(), { once: true });
      });
      isAborted = true;
    });
    const { invoker } = await join(await way.offer(made));
    const ended = await invoker.invokeAndWait(
      { agent: name, skill: name, message: 'x', timeoutMs: 300 },
      session,
    );
    expect(ended.outcome?.end).toBe('timed-out');
    await eventually(() => isAborted).toBe(true);
  });

  test('cancelling goes from agent to agent', async () => {
    const name = nameOf('sleeper');
    const middle = nameOf('middle');
    const stopped: string[] = [];
    const sleeper = agent({ name }, async function* (turn) {
      yield working('sleeping');
      await new Promise<void>((resolve) => {
        turn.signal.addEventListener('abort', () => resolve(), { once: true });
      });
      stopped.push(name);
    });
    const network = await join(await way.offer(sleeper));
    const delegate = agent({ name: middle }, async function* (turn) {
      yield working('delegating');
      const { contextId: id } = turn;
      const request = { agent: name, skill: name, message: 'x' };
      const { signal } = turn;
      const { outcome } = await network.invoker.invokeAndWait(
        request,
        { id, caller: turn.caller },
        { signal },
      );
      yield artifact(outcome?.text ?? '');
    });
    const outer = await join(await way.offer(delegate));
    const controller = new AbortController();
    const called = outer.invoker.invokeAndWait(
      { agent: middle, skill: middle, message: 'x' },
      session,
      {
        signal: controller.signal,
      },
    );
    await eventually(async () => (await network.invoker.list()).length).toBe(1);
    await eventually(async () => (await network.invoker.list())[0]?.remote?.taskId).not.toBe(
      undefined,
    );
    controller.abort();
    await expect(called).rejects.toThrow();
    await eventually(() => stopped, { timeout: 5_000 }).toEqual([name]);
  });

  test('what ends otherwise is told as such', async () => {
    const name = nameOf('thrower');
    const made = agent({ name }, async function* (turn) {
      yield working();
      if (textOf(turn.message) === 'throw') throw new Error('broken');
      yield { kind: 'rejected', parts: [{ text: 'never' }] };
    });
    const { invoker } = await join(await way.offer(made));
    const request = { agent: name, skill: name };
    const failed = await invoker.invokeAndWait({ ...request, message: 'throw' }, session);
    expect(failed.outcome?.end).toBe('TASK_STATE_FAILED');
    const rejected = await invoker.invokeAndWait({ ...request, message: 'x' }, session);
    expect(rejected.outcome).toMatchObject({ end: 'TASK_STATE_REJECTED', text: 'never' });
  });

  test('a task that outlives its caller is joined when the caller is back', async () => {
    const name = nameOf('slow');
    const gate = Promise.withResolvers<void>();
    let turns = 0;
    const made = agent({ name }, async function* () {
      turns += 1;
      yield working('started');
      await gate.promise;
      yield artifact('worth waiting for');
    });
    const offered = await way.offer(made);
    const store = openMemory();
    const self = nameOf('me');
    const bus = await way.bus();
    const first = await joinPeers({ name: self, store, links: [busLink({ bus })], ...offered });
    const { id } = await first.invoker.invoke({ agent: name, skill: name, message: 'x' }, session);
    await eventually(async () => (await first.invoker.find(id))?.remote?.taskId).toBeDefined();
    await first.close();
    const notices: string[] = [];
    const second = await join({
      ...offered,
      name: self,
      store,
      conversations: { ended: async (_invocation, { text: said }) => void notices.push(said) },
    });
    gate.resolve();
    await eventually(() => notices.length, { timeout: 5_000 }).toBe(1);
    const { outcome } = (await second.invoker.find(id)) ?? {};
    expect(outcome).toMatchObject({ end: 'TASK_STATE_COMPLETED', text: 'worth waiting for' });
    expect(turns).toBe(1);
  });
});

describe('calling a peer over gRPC', () => {
  const buses = busTest('memory');

  test('all calls share one connection, which closes with the network', async () => {
    const made = agent({ name: 'echo' }, async function* (turn) {
      yield artifact(textOf(turn.message));
    });
    const server = await serve(made, { drainMs: 0 });
    buses.after(() => server.close());
    const door = await serveGrpc(server.router);
    buses.after(() => door.close());
    const { port } = new URL(`http://${door.url}`);
    const sockets = new Set<Socket>();
    let count = 0;
    const proxy = createTcpServer((socket) => {
      count += 1;
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
      const onward = connectTcp(Number(port), 'localhost');
      socket.on('error', () => onward.destroy());
      onward.on('error', () => socket.destroy());
      socket.pipe(onward).pipe(socket);
    });
    await new Promise<void>((resolve) => void proxy.listen(0, '127.0.0.1', resolve));
    buses.after(async () => {
      for (const socket of sockets) socket.destroy();
      proxy.close();
    });
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const card = {
      ...server.router.cards.current,
      supportedInterfaces: [{ url, protocolBinding: 'GRPC', protocolVersion: '1.0' }],
    };
    const network = await joinPeers({
      name: 'me',
      store: openMemory(),
      wellKnown: [{ name: 'echo', card }],
    });
    const call = (words: string) =>
      network.invoker.invokeAndWait({ agent: 'echo', skill: 'echo', message: words }, session);
    const done = await Promise.all(['one', 'two', 'three'].map(call));
    done.push(await call('four'));
    expect(done.map(({ outcome }) => outcome?.text)).toEqual(['one', 'two', 'three', 'four']);
    expect(count).toBe(1);
    await network.close();
    await eventually(() => sockets.size).toBe(0);
  });
});

describe('calling a peer over HTTP', () => {
  const buses = busTest('memory');

  async function join(wellKnown: PeerNetworkOptions['wellKnown']): Promise<PeerNetwork> {
    const network = await joinPeers({
      name: 'me',
      store: openMemory(),
      ...(wellKnown !== undefined && { wellKnown }),
    });
    buses.after(() => network.close());
    return network;
  }

  test('a stream that breaks is resumed, and the message is not sent twice', async () => {
    let turns = 0;
    const gate = Promise.withResolvers<void>();
    const made = agent({ name: 'streamer' }, async function* () {
      turns += 1;
      yield chunk('a', 'one ');
      await gate.promise;
      yield chunk('a', 'two', { append: true, last: true });
    });
    const routed = await router(made, {});
    buses.after(() => routed.close());
    let isCut = false;
    const server = createServer((request, response) => {
      const write = response.write.bind(response);
      // Cuts the first stream once something of the artifact has gone out.
      response.write = ((piece: string) => {
        const written = write(piece);
        if (!isCut && piece.includes('artifactUpdate')) {
          isCut = true;
          setImmediate(() => {
            response.socket?.destroy();
            gate.resolve();
          });
        }
        return written;
      }) as typeof response.write;
      routed.handler(request, response);
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    buses.after(async () => {
      server.closeAllConnections();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    const { invoker } = await join([{ name: 'streamer', url: `http://127.0.0.1:${port}` }]);
    const called = invoker.invokeAndWait(
      { agent: 'streamer', skill: 'streamer', message: 'x' },
      session,
    );
    expect((await called).outcome).toMatchObject({ end: 'TASK_STATE_COMPLETED' });
    expect((await called).outcome?.text.replaceAll('\n', '')).toBe('one two');
    expect(isCut).toBe(true);
    expect(turns).toBe(1);
  });

  test('a peer without streams is polled by its own id of the task', async () => {
    const gate = Promise.withResolvers<void>();
    const made = agent({ name: 'poller' }, async function* () {
      yield working();
      await gate.promise;
      yield artifact('at last');
    });
    const server = await serve(made, { streaming: false, drainMs: 0 });
    buses.after(() => server.close());
    const { invoker } = await join([{ name: 'poller', url: server.url }]);
    const called = invoker.invokeAndWait(
      { agent: 'poller', skill: 'poller', message: 'x' },
      session,
    );
    gate.resolve();
    expect((await called).outcome).toMatchObject({ end: 'TASK_STATE_COMPLETED', text: 'at last' });
  });

  test('a task that is abandoned before the peer has named it is cancelled there too', async () => {
    let isAborted = false;
    const made = agent({ name: 'mute' }, async function* (turn) {
      yield working();
      await new Promise<void>((resolve) => {
        turn.signal.addEventListener('abort', () => resolve(), { once: true });
      });
      isAborted = true;
    });
    const routed = await router(made, { cancelGraceMs: 50 });
    buses.after(() => routed.close());
    // What the peer answers to a message is held back, as a proxy does that gathers answers.
    const open = Promise.withResolvers<void>();
    let held = 0;
    const server = createServer((request, response) => {
      if (request.method === 'POST' && held === 0) {
        held += 1;
        const write = response.write.bind(response);
        response.write = ((piece: string) => {
          void open.promise.then(() => write(piece));
          return true;
        }) as typeof response.write;
      }
      routed.handler(request, response);
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    buses.after(async () => {
      server.closeAllConnections();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    const { invoker } = await join([{ name: 'mute', url: `http://127.0.0.1:${port}` }]);
    const request = { agent: 'mute', skill: 'mute', message: 'x', timeoutMs: 800 };
    expect((await invoker.invokeAndWait(request, session)).outcome?.end).toBe('timed-out');
    expect(held).toBe(1);
    expect(isAborted).toBe(false);
    open.resolve();
    await eventually(() => isAborted).toBe(true);
  });

  test('a follow-up that a peer without streams never answers is abandoned in time', async () => {
    let isAborted = false;
    const made = agent({ name: 'staller' }, async function* (turn) {
      if (!turn.isContinuation) yield inputRequired('Which?');
      else {
        await new Promise<void>((resolve) => {
          turn.signal.addEventListener('abort', () => resolve(), { once: true });
        });
        isAborted = true;
      }
    });
    const server = await serve(made, { streaming: false, drainMs: 0, cancelGraceMs: 50 });
    buses.after(() => server.close());
    const network = await joinPeers({
      name: 'me',
      store: openMemory(),
      wellKnown: [{ name: 'staller', url: server.url }],
      client: { poll: { initialMs: 5, maximumMs: 20 } },
    });
    buses.after(() => network.close());
    const { invoker } = network;
    const request = { agent: 'staller', skill: 'staller', message: 'x', timeoutMs: 3_000 };
    const asked = await invoker.invokeAndWait(request, session);
    expect(asked.state).toBe('asking');
    // The answer is under way for as long as the peer thinks about it.
    const answered = invoker.answer(asked.id, 'this one').catch(() => undefined);
    await eventually(async () => (await invoker.find(asked.id))?.state).toBe('sending');
    expect((await invoker.wait(asked.id)).outcome?.end).toBe('timed-out');
    await eventually(() => isAborted).toBe(true);
    await answered;
  });

  test('credentials go to the peer and nowhere else', async () => {
    const seen: (string | undefined)[] = [];
    const made = agent({ name: 'keyed' }, async function* () {
      yield artifact('ok');
    });
    const routed = await router(made, {});
    buses.after(() => routed.close());
    const server = createServer((request, response) => {
      if (request.method === 'POST') seen.push(request.headers['x-api-key'] as string | undefined);
      routed.handler(request, response);
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    buses.after(async () => {
      server.closeAllConnections();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    const credential = { headerName: 'X-Api-Key', headerValue: 'secret' };
    const { invoker } = await join([
      { name: 'keyed', url: `http://127.0.0.1:${port}`, credential },
    ]);
    await invoker.invokeAndWait({ agent: 'keyed', skill: 'keyed', message: 'x' }, session);
    expect(seen).toEqual(['secret']);
  });

  test('a plain agent at /tasks/send is called, asked back and answered', async () => {
    const bodies: Record<string, unknown>[] = [];
    const server = createServer((request, response) => {
      void (async () => {
        let body = '';
        for await (const piece of request) body += String(piece);
        response.setHeader('content-type', 'application/json');
        if (request.url === '/.well-known/agent.json') {
          response.end(JSON.stringify({ agentName: 'Sample', skills: [{ id: 'echo' }] }));
        } else if (request.url === '/tasks/send') {
          bodies.push(JSON.parse(body) as Record<string, unknown>);
          const { taskId, contextId } = bodies.at(-1) as { taskId: string; contextId: string };
          const parts = [
            { kind: 'text', text: `answer ${bodies.length}` },
            { kind: 'data', data: '{"n":1}', mimeType: 'application/json' },
          ];
          const state = bodies.length === 1 ? 2 : 'Completed';
          response.end(
            JSON.stringify({ taskId, contextId, state, message: { role: 'agent', parts } }),
          );
        } else response.writeHead(404).end();
      })();
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    buses.after(async () => void server.close());
    const { port } = server.address() as AddressInfo;
    const { invoker } = await join([{ name: 'Sample', url: `http://127.0.0.1:${port}` }]);
    const asked = await invoker.invokeAndWait(
      { agent: 'Sample', skill: 'echo', message: 'hi', data: { a: 1 }, metadata: { n: 3 } },
      session,
    );
    expect(asked).toMatchObject({ state: 'asking', question: { text: 'answer 1' } });
    await invoker.answer(asked.id, 'more');
    const done = await invoker.wait(asked.id);
    expect(done.outcome).toMatchObject({
      end: 'TASK_STATE_COMPLETED',
      text: 'answer 2',
      data: [{ n: 1 }],
    });
    expect(bodies[0]).toMatchObject({
      taskId: asked.id,
      skill: 'echo',
      metadata: { n: '3' },
      message: {
        role: 'user',
        parts: [
          { kind: 'text', text: 'hi' },
          { kind: 'data', data: '{"a":1}', mimeType: 'application/json' },
        ],
      },
    });
    expect(bodies[1]).toMatchObject({ taskId: asked.id, contextId: asked.id });
  });
});

describe('peers on the bus', () => {
  const buses = busTest('memory');

  test('agents that announce themselves are found, called, and forgotten when they go', async () => {
    const bus = await buses.open();
    await using network = await joinPeers({
      name: 'me',
      store: openMemory(),
      links: [busLink({ bus })],
    });
    const host = await hostOnBus(
      agent({ name: 'newcomer', description: 'Paints houses' }, async function* () {
        yield artifact('painted');
      }),
      { bus },
    );
    await eventually(async () => (await network.directory.list()).length).toBe(1);
    const [found] = await network.directory.search('paint my house');
    expect(found).toMatchObject({ id: 'newcomer', type: 'a2a' });
    const called = await network.invoker.invokeAndWait(
      { agent: 'newcomer', skill: 'newcomer', message: 'x' },
      session,
    );
    expect(called.outcome?.text).toBe('painted');
    await host.close();
    await eventually(async () => (await network.directory.list()).length).toBe(0);
  });

  test('an agent that is known but was never started is an error, and not lost', async () => {
    const bus = await buses.open();
    const wellKnown = [{ name: 'never' }];
    await using network = await joinPeers({
      name: 'me',
      store: openMemory(),
      links: [busLink({ bus })],
      wellKnown,
    });
    const request = { agent: 'never', skill: 'x', message: 'x' };
    await expect(network.invoker.invoke(request, session)).rejects.toThrow(/no queue is bound/);
    const reason = expect.stringContaining('no queue is bound') as unknown;
    expect(await network.call(request, session)).toMatchObject({ state: 'failed', reason });
    expect(await network.invoker.list()).toEqual([]);
  });

  test.each([
    ['where signatures are required', true],
    ['where they are not, but the peer has keys', false],
  ])('forged answers of a peer that signs are not believed, %s', async (_where, requireSigned) => {
    const bus = await buses.open();
    const [mine, theirs] = [generateSigningKey(), generateSigningKey()];
    const trusted = [
      { issuer: 'me', keys: publicKeySet([mine]) },
      { issuer: 'bob', keys: publicKeySet([theirs]) },
    ];
    const verifier = new MessageVerifier({ trusted });
    const gate = Promise.withResolvers<void>();
    await using host = await hostOnBus(
      agent({ name: 'bob' }, async function* (turn) {
        yield working('on it');
        await gate.promise;
        yield artifact(`for ${turn.caller.subject}`);
      }),
      { bus, verifier, signer: new MessageSigner({ issuer: 'bob', key: theirs }) },
    );
    const store = openMemory();
    const signer = new MessageSigner({ issuer: 'me', key: mine });
    await using network = await joinPeers({
      name: 'me',
      store,
      links: [busLink({ bus, verifier, requireSigned, signer })],
      wellKnown: [{ name: host.name }],
    });
    const { invoker } = network;
    const { id } = await invoker.invoke({ agent: 'bob', skill: 'bob', message: 'x' }, session, {
      mode: 'wait',
    });
    const task: Task = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_COMPLETED' } };
    const body = JSON.stringify({ task });
    const own = await replyName('me', store.records, systemScheduler);
    await bus.publish(topics.response(own), {
      type: 'result',
      body,
      correlationId: id,
      headers: { from: 'bob' },
    });
    gate.resolve();
    const { outcome } = await invoker.wait(id);
    expect(outcome).toMatchObject({ end: 'TASK_STATE_COMPLETED', text: 'for me' });
    expect(await bus.deadLetters(`legate.response.${own}`)).toHaveLength(requireSigned ? 1 : 0);
  });
});

describe('an agent that calls others, as its user sees it', () => {
  const buses = busTest('memory');

  /** An agent with a model, served over HTTP, whose peers are on the bus. */
  async function start(options: {
    model: ReturnType<typeof scriptedModel>;
    mode: 'dispatch' | 'wait';
    peer: Agent;
  }) {
    const bus = await buses.open();
    const store: Store = openMemory();
    const host = await hostOnBus(options.peer, { bus });
    buses.after(() => host.close());
    let engine: Engine | undefined;
    const network = await joinPeers({
      name: 'assistant',
      store,
      links: [busLink({ bus })],
      wellKnown: [{ name: host.name }],
      conversations: engineConversations({
        engine: () => {
          if (engine === undefined) throw new Error('not yet');
          return engine;
        },
      }),
    });
    buses.after(() => network.close());
    const thinking = llmAgent({
      name: 'assistant',
      model: options.model,
      tools: network.tools({ mode: options.mode }),
    });
    const server = await serve(
      askingUsers(thinking, () => network.invoker),
      { store, drainMs: 0 },
    );
    buses.after(() => server.close());
    ({ engine } = server.router);
    return { client: await connect(server.url), network, host };
  }

  const calls = (message: string) => ({
    toolCalls: [{ name: 'invoke_agent', input: { agent_name: 'bob', skill: 'bob', message } }],
  });

  test('waiting, the user sees progress and result, and really answers what the peer asks', async () => {
    const peer = agent({ name: 'bob' }, async function* (turn) {
      yield working('bob is looking');
      if (!turn.isContinuation) yield inputRequired('Which city?');
      else yield artifact(`Sunny in ${textOf(turn.message)}`);
    });
    const model = scriptedModel([calls('weather?'), { text: 'It is sunny.' }]);
    const { client } = await start({ model, mode: 'wait', peer });
    const progress: string[] = [];
    for await (const { response } of client.sendStreamingMessage('How is the weather?')) {
      if ('statusUpdate' in response) {
        const said = response.statusUpdate.status.message?.parts.map((part) => part.text).join('');
        if (said !== undefined) progress.push(said);
      }
    }
    expect(progress.join('|')).toContain('bob is looking');
    expect(progress.at(-1)).toBe('Which city?');
    const { tasks } = await client.listTasks();
    const [asked] = tasks;
    const answer = await client.sendAndWait({
      message: {
        messageId: crypto.randomUUID(),
        role: 'ROLE_USER',
        parts: [text('Oslo')],
        taskId: asked?.id ?? '',
      },
    });
    expect('task' in answer && answer.task.status.state).toBe('TASK_STATE_COMPLETED');
    expect(JSON.stringify(model.requests.at(-1))).toContain('Sunny in Oslo');
  });

  test('waiting, a turn that runs again after a crash sends the answer of its user once', async () => {
    const answers: string[] = [];
    const peer = agent({ name: 'bob' }, async function* (turn) {
      if (!turn.isContinuation) yield inputRequired('Which city?');
      else {
        answers.push(textOf(turn.message));
        yield artifact('Sunny');
      }
    });
    const { network } = await start({ model: scriptedModel([]), mode: 'wait', peer });
    const tools = network.tools({ mode: 'wait' });
    const input = { agent_name: 'bob', skill: 'bob', message: 'weather?' };
    const pause = await runTool(tools, 'invoke_agent', input);
    assert(pause instanceof ToolPause);
    const answer = { message: message('Oslo'), state: pause.state };
    const context = toolContext();
    const resume = () => toolOf(tools, 'invoke_agent').resume?.(answer, context);
    expect(await resume()).toMatchObject({ state: 'completed', result: 'Sunny' });
    expect(await resume()).toMatchObject({ state: 'completed', result: 'Sunny' });
    expect(answers).toEqual(['Oslo']);
  });

  test('dispatching, the result comes into the conversation as a turn that names its key', async () => {
    const peer = agent({ name: 'bob' }, async function* () {
      yield artifact('42');
    });
    const model = scriptedModel([
      calls('the answer?'),
      { text: 'I asked bob.' },
      { text: 'Bob says 42.' },
    ]);
    const { client } = await start({ model, mode: 'dispatch', peer });
    const sent = await client.sendMessage('What is the answer?');
    const contextId = 'task' in sent ? sent.task.contextId : '';
    await eventually(
      async () => (await client.listTasks({ contextId, status: 'TASK_STATE_COMPLETED' })).totalSize,
    ).toBe(2);
    const prompt = JSON.stringify(model.requests.at(-1));
    expect(prompt).toMatch(/\[Agent 'bob' completed task/);
    expect(prompt).toContain(`session/${contextId}/a2a/bob/`);
  });

  test('dispatching, a question of the peer is a task that waits for the user', async () => {
    const peer = agent({ name: 'bob' }, async function* (turn) {
      if (!turn.isContinuation) yield inputRequired('Which city?');
      else yield artifact(`Sunny in ${textOf(turn.message)}`);
    });
    const model = scriptedModel([calls('weather?'), { text: 'I asked bob.' }, { text: 'Sunny.' }]);
    const { client, network } = await start({ model, mode: 'dispatch', peer });
    const sent = await client.sendMessage('Weather?');
    const contextId = 'task' in sent ? sent.task.contextId : '';
    const waiting = async (): Promise<Task | undefined> =>
      (await client.listTasks({ contextId, status: 'TASK_STATE_INPUT_REQUIRED' })).tasks[0];
    await eventually(async () => (await waiting())?.id).toBeDefined();
    const asked = await waiting();
    expect(asked?.status.message?.parts).toEqual([text('Which city?')]);
    expect(asked?.metadata?.['legate.peers']).toMatchObject({ agent: 'bob' });
    expect(model.requests).toHaveLength(2);
    const answer = await client.sendMessage({
      message: {
        messageId: crypto.randomUUID(),
        role: 'ROLE_USER',
        parts: [text('Oslo')],
        taskId: asked?.id ?? '',
      },
    });
    expect('task' in answer && answer.task.status.message?.parts[0]?.text).toMatch(/sent to agent/);
    await eventually(() => model.requests.length).toBe(3);
    const [entry] = await network
      .memory({ tenant: '', subject: '', method: 'anonymous' })
      .search({ category: 'a2a-result' });
    expect(entry?.value).toBe('Sunny in Oslo');
  });
});
