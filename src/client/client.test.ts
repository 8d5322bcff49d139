import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { LegateError, message, type StreamResponse } from '../protocol/index.ts';
import type { StreamEvent } from './index.ts';
import { agentCard, agentMessage, artifactOf, chunk, status, task } from './testing/fixtures.ts';
import { connectTo, scriptedAgent, speeches } from './testing/scripted-agent.ts';

async function responses(events: AsyncIterable<StreamEvent>): Promise<StreamResponse[]> {
  const all: StreamResponse[] = [];
  for await (const { response } of events) all.push(response);
  return all;
}

describe.each(speeches)('$binding $version', (speech) => {
  const isLegacy = speech.version === '0.3';

  test('sends a message and gives the task of the answer', async () => {
    const sent = message('Hello', { messageId: 'message-1', contextId: 'context-1' });
    const agent = await scriptedAgent(speech, {
      sendMessage: (request) => {
        expect(request.message).toEqual(sent);
        return { task: task('TASK_STATE_COMPLETED', { artifacts: [artifactOf('a', 'Hi')] }) };
      },
    });
    const { client } = await connectTo(agent);
    const answer = await client.sendMessage(sent);
    expect(answer).toEqual({
      task: task('TASK_STATE_COMPLETED', { artifacts: [artifactOf('a', 'Hi')] }),
    });
  });

  test('gives the plain message of the answer', async () => {
    const agent = await scriptedAgent(speech, {
      sendMessage: () => ({ message: agentMessage('reply-1') }),
    });
    const { client } = await connectTo(agent);
    expect(await client.sendMessage('Hello')).toEqual({ message: agentMessage('reply-1') });
  });

  test('says its version and the message id as idempotency key with every send (3.6)', async () => {
    const agent = await scriptedAgent(speech, {
      sendMessage: () => ({ task: task('TASK_STATE_COMPLETED') }),
    });
    const { client } = await connectTo(agent, { extensions: ['urn:one', 'urn:two'] });
    await client.sendMessage(message('Hello', { messageId: 'message-7' }), {
      headers: { 'X-Own': 'yes' },
    });
    const headers = agent.of('sendMessage')[0]?.headers;
    expect(headers?.['a2a-version']).toBe(speech.version);
    expect(headers?.['idempotency-key']).toBe('message-7');
    expect(headers?.['x-own']).toBe('yes');
    expect(headers?.[isLegacy ? 'x-a2a-extensions' : 'a2a-extensions']).toBe('urn:one, urn:two');
  });

  test('streams events in their order, with their ids', async () => {
    const events = [
      { task: task('TASK_STATE_SUBMITTED') },
      status('TASK_STATE_WORKING', 'thinking'),
      chunk('a', 'one ', false),
      chunk('a', 'two', true),
      status('TASK_STATE_COMPLETED'),
    ];
    const agent = await scriptedAgent(speech, {
      sendStreamingMessage: (_, stream) => {
        for (const [index, event] of events.entries()) {
          stream.keepAlive();
          stream.send(event, index + 1);
        }
        stream.end();
      },
    });
    const { client } = await connectTo(agent);
    const got: StreamEvent[] = [];
    for await (const event of client.sendStreamingMessage('Hello')) got.push(event);
    expect(got).toEqual(
      events.map((response, index) => ({
        response,
        id: String(index + 1),
        sequence: index + 1,
      })),
    );
  });

  test('a stream of one plain message ends with it', async () => {
    const agent = await scriptedAgent(speech, {
      sendStreamingMessage: (_, stream) => {
        stream.send({ message: agentMessage('reply-1') });
        stream.end();
      },
    });
    const { client } = await connectTo(agent);
    const got = await responses(client.sendStreamingMessage('Hello'));
    expect(got).toEqual([{ message: agentMessage('reply-1') }]);
  });

  test('an error known before the first event comes as plain JSON and is thrown', async () => {
    const agent = await scriptedAgent(speech, {
      sendStreamingMessage: () => {
        throw new LegateError('CONTENT_TYPE_NOT_SUPPORTED', 'no pictures please');
      },
    });
    const { client } = await connectTo(agent);
    await expect(responses(client.sendStreamingMessage('Hello'))).rejects.toMatchObject({
      code: 'CONTENT_TYPE_NOT_SUPPORTED',
      message: 'no pictures please',
    });
    expect(agent.of('sendStreamingMessage')).toHaveLength(1);
  });

  test('a peer that answers a streaming call with its whole result is understood', async () => {
    const agent = await scriptedAgent(speech, {
      sendStreamingMessage: (_, _stream, { response, headers }) => {
        expect(headers.accept).toContain('text/event-stream');
        const body =
          speech.binding === 'JSONRPC'
            ? { jsonrpc: '2.0', id: 1, result: legacyOrModern() }
            : { message: { messageId: 'r', role: 'ROLE_AGENT', parts: [{ text: 'Hi' }] } };
        response.setHeader('Content-Type', 'application/json');
        response.end(JSON.stringify(body));
      },
    });
    const legacyOrModern = () =>
      isLegacy
        ? { kind: 'message', messageId: 'r', role: 'agent', parts: [{ kind: 'text', text: 'Hi' }] }
        : { message: { messageId: 'r', role: 'ROLE_AGENT', parts: [{ text: 'Hi' }] } };
    const { client } = await connectTo(agent);
    expect(await responses(client.sendStreamingMessage('Hello'))).toEqual([
      { message: { messageId: 'r', role: 'ROLE_AGENT', parts: [{ text: 'Hi' }] } },
    ]);
  });

  test('an error frame in mid-stream is thrown after what came before it', async () => {
    const agent = await scriptedAgent(speech, {
      sendStreamingMessage: (_, stream) => {
        stream.send({ task: task('TASK_STATE_WORKING') });
        const error = { code: -32006, message: 'the agent broke' };
        const frame = speech.binding === 'JSONRPC' ? { jsonrpc: '2.0', id: 1, error } : error;
        stream.write(`event: error\ndata: ${JSON.stringify(frame)}\n\n`);
        stream.end();
      },
    });
    const { client } = await connectTo(agent);
    const got: StreamResponse[] = [];
    const reading = (async () => {
      for await (const { response } of client.sendStreamingMessage('Hello')) got.push(response);
    })();
    await expect(reading).rejects.toMatchObject({
      code: 'INVALID_AGENT_RESPONSE',
      message: 'the agent broke',
    });
    expect(got).toEqual([{ task: task('TASK_STATE_WORKING') }]);
  });

  test('gets a task with the history asked for', async () => {
    const agent = await scriptedAgent(speech, {
      getTask: (request) => {
        expect(request).toEqual({ id: 'task-1', historyLength: 2 });
        return task('TASK_STATE_WORKING', { history: [agentMessage('m')] });
      },
    });
    const { client } = await connectTo(agent);
    const got = await client.getTask({ id: 'task-1', historyLength: 2 });
    expect(got).toEqual(task('TASK_STATE_WORKING', { history: [agentMessage('m')] }));
  });

  test('an id with special characters stays one id', async () => {
    const id = 'a/b?c=d&e%20f#g ü';
    const agent = await scriptedAgent(speech, {
      getTask: (request) => task('TASK_STATE_WORKING', { id: request.id }),
    });
    const { client } = await connectTo(agent);
    expect((await client.getTask(id)).id).toBe(id);
  });

  test('lists tasks by page, and over all pages', async () => {
    const agent = await scriptedAgent(speech, {
      listTasks: (request) => {
        const page = Number(request.pageToken ?? '1');
        expect(request).toMatchObject({ contextId: 'context-1', pageSize: 1 });
        return {
          tasks: [task('TASK_STATE_COMPLETED', { id: `task-${page}` })],
          nextPageToken: page === 3 ? '' : String(page + 1),
          pageSize: 1,
          totalSize: 3,
        };
      },
    });
    const { client } = await connectTo(agent);
    const page = await client.listTasks({ contextId: 'context-1', pageSize: 1 });
    expect(page.nextPageToken).toBe('2');
    const ids: string[] = [];
    for await (const { id } of client.listAllTasks({ contextId: 'context-1', pageSize: 1 })) {
      ids.push(id);
    }
    expect(ids).toEqual(['task-1', 'task-2', 'task-3']);
  });

  test('a list that never ends is noticed', async () => {
    const agent = await scriptedAgent(speech, {
      listTasks: () => ({ tasks: [], nextPageToken: 'again', pageSize: 1, totalSize: 3 }),
    });
    const { client } = await connectTo(agent);
    const reading = (async () => {
      for await (const _ of client.listAllTasks()) expect.fail('there are no tasks');
    })();
    await expect(reading).rejects.toMatchObject({ code: 'PEER_INVALID' });
  });

  test('cancels a task', async () => {
    const agent = await scriptedAgent(speech, {
      cancelTask: ({ id }) => task('TASK_STATE_CANCELED', { id }),
    });
    const { client } = await connectTo(agent);
    expect(await client.cancelTask('task-1')).toEqual(task('TASK_STATE_CANCELED'));
  });

  test('subscribes to a task', async () => {
    const agent = await scriptedAgent(speech, {
      subscribeToTask: ({ id }, stream) => {
        stream.send({ task: task('TASK_STATE_WORKING', { id }) });
        stream.send(status('TASK_STATE_COMPLETED'));
        stream.end();
      },
    });
    const { client } = await connectTo(agent);
    expect(await responses(client.subscribeToTask('task-1'))).toEqual([
      { task: task('TASK_STATE_WORKING') },
      status('TASK_STATE_COMPLETED'),
    ]);
  });

  test('creates, gets, lists and deletes push configurations', async () => {
    const config = { taskId: 'task-1', id: 'config-1', url: 'https://hooks.example/a', token: 't' };
    const agent = await scriptedAgent(speech, {
      createTaskPushNotificationConfig: (request) => ({ ...request, taskId: 'task-1' }),
      getTaskPushNotificationConfig: ({ taskId, id }) => {
        expect([taskId, id]).toEqual(['task-1', 'config-1']);
        return config;
      },
      listTaskPushNotificationConfigs: ({ taskId }) => {
        expect(taskId).toBe('task-1');
        return { configs: [config], nextPageToken: '' };
      },
      deleteTaskPushNotificationConfig: ({ taskId, id }) => {
        expect([taskId, id]).toEqual(['task-1', 'config-1']);
      },
    });
    const { client } = await connectTo(agent);
    expect(await client.createTaskPushNotificationConfig(config)).toEqual(config);
    const which = { taskId: 'task-1', id: 'config-1' };
    expect(await client.getTaskPushNotificationConfig(which)).toEqual(config);
    expect((await client.listTaskPushNotificationConfigs(which)).configs).toEqual([config]);
    expect(await client.deleteTaskPushNotificationConfig(which)).toBeUndefined();
  });

  test('the extended card stands for the public one once it was fetched (13.3)', async () => {
    const extended = {
      ...agentCard({ url: 'https://agent.example', ...speech }),
      name: 'Extended',
    };
    const agent = await scriptedAgent(speech, { getExtendedAgentCard: () => extended });
    const { client } = await connectTo(agent);
    expect(client.card.name).toBe('Scripted');
    expect((await client.getExtendedAgentCard()).name).toBe('Extended');
    expect(client.card.name).toBe('Extended');
    expect(client.interface.url).toBe(agent.url);
  });

  test('errors keep their code over the wire', async () => {
    const agent = await scriptedAgent(speech, {
      getTask: () => {
        throw new LegateError('TASK_NOT_FOUND', 'no task task-1');
      },
      cancelTask: () => {
        throw new LegateError('TASK_NOT_CANCELABLE', 'it is over');
      },
    });
    const { client } = await connectTo(agent);
    await expect(client.getTask('task-1')).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' });
    await expect(client.cancelTask('task-1')).rejects.toMatchObject({
      code: 'TASK_NOT_CANCELABLE',
    });
  });

  test('an answer that is not A2A is the peer’s fault, with the fields at fault', async () => {
    const agent = await scriptedAgent(speech, {
      getTask: (_, { response }) => {
        const body = { id: 7, kind: 'task' };
        const isRpc = speech.binding === 'JSONRPC';
        response.end(JSON.stringify(isRpc ? { jsonrpc: '2.0', id: 1, result: body } : body));
        return undefined;
      },
      sendMessage: (_, { response }) => {
        response.end('<html>Welcome</html>');
        return undefined;
      },
    });
    const { client } = await connectTo(agent);
    const failure = await client.getTask('task-1').catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'PEER_INVALID' });
    expect((failure as LegateError).violations?.map(({ field }) => field)).toContain('id');
    await expect(client.sendMessage('Hello')).rejects.toMatchObject({ code: 'PEER_INVALID' });
  });

  test('a call ends when its signal aborts, with the signal’s reason', async () => {
    const agent = await scriptedAgent(speech, { getTask: () => new Promise(() => undefined) });
    const { client } = await connectTo(agent);
    const controller = new AbortController();
    const call = client.getTask('task-1', { signal: controller.signal });
    await expect.poll(() => agent.of('getTask').length).toBe(1);
    const reason = new Error('enough');
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
  });

  test('a call that takes too long ends with REQUEST_TIMEOUT', async () => {
    const agent = await scriptedAgent(speech, { getTask: () => new Promise(() => undefined) });
    const { client } = await connectTo(agent);
    await expect(client.getTask('task-1', { timeoutMs: 20 })).rejects.toMatchObject({
      code: 'REQUEST_TIMEOUT',
      message: `getTask at ${agent.url} was not answered within 20 ms`,
    });
  });
});

test.each(speeches.filter(({ version }) => version === '1.0'))(
  'copies the tenant of the interface verbatim, or sends none (8.3.2): $binding',
  async (speech) => {
    const tenants: unknown[] = [];
    const agent = await scriptedAgent(speech, {
      card: ({ response }) => {
        const card = agentCard({ url: agent.url, ...speech, tenant: 'Team A/b' });
        response.end(JSON.stringify(card));
      },
      sendMessage: (request) => {
        tenants.push(request.tenant);
        return { task: task('TASK_STATE_COMPLETED') };
      },
      getTask: (request) => {
        tenants.push(request.tenant);
        return task('TASK_STATE_COMPLETED');
      },
    });
    const { client } = await connectTo(agent);
    await client.sendMessage({ message: message('Hello'), tenant: 'another' });
    await client.getTask('task-1');
    expect(tenants).toEqual(['Team A/b', 'Team A/b']);
  },
);

/** How web servers refuse a method: as unknown, or with the 404 of a framework. */
const refusals: readonly ((response: ServerResponse) => void)[] = [
  (response) => response.writeHead(405, { 'Content-Type': 'text/html' }).end('<h1>No</h1>'),
  (response) => response.writeHead(404).end(JSON.stringify({ detail: 'Not Found' })),
];

test.each(speeches.filter(({ binding }) => binding === 'HTTP+JSON'))(
  'subscribes by POST, by GET where a peer refuses that, and remembers: $version',
  async (speech) => {
    for (const refuse of refusals) {
      const agent = await scriptedAgent(speech, {
        subscribeToTask: ({ id }, stream, { method, response }) => {
          if (method === 'POST') {
            refuse(response);
            return;
          }
          stream.send({ task: task('TASK_STATE_COMPLETED', { id }) });
          stream.end();
        },
      });
      const { client } = await connectTo(agent);
      for (let time = 0; time < 2; time += 1) {
        expect(await responses(client.subscribeToTask('task-1'))).toHaveLength(1);
      }
      expect(agent.of('subscribeToTask').map(({ method }) => method)).toEqual([
        'POST',
        'GET',
        'GET',
      ]);
    }
  },
);
