import { describe, expect, test } from 'vitest';
import { LegateError, message, type ListTasksResponse, type Task } from '../protocol/index.ts';
import { connect, type CancelOnAbortOptions } from './index.ts';
import { status, task } from './testing/fixtures.ts';
import {
  connectTo,
  type ScriptedAgent,
  scriptedAgent,
  type ScriptedStream,
  speeches,
} from './testing/scripted-agent.ts';

const [jsonRpc] = speeches;
if (jsonRpc === undefined) throw new Error('no speech');

/** Aborts a message that was sent and not answered; `failures` are the errors of the cancellation. */
async function abortSent(
  agent: ScriptedAgent,
  entered: Promise<unknown>,
  options: CancelOnAbortOptions = {},
): Promise<{ failures: unknown[]; close: () => Promise<void> }> {
  const { client } = await connectTo(agent, { retry: false });
  const failures: unknown[] = [];
  const cancelOnAbort = { onFailure: (error: unknown) => failures.push(error), ...options };
  const sender = new AbortController();
  const sent = client
    .sendStreamingMessage(message('go', { messageId: 'm-1' }), {
      signal: sender.signal,
      cancelOnAbort,
    })
    .next();
  await entered;
  sender.abort(new Error('enough'));
  await expect(sent).rejects.toThrow('enough');
  return { failures, close: () => client.close() };
}

function page(...tasks: Task[]): ListTasksResponse {
  return { tasks, nextPageToken: '', pageSize: 20, totalSize: tasks.length };
}

function taskOf(id: string, messageId: string, state: Task['status']['state']): Task {
  return { ...task(state), id, history: [message('go', { messageId })] };
}

describe.each(speeches)(
  'the task of a message aborted before the peer named it ($binding $version)',
  (speech) => {
    test('is cancelled when the stream names it', async () => {
      const streams: ScriptedStream[] = [];
      const entered = Promise.withResolvers<void>();
      const canceled: string[] = [];
      const agent = await scriptedAgent(speech, {
        sendStreamingMessage: (_, stream) => {
          streams.push(stream);
          entered.resolve();
        },
        cancelTask: ({ id }) => {
          canceled.push(id);
          return task('TASK_STATE_CANCELED');
        },
      });
      const { failures, close } = await abortSent(agent, entered.promise);
      for (const stream of streams) stream.send(status('TASK_STATE_WORKING'));
      await expect.poll(() => canceled).toEqual(['task-1']);
      await close();
      expect(failures).toEqual([]);
      expect(agent.of('sendStreamingMessage')).toHaveLength(1);
    });

    test('is cancelled when the answer names it, from a peer that does not stream', async () => {
      const entered = Promise.withResolvers<void>();
      const answer = Promise.withResolvers<{ task: Task }>();
      const agent = await scriptedAgent(
        speech,
        {
          sendMessage: () => {
            entered.resolve();
            return answer.promise;
          },
          cancelTask: () => task('TASK_STATE_CANCELED'),
        },
        { streaming: false },
      );
      const { failures, close } = await abortSent(agent, entered.promise);
      answer.resolve({ task: task('TASK_STATE_WORKING') });
      await expect.poll(() => agent.of('cancelTask')).toHaveLength(1);
      await close();
      expect(failures).toEqual([]);
      expect(agent.of('sendMessage')).toHaveLength(1);
    });
  },
);

test.each(speeches.filter(({ version }) => version === '1.0'))(
  'a task that the peer never names is found in its task list by the message ($binding)',
  async (speech) => {
    const entered = Promise.withResolvers<void>();
    const canceled: string[] = [];
    const agent = await scriptedAgent(speech, {
      sendStreamingMessage: () => entered.resolve(),
      listTasks: (_, { attempt }) => {
        const others = [taskOf('other', 'm-0', 'TASK_STATE_WORKING'), task('TASK_STATE_WORKING')];
        // The peer lists the task only after a while.
        if (attempt < 3) return page(...others);
        return page(...others, taskOf('mine', 'm-1', 'TASK_STATE_WORKING'));
      },
      cancelTask: ({ id }) => {
        canceled.push(id);
        return taskOf(id, 'm-1', 'TASK_STATE_CANCELED');
      },
    });
    const { failures, close } = await abortSent(agent, entered.promise);
    await expect.poll(() => canceled).toEqual(['mine']);
    await close();
    expect(failures).toEqual([]);
    expect(agent.of('sendStreamingMessage')).toHaveLength(1);
  },
);

test('after the connection broke, the task is found in the task list', async () => {
  const streams: ScriptedStream[] = [];
  const entered = Promise.withResolvers<void>();
  const canceled: string[] = [];
  const agent = await scriptedAgent(jsonRpc, {
    sendStreamingMessage: (_, stream) => {
      streams.push(stream);
      entered.resolve();
    },
    listTasks: () => page(taskOf('mine', 'm-1', 'TASK_STATE_WORKING')),
    cancelTask: ({ id }) => {
      canceled.push(id);
      return taskOf(id, 'm-1', 'TASK_STATE_CANCELED');
    },
  });
  const { close } = await abortSent(agent, entered.promise);
  for (const stream of streams) stream.cut();
  await expect.poll(() => canceled).toEqual(['mine']);
  await close();
});

test.each([
  ['refuses the message', () => new LegateError('INVALID_PARAMS', 'no')],
  ['answers with a plain message', undefined],
])('there is nothing to cancel where the peer %s', async (_, failure) => {
  const entered = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  const agent = await scriptedAgent(jsonRpc, {
    sendStreamingMessage: async (_, stream) => {
      entered.resolve();
      await answer.promise;
      if (failure !== undefined) throw failure();
      stream.send({ message: { messageId: 'r', role: 'ROLE_AGENT', parts: [{ text: 'pong' }] } });
      stream.end();
    },
    listTasks: () => page(),
  });
  const { failures, close } = await abortSent(agent, entered.promise);
  answer.resolve();
  await close();
  expect(failures).toEqual([]);
  expect(agent.of('cancelTask')).toEqual([]);
});

test('shouldCancel keeps the task running', async () => {
  const closed = Promise.withResolvers<void>();
  const entered = Promise.withResolvers<void>();
  const agent = await scriptedAgent(jsonRpc, {
    sendStreamingMessage: (_, __, { response }) => {
      response.on('close', () => closed.resolve());
      entered.resolve();
    },
  });
  const reasons: unknown[] = [];
  const shouldCancel = (reason: unknown): boolean => {
    reasons.push(reason);
    return false;
  };
  const { close } = await abortSent(agent, entered.promise, { shouldCancel });
  await closed.promise;
  await close();
  expect(reasons).toEqual([new Error('enough')]);
  expect(agent.of('listTasks')).toEqual([]);
});

test('a message that was not sent yet is not sent after the abort', async () => {
  const agent = await scriptedAgent(jsonRpc, {});
  const asked = Promise.withResolvers<void>();
  const token = Promise.withResolvers<Record<string, string>>();
  const failures: unknown[] = [];
  // The request for the card has credentials, too.
  let isConnected = false;
  const client = await connect(agent.url, {
    auth: {
      headers: () => {
        if (!isConnected) return {};
        asked.resolve();
        return token.promise;
      },
    },
  });
  isConnected = true;
  const sender = new AbortController();
  const sent = client
    .sendStreamingMessage('go', {
      signal: sender.signal,
      cancelOnAbort: { onFailure: (error) => failures.push(error) },
    })
    .next();
  await asked.promise;
  sender.abort(new Error('enough'));
  await expect(sent).rejects.toThrow('enough');
  token.resolve({});
  await client.close();
  expect(failures).toEqual([]);
  expect(agent.received.map(({ operation }) => operation)).toEqual(['card']);
});

test('a peer that stays silent is abandoned at the timeout', async () => {
  const closed = Promise.withResolvers<void>();
  const entered = Promise.withResolvers<void>();
  const agent = await scriptedAgent(jsonRpc, {
    sendStreamingMessage: (_, __, { response }) => {
      response.on('close', () => closed.resolve());
      entered.resolve();
    },
    listTasks: () => page(),
  });
  const { failures, close } = await abortSent(agent, entered.promise, { timeoutMs: 50 });
  await closed.promise;
  await close();
  expect(failures).toMatchObject([{ code: 'REQUEST_TIMEOUT' }]);
  // The number of lookups is limited, however short the pauses.
  expect(agent.of('listTasks').length).toBeLessThanOrEqual(12);
});

test('closing waits until the task is cancelled', async () => {
  const entered = Promise.withResolvers<void>();
  let isCanceled = false;
  const agent = await scriptedAgent(jsonRpc, {
    sendStreamingMessage: () => entered.resolve(),
    listTasks: () => page(taskOf('mine', 'm-1', 'TASK_STATE_WORKING')),
    cancelTask: async ({ id }) => {
      await new Promise((resolve) => setImmediate(resolve));
      isCanceled = true;
      return taskOf(id, 'm-1', 'TASK_STATE_CANCELED');
    },
  });
  const { close } = await abortSent(agent, entered.promise);
  await close();
  expect(isCanceled).toBe(true);
});

test('at most a hundred tasks are cancelled at a time', async () => {
  const all = Promise.withResolvers<void>();
  let entered = 0;
  const agent = await scriptedAgent(jsonRpc, {
    sendStreamingMessage: () => {
      entered += 1;
      if (entered === 101) all.resolve();
    },
    listTasks: () => page(),
  });
  // No lookup happens before the timeout.
  const sleep = (_: number, signal?: AbortSignal): Promise<void> =>
    new Promise((_resolve, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
  const { client } = await connectTo(agent, { sleep });
  const failures: unknown[] = [];
  const sender = new AbortController();
  const cancelOnAbort = { onFailure: (error: unknown) => failures.push(error) };
  const sent = Array.from({ length: 101 }, () =>
    client.sendStreamingMessage('go', { signal: sender.signal, cancelOnAbort }).next(),
  );
  await all.promise;
  sender.abort(new Error('enough'));
  await Promise.allSettled(sent);
  expect(failures).toMatchObject([{ code: 'UNAVAILABLE' }]);
  await client.close({ graceMs: 1 });
  expect(failures).toHaveLength(101);
});
