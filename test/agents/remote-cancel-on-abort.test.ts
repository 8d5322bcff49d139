import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type Agent, agent, completed, remoteAgent, working } from '../../src/agents/index.ts';
import { Conversation } from '../../src/agents/testing/conversation.ts';
import { connect } from '../../src/client/index.ts';
import { grpcBinding, serveGrpc } from '../../src/grpc/index.ts';
import { serve, type ServeOptions, type Serving } from '../../src/http/index.ts';
import { type AgentCard, message } from '../../src/protocol/index.ts';
import { openMemory } from '../../src/store/index.ts';
import { anonymous, type Call, Engine } from '../../src/tasks/index.ts';

/** A cancel that comes after the message has gone out, and before the peer has named its task. */

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

const bindings = [grpcBinding()];

async function start(served: Agent, options: ServeOptions = {}): Promise<Serving> {
  const server = await serve(served, { drainMs: 0, cancelGraceMs: 500, ...options });
  open.push(server);
  return server;
}

/** A card that offers nothing else, so that there is no other way. */
async function overGrpc({ router }: Serving): Promise<AgentCard> {
  open.unshift(await serveGrpc(router));
  const { current } = router.cards;
  const supportedInterfaces = current.supportedInterfaces.filter(
    ({ protocolBinding }) => protocolBinding === 'GRPC',
  );
  return { ...current, supportedInterfaces };
}

/** An agent whose callers learn nothing, not even that there is a task, before it speaks. */
function silent() {
  const entered = Promise.withResolvers<void>();
  const spoken = Promise.withResolvers<void>();
  const made = agent({ name: 'silent', replies: 'message' }, async function* (turn) {
    entered.resolve();
    const stopped = new Promise<void>((resolve) => {
      turn.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    await Promise.race([spoken.promise, stopped]);
    yield working('at last');
    await stopped;
    yield completed();
  });
  return { made, entered: entered.promise, speak: () => spoken.resolve() };
}

async function statesOf(url: string): Promise<readonly string[]> {
  const { tasks } = await (await connect(url)).listTasks({});
  return tasks.map(({ status }) => status.state);
}

async function expectCanceled(url: string): Promise<void> {
  await expect.poll(() => statesOf(url), { timeout: 15_000 }).toEqual(['TASK_STATE_CANCELED']);
}

/** What a test releases passes; until then answers to messages are held back on the way. */
function slowWire() {
  const gate = Promise.withResolvers<void>();
  const fetching: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (init?.method === 'POST' && isSend(input, init)) {
      await Promise.race([gate.promise, aborted(init.signal)]);
    }
    return response;
  };
  return { fetch: fetching, release: () => gate.resolve() };
}

function isSend(input: string | URL | Request, init: RequestInit): boolean {
  const body = typeof init.body === 'string' ? init.body : '';
  const place = input instanceof Request ? input.url : String(input);
  return (
    /message[:/](send|stream)/i.test(place) || /"(Send(Streaming)?Message|message\/)/.test(body)
  );
}

function aborted(signal: AbortSignal | null | undefined): Promise<never> {
  return new Promise((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}

for (const binding of ['JSONRPC', 'HTTP+JSON', 'GRPC'] as const) {
  for (const version of ['1.0', '0.3'] as const) {
    test(`a peer that is silent is stopped all the same (${binding}, ${version})`, async () => {
      const { made, entered, speak } = silent();
      const server = await start(made);
      const address = binding === 'GRPC' ? await overGrpc(server) : server.url;
      const far = remoteAgent(address, { binding, bindings, version });
      open.unshift(far);
      const turn = new AbortController();
      const said = new Conversation(far).say('go', { signal: turn.signal });
      await entered;
      turn.abort(new Error('enough'));
      await expect(said).rejects.toThrow('enough');
      // gRPC 0.3 cannot list tasks: there it is the first event that names the task.
      if (binding === 'GRPC' && version === '0.3') speak();
      await expectCanceled(server.url);
    });
  }
}

for (const binding of ['JSONRPC', 'HTTP+JSON'] as const) {
  for (const version of ['1.0', '0.3'] as const) {
    for (const streaming of [true, false]) {
      const how = streaming ? 'streaming' : 'polled';
      test(`an answer that is long on its way still stops the task (${binding}, ${version}, ${how})`, async () => {
        const { made, entered } = silent();
        const server = await start({ ...made, replies: 'task' }, { streaming });
        const wire = slowWire();
        const far = remoteAgent(server.url, { binding, version, fetch: wire.fetch });
        open.unshift(far);
        const turn = new AbortController();
        const said = new Conversation(far).say('go', { signal: turn.signal });
        await entered;
        turn.abort(new Error('enough'));
        await expect(said).rejects.toThrow('enough');
        wire.release();
        await expectCanceled(server.url);
      });
    }
  }
}

for (const [kind, options] of [
  ['timeout', { timeoutMs: 300, inactivityTimeoutMs: 0 }],
  ['inactivity', { timeoutMs: 0, inactivityTimeoutMs: 300 }],
] as const) {
  test(`${kind} before the first event cancels the task there`, async () => {
    const { made } = silent();
    const { url } = await start(made);
    const far = remoteAgent(url, options);
    open.unshift(far);
    const said = await new Conversation(far).say('go');
    expect(said.end).toMatchObject({ kind: 'failed', metadata: { error_type: kind } });
    await expectCanceled(url);
  });
}

test('a shutdown leaves the task to the replica that runs the turn again', async () => {
  const { made, entered, speak } = silent();
  const { url } = await start(made);
  const far = remoteAgent(url, { onInterrupted: 'run-again', poll: { initialMs: 5 } });
  const conversation = new Conversation(far);
  const process = new AbortController();
  const options = { messageId: 'm', taskId: 'task-1' };
  const first = conversation.say('go', { ...options, signal: process.signal });
  await entered;
  process.abort(Object.assign(new Error('shutdown'), { handsOver: true }));
  await expect(first).rejects.toThrow('shutdown');
  await far.close();
  speak();
  // The peer knows the message again, and nothing was cancelled.
  const turn = new AbortController();
  const heard = Promise.withResolvers<void>();
  const second = conversation.say('go', {
    ...options,
    attempt: 2,
    signal: turn.signal,
    onEvent: () => heard.resolve(),
  });
  await heard.promise;
  expect(await statesOf(url)).toEqual(['TASK_STATE_WORKING']);
  turn.abort(new Error('enough'));
  await expect(second).rejects.toThrow('enough');
  await expectCanceled(url);
});

test('a cancel over two hops finds the task that neither of them knew', async () => {
  const { made, entered } = silent();
  const inner = await start(made);
  const outer = await start(remoteAgent(inner.url, { name: 'relay' }));
  const client = await connect(outer.url);
  const answer = await client.sendMessage({
    message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] },
    configuration: { returnImmediately: true },
  });
  if (!('task' in answer)) throw new Error('no task');
  await entered;
  const canceled = await client.cancelTask(answer.task.id);
  expect(canceled.status.state).toBe('TASK_STATE_CANCELED');
  await expectCanceled(inner.url);
});

test.each(['noted', 'not known yet'])(
  'a cancel reaches a task that is %s though the process that started it is dead',
  async (which) => {
    const { made, entered, speak } = silent();
    if (which === 'noted') speak();
    const { url } = await start(made);
    const relay = remoteAgent(url, { name: 'relay', onInterrupted: 'run-again' });
    const store = openMemory();
    const call: Call = { caller: anonymous, version: '1.0' };
    const dying = await Engine.start({ agent: relay, store, cancelGraceMs: 0 });
    const sent = await dying.send(
      { message: message('go'), configuration: { returnImmediately: true } },
      call,
    );
    if (!('task' in sent)) throw new Error('no task');
    const { id } = sent.task.value;
    await entered;
    const notes = () => store.records.list({ space: 'agent-journal', limit: 1, now: Date.now() });
    if (which === 'noted') await expect.poll(notes).toHaveLength(1);
    await store.retire(dying.replica);
    await store.requestCancel(id);
    const heir = await Engine.start({ agent: relay, store, cancelGraceMs: 0 });
    open.unshift({ close: () => heir.stop() }, { close: () => dying.stop() });
    await expect
      .poll(async () => (await heir.getTask({ id }, call)).value.status.state, { timeout: 10_000 })
      .toBe('TASK_STATE_CANCELED');
    await expectCanceled(url);
  },
);

test('a process shuts down after the tasks of aborted messages are cancelled', async () => {
  const { made, entered } = silent();
  const { url } = await start(made);
  const child = fork(join(import.meta.dirname, 'relay-server.ts'), [url], { execArgv: [] });
  open.unshift({ close: async () => void child.kill('SIGKILL') });
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  const client = await connect(`http://127.0.0.1:${port}`);
  await client.sendMessage({
    message: message('go'),
    configuration: { returnImmediately: true },
  });
  await entered;
  const ended = once(child, 'exit');
  child.send('close');
  expect(await ended).toEqual([0, null]);
  expect(await statesOf(url)).toEqual(['TASK_STATE_CANCELED']);
});
