import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { LegateError, message } from '../protocol/index.ts';
import { connect } from './index.ts';
import { agentCard, status, task } from './testing/fixtures.ts';
import { connectTo, scriptedAgent, speeches } from './testing/scripted-agent.ts';

describe.each(speeches)('repeating over $binding $version', (speech) => {
  test.each([502, 503, 504, 429])('a read that fails with %d is repeated', async (code) => {
    const agent = await scriptedAgent(speech, {
      getTask: (_, { attempt, response }) => {
        if (attempt === 3) return task('TASK_STATE_WORKING');
        response.writeHead(code, { 'Content-Type': 'text/html' }).end('<h1>later</h1>');
        return undefined;
      },
    });
    const { client, slept } = await connectTo(agent);
    expect(await client.getTask('task-1')).toEqual(task('TASK_STATE_WORKING'));
    expect(slept).toEqual([500, 1000]);
  });

  test('a read that fails because the store of the peer is away is repeated', async () => {
    const agent = await scriptedAgent(speech, {
      getTask: (_, { attempt }) => {
        if (attempt > 1) return task('TASK_STATE_WORKING');
        throw new LegateError('STORE_FAILED', 'the store is away', { retryAfter: 1 });
      },
    });
    const { client, slept } = await connectTo(agent);
    expect(await client.getTask('task-1')).toEqual(task('TASK_STATE_WORKING'));
    expect(slept).toEqual([1000]);
  });

  test('a read whose connection breaks is repeated', async () => {
    const agent = await scriptedAgent(speech, {
      getTask: (_, { attempt, response }) => {
        if (attempt > 1) return task('TASK_STATE_WORKING');
        response.destroy();
        return undefined;
      },
    });
    const { client } = await connectTo(agent);
    expect(await client.getTask('task-1')).toEqual(task('TASK_STATE_WORKING'));
  });

  test('tries are bounded', async () => {
    const agent = await scriptedAgent(speech, {
      getTask: (_, { response }) => {
        response.writeHead(503).end();
        return undefined;
      },
    });
    const { client } = await connectTo(agent, { retry: { attempts: 5 } });
    await expect(client.getTask('task-1')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(agent.of('getTask')).toHaveLength(5);
  });

  test('with retry off, everything is tried once', async () => {
    const agent = await scriptedAgent(speech, {
      getTask: (_, { response }) => {
        response.writeHead(503).end();
        return undefined;
      },
    });
    const { client } = await connectTo(agent, { retry: false });
    await expect(client.getTask('task-1')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(agent.of('getTask')).toHaveLength(1);
  });

  test('a send is repeated with the same message id and key', async () => {
    const ids: string[] = [];
    const agent = await scriptedAgent(speech, {
      sendMessage: (request, { attempt, response, headers }) => {
        ids.push(request.message.messageId, String(headers['idempotency-key']));
        if (attempt > 1) return { task: task('TASK_STATE_COMPLETED') };
        response.destroy();
        return undefined;
      },
    });
    const { client } = await connectTo(agent);
    await client.sendMessage('Hello');
    expect(ids).toHaveLength(4);
    expect(new Set(ids).size).toBe(1);
  });

  test('a message in flight is asked for until its task has finished', async () => {
    const agent = await scriptedAgent(speech, {
      sendMessage: (_, { attempt, response }) => {
        if (attempt === 1) {
          response.destroy();
          return undefined;
        }
        if (attempt < 7) throw new LegateError('MESSAGE_IN_FLIGHT', 'patience');
        return { task: task('TASK_STATE_COMPLETED') };
      },
    });
    const { client, slept } = await connectTo(agent);
    expect(await client.sendMessage('Hello')).toEqual({ task: task('TASK_STATE_COMPLETED') });
    expect(slept).toEqual([500, 2000, 3000, 4500, 6750, 10125]);
  });

  test('a stream that was not opened is opened again', async () => {
    const agent = await scriptedAgent(speech, {
      sendStreamingMessage: (_, stream, { attempt, response }) => {
        if (attempt === 1) {
          response.writeHead(503, { 'Retry-After': '7' }).end();
          return;
        }
        stream.send({ task: task('TASK_STATE_COMPLETED') });
        stream.end();
      },
    });
    const { client, slept } = await connectTo(agent);
    await client.sendAndWait('Hello');
    expect(slept).toEqual([7000]);
  });

  test('Retry-After is honoured, and not where it asks for too much', async () => {
    const waits = ['3', '61'];
    const agent = await scriptedAgent(speech, {
      getTask: (_, { attempt, response }) => {
        response.writeHead(429, { 'Retry-After': waits[attempt - 1] ?? '1' }).end();
        return undefined;
      },
    });
    const { client, slept } = await connectTo(agent);
    await expect(client.getTask('task-1')).rejects.toMatchObject({
      code: 'RATE_LIMITED',
      retryAfter: 61,
    });
    expect(slept).toEqual([3000]);
  });

  test('permanent errors are not retried', async () => {
    const agent = await scriptedAgent(speech, {
      getTask: () => {
        throw new LegateError('TASK_NOT_FOUND', 'no task task-1');
      },
    });
    const { client, slept } = await connectTo(agent);
    await expect(client.getTask('task-1')).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' });
    expect(slept).toEqual([]);
  });

  test('a webhook without an id is registered once, for a repeat would make two', async () => {
    const agent = await scriptedAgent(speech, {
      createTaskPushNotificationConfig: (_, { response }) => {
        response.writeHead(503).end();
        return undefined;
      },
    });
    const { client } = await connectTo(agent);
    const config = { taskId: 'task-1', url: 'https://hooks.example' };
    await expect(client.createTaskPushNotificationConfig(config)).rejects.toThrow();
    expect(agent.of('createTaskPushNotificationConfig')).toHaveLength(1);
    await expect(
      client.createTaskPushNotificationConfig({ ...config, id: 'mine' }),
    ).rejects.toThrow();
    expect(agent.of('createTaskPushNotificationConfig')).toHaveLength(4);
  });
});

const inFlight = () =>
  new LegateError('MESSAGE_IN_FLIGHT', 'patience', { metadata: { taskId: 'task-1' } });
const [speech] = speeches;
if (speech === undefined) throw new Error('there is no way to speak');

test('a stream of a message in flight subscribes to its task', async () => {
  const agent = await scriptedAgent(speech, {
    sendStreamingMessage: () => {
      throw inFlight();
    },
    subscribeToTask: (_, stream) => {
      stream.send({ task: task('TASK_STATE_WORKING') });
      stream.send(status('TASK_STATE_COMPLETED'));
      stream.end();
    },
  });
  const { client } = await connectTo(agent);
  expect(await client.sendAndWait('Hello')).toEqual({ task: task('TASK_STATE_COMPLETED') });
  expect(agent.of('sendStreamingMessage')).toHaveLength(1);
});

test('a message in flight that need not be waited for gives its task as it is', async () => {
  const agent = await scriptedAgent(speech, {
    sendMessage: () => {
      throw inFlight();
    },
    getTask: () => task('TASK_STATE_WORKING'),
  });
  const { client } = await connectTo(agent);
  const answer = await client.sendMessage({
    message: message('Hello'),
    configuration: { returnImmediately: true },
  });
  expect(answer).toEqual({ task: task('TASK_STATE_WORKING') });
});

test('an unreachable peer is named, with method and address but without its query', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  const card = agentCard({ url: `http://127.0.0.1:${port}/rpc?key=hidden` });
  const client = await connect(card, { retry: false });
  const failure = await client.getTask('task-1').catch((error: unknown) => error);
  expect(failure).toMatchObject({
    code: 'PEER_UNREACHABLE',
    message: `can't reach http://127.0.0.1:${port}/rpc: connection refused`,
  });
});

test('an abort ends the pause before a repeat', async () => {
  const agent = await scriptedAgent(speech, {
    getTask: (_, { response }) => {
      response.writeHead(503).end();
      return undefined;
    },
  });
  const controller = new AbortController();
  const client = await connect(agent.url, {
    sleep: async (_, signal) => {
      controller.abort(new Error('enough'));
      signal?.throwIfAborted();
    },
  });
  await expect(client.getTask('task-1', { signal: controller.signal })).rejects.toThrow('enough');
  expect(agent.of('getTask')).toHaveLength(1);
});

test('an unknown host is reported in words', async () => {
  const cause = Object.assign(new Error('getaddrinfo ENOTFOUND x'), { code: 'ENOTFOUND' });
  const fetch = () => Promise.reject(new TypeError('fetch failed', { cause }));
  await expect(connect('https://agent.invalid', { fetch, retry: false })).rejects.toMatchObject({
    message: expect.stringMatching(
      /^can't reach https:\/\/agent\.invalid\/.*: unknown host$/,
    ) as string,
  });
});
