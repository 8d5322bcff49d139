/** Messages that are sent again: an agent runs each of them once. */
import { afterEach, expect, test } from 'vitest';
import { agent, textOf } from '../src/agents/index.ts';
import { connect } from '../src/client/index.ts';
import { grpcBinding, serveGrpc } from '../src/grpc/index.ts';
import { serve, type Serving } from '../src/http/index.ts';
import { artifact, message, type Task } from '../src/protocol/index.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

async function counting(): Promise<{ server: Serving; runs: string[] }> {
  const runs: string[] = [];
  const counted = agent({ name: 'counted' }, async function* (turn) {
    runs.push(turn.message.messageId);
    yield artifact(`run ${runs.length} of ${textOf(turn.message)}`);
  });
  const server = await serve(counted, { drainMs: 0 });
  open.push(server);
  return { server, runs };
}

/** Loses the first answers to messages on their way back: the agent has run by then. */
function losing(count: number): typeof fetch {
  let left = count;
  return async (input, init) => {
    const response = await fetch(input, init);
    const isMessage = new Request(input, init).method === 'POST';
    if (!isMessage || left === 0) return response;
    left -= 1;
    await response.arrayBuffer();
    throw new TypeError('the connection was lost');
  };
}

const retry = { attempts: 4, initialMs: 1, maximumMs: 1 };
const ids = ['plain-id', 'ein Gruß, 世界 🌍', '世'.repeat(200)];

for (const binding of ['JSONRPC', 'HTTP+JSON'] as const) {
  for (const version of ['1.0', '0.3'] as const) {
    test.each(ids)(
      `a first message without a context whose answers are lost runs once (${binding} ${version}, id %s)`,
      async (messageId) => {
        const { server, runs } = await counting();
        const client = await connect(server.url, { binding, version, retry, fetch: losing(2) });
        const answer = await client.sendMessage(message('hello', { messageId }));
        expect(answer).toMatchObject({
          task: { artifacts: [{ parts: [{ text: 'run 1 of hello' }] }] },
        });
        expect(runs).toEqual([messageId]);
      },
    );

    test(`a first message without a context whose stream is lost runs once (${binding} ${version})`, async () => {
      const { server, runs } = await counting();
      const client = await connect(server.url, { binding, version, retry, fetch: losing(1) });
      const answer = await client.sendAndWait('hello');
      expect(answer).toMatchObject({ task: { status: { state: 'TASK_STATE_COMPLETED' } } });
      expect(runs).toHaveLength(1);
    });
  }
}

test('a first message without a context that is sent twice over gRPC runs once', async () => {
  const { server, runs } = await counting();
  open.unshift(await serveGrpc(server.router));
  const { current } = server.router.cards;
  const supportedInterfaces = current.supportedInterfaces.filter(
    ({ protocolBinding }) => protocolBinding === 'GRPC',
  );
  const client = await connect(
    { ...current, supportedInterfaces },
    { bindings: [grpcBinding()], retry },
  );
  open.unshift(client);
  const sent = message('hello', { messageId: 'ein Gruß' });
  const answers = [await client.sendMessage(sent), await client.sendMessage(sent)];
  const tasks = answers.map((answer) => ('task' in answer ? answer.task : undefined));
  expect(tasks[0]?.id).toBe((tasks[1] as Task).id);
  expect(runs).toHaveLength(1);
});

test('two messages are two, and a key that the caller gives is the one that counts', async () => {
  const { server, runs } = await counting();
  const client = await connect(server.url, { retry });
  await client.sendMessage('hello');
  await client.sendMessage('hello');
  expect(runs).toHaveLength(2);
  const sent = message('again', { messageId: 'again' });
  for (const key of ['one', 'two', 'two']) {
    await client.sendMessage(sent, { headers: { 'idempotency-key': key } });
  }
  expect(runs).toHaveLength(4);
});

test('anonymous callers who use the same message id do not share a task', async () => {
  const { server, runs } = await counting();
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'SendMessage',
    params: { message: { messageId: '1', role: 'ROLE_USER', parts: [{ text: 'hello' }] } },
  });
  const send = async (key?: string): Promise<string> => {
    const headers = {
      'A2A-Version': '1.0',
      'Content-Type': 'application/json',
      ...(key !== undefined && { 'Idempotency-Key': key }),
    };
    const response = await fetch(server.url, { method: 'POST', headers, body });
    return ((await response.json()) as { result: { task: Task } }).result.task.id;
  };
  const tasks = [await send(), await send(), await send('a'), await send('b'), await send('a')];
  expect(new Set(tasks).size).toBe(4);
  expect(tasks[4]).toBe(tasks[2]);
  expect(runs).toHaveLength(4);
});
