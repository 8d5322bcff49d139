/** The official JavaScript client against our server: every binding, both versions. */
import {
  AgentCard,
  CancelTaskRequest,
  GetTaskRequest,
  ListTasksRequest,
  SendMessageRequest,
  StreamResponse,
  SubscribeToTaskRequest,
  Task,
} from '@a2a-js/sdk';
import {
  type Client,
  ClientFactory,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client';
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { agent, chunk, inputRequired, textOf, working } from '../src/agents/index.ts';
import { grpcChannel } from '../src/grpc/index.ts';
import { serve, type Serving } from '../src/http/index.ts';
import { artifact, type JsonObject } from '../src/protocol/index.ts';

const tried = agent({ name: 'tried' }, async function* (turn) {
  const text = textOf(turn.message);
  yield working('thinking');
  if (text === 'ask') yield inputRequired('Which one?');
  else if (text === 'wait') {
    await new Promise((resolve) => turn.signal.addEventListener('abort', resolve, { once: true }));
  } else if (text === 'chunks') {
    yield chunk('c', 'one ');
    yield chunk('c', 'two', { append: true, last: true });
  } else {
    yield artifact(
      [{ text }, { data: { n: 1 } }, { raw: 'AP8=', mediaType: 'image/png', filename: 'x.png' }],
      {
        artifactId: 'a',
      },
    );
  }
});

let server: Serving;
beforeAll(async () => {
  server = await serve(tried, { channels: [grpcChannel()] });
});
afterAll(() => server.close());

const legacyCompat = { enabled: true };
const factory = new ClientFactory({
  transports: [
    new JsonRpcTransportFactory({ legacyCompat }),
    new RestTransportFactory({ legacyCompat }),
    new GrpcTransportFactory({ legacyCompat }),
  ],
});

/** A client that has no choice but this interface. */
function clientFor(protocolBinding: string, protocolVersion: string): Promise<Client> {
  const card = server.router.cards.current;
  const supportedInterfaces = card.supportedInterfaces.filter(
    (offered) =>
      offered.protocolBinding === protocolBinding && offered.protocolVersion === protocolVersion,
  );
  return factory.createFromAgentCard(AgentCard.fromJSON({ ...card, supportedInterfaces }));
}

function send(text: string, more: JsonObject = {}, configuration: JsonObject = {}) {
  return SendMessageRequest.fromJSON({
    message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...more },
    configuration,
  });
}

interface PlainTask {
  readonly id: string;
  readonly contextId: string;
  readonly status: { readonly state: string };
  readonly artifacts?: readonly { readonly parts: readonly JsonObject[] }[];
  readonly history?: readonly JsonObject[];
}

const plain = (task: unknown) => Task.toJSON(task as Task) as PlainTask;

async function collect(stream: AsyncIterable<StreamResponse>): Promise<string[]> {
  const kinds: string[] = [];
  for await (const event of stream) {
    kinds.push(Object.keys(StreamResponse.toJSON(event) as JsonObject)[0] ?? '');
  }
  return kinds;
}

for (const [binding, version] of [
  ['JSONRPC', '1.0'],
  ['JSONRPC', '0.3'],
  ['HTTP+JSON', '1.0'],
  ['HTTP+JSON', '0.3'],
  ['GRPC', '1.0'],
  ['GRPC', '0.3'],
] as const) {
  describe(`the official client over ${binding} ${version}`, () => {
    test('sends, and gets every kind of part back', async () => {
      const client = await clientFor(binding, version);
      const task = plain(await client.sendMessage(send('hi')));
      expect(task.status.state).toBe('TASK_STATE_COMPLETED');
      expect(task.artifacts?.[0]?.parts).toMatchObject([
        { text: 'hi' },
        { data: { n: 1 } },
        { raw: 'AP8=' },
      ]);
      const again = plain(await client.getTask(GetTaskRequest.fromJSON({ id: task.id })));
      expect(again.status.state).toBe('TASK_STATE_COMPLETED');
      expect(again.history).toHaveLength(2);
    });

    test('continues an input-required task', async () => {
      const client = await clientFor(binding, version);
      const asked = plain(await client.sendMessage(send('ask')));
      expect(asked.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
      const done = plain(
        await client.sendMessage(send('that', { taskId: asked.id, contextId: asked.contextId })),
      );
      expect([done.id, done.status.state]).toEqual([asked.id, 'TASK_STATE_COMPLETED']);
    });

    test('streams chunks in order', async () => {
      const client = await clientFor(binding, version);
      expect(await collect(client.sendMessageStream(send('chunks')))).toEqual([
        'task',
        'statusUpdate',
        'statusUpdate',
        'artifactUpdate',
        'artifactUpdate',
        'statusUpdate',
      ]);
    });

    test('cancels a running task, and a subscriber sees it end', async () => {
      const client = await clientFor(binding, version);
      const running = plain(
        await client.sendMessage(send('wait', {}, { returnImmediately: true })),
      );
      const stream = client.resubscribeTask(SubscribeToTaskRequest.fromJSON({ id: running.id }));
      const first = await stream.next();
      expect(first.done).toBe(false);
      const rest = collect(stream);
      const canceled = plain(
        await client.cancelTask(CancelTaskRequest.fromJSON({ id: running.id })),
      );
      expect(canceled.status.state).toBe('TASK_STATE_CANCELED');
      expect((await rest).at(-1)).toBe('statusUpdate');
    });

    test('is refused a task that does not exist, and of one that cannot be cancelled', async () => {
      const client = await clientFor(binding, version);
      await expect(client.getTask(GetTaskRequest.fromJSON({ id: 'nope' }))).rejects.toThrow(
        /task nope not found/,
      );
      const done = plain(await client.sendMessage(send('hi')));
      await expect(client.cancelTask(CancelTaskRequest.fromJSON({ id: done.id }))).rejects.toThrow(
        /has ended as completed/,
      );
    });

    // 0.3 has no list.
    if (version === '0.3') return;
    test('lists tasks by page', async () => {
      const client = await clientFor(binding, version);
      const page = await client.listTasks(ListTasksRequest.fromJSON({ pageSize: 1 }));
      expect(page.tasks).toHaveLength(1);
      expect(page.nextPageToken).not.toBe('');
      expect(page.totalSize).toBeGreaterThan(1);
    });
  });
}

test('the official client finds its way from the card alone', async () => {
  const client = await factory.createFromUrl(server.url);
  expect(plain(await client.sendMessage(send('hi'))).status.state).toBe('TASK_STATE_COMPLETED');
});
