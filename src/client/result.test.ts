import { describe, expect, test } from 'vitest';
import { LegateError, message } from '../protocol/index.ts';
import { agentMessage, artifactOf, chunk, status, task } from './testing/fixtures.ts';
import { connectTo, scriptedAgent, speeches } from './testing/scripted-agent.ts';

describe.each(speeches)('waiting over $binding $version', (speech) => {
  test('a sent message gives its finished task, put together from the stream', async () => {
    const agent = await scriptedAgent(speech, {
      sendStreamingMessage: (_, stream) => {
        stream.send({ task: task('TASK_STATE_SUBMITTED') });
        stream.send(status('TASK_STATE_WORKING', 'thinking'));
        stream.send(chunk('a', 'one ', false));
        stream.send(chunk('a', 'two', true));
        stream.send(status('TASK_STATE_COMPLETED'));
        stream.end();
      },
    });
    const { client } = await connectTo(agent);
    expect(await client.sendAndWait('Hello')).toEqual({
      task: task('TASK_STATE_COMPLETED', {
        history: [agentMessage('thinking')],
        artifacts: [artifactOf('a', 'one two')],
      }),
    });
  });

  test('a plain message is an answer too', async () => {
    const agent = await scriptedAgent(speech, {
      sendStreamingMessage: (_, stream) => {
        stream.send({ message: agentMessage('reply') });
        stream.end();
      },
    });
    const { client } = await connectTo(agent);
    expect(await client.sendAndWait('Hello')).toEqual({ message: agentMessage('reply') });
  });

  test.each(['TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_AUTH_REQUIRED'] as const)(
    'stops at %s although the stream stays open',
    async (state) => {
      const agent = await scriptedAgent(speech, {
        sendStreamingMessage: (_, stream) => {
          stream.send({ task: task('TASK_STATE_WORKING') });
          stream.send(status(state, 'your turn'));
        },
      });
      const { client } = await connectTo(agent);
      const answer = await client.sendAndWait('Hello');
      expect(answer).toMatchObject({ task: { status: { state } } });
    },
  );

  test('the question that a message answers is not taken for a new one', async () => {
    const agent = await scriptedAgent(speech, {
      sendStreamingMessage: (_, stream) => {
        stream.send({ task: task('TASK_STATE_INPUT_REQUIRED') });
        stream.send(status('TASK_STATE_WORKING'));
        stream.send(status('TASK_STATE_COMPLETED'));
        stream.end();
      },
    });
    const { client } = await connectTo(agent);
    const answer = await client.sendAndWait(message('The red one', { taskId: 'task-1' }));
    expect(answer).toMatchObject({ task: { status: { state: 'TASK_STATE_COMPLETED' } } });
  });

  test('without streaming, polls at growing intervals', async () => {
    const agent = await scriptedAgent(
      speech,
      {
        sendMessage: () => ({ task: task('TASK_STATE_WORKING') }),
        getTask: (_, { attempt }) =>
          task(attempt < 9 ? 'TASK_STATE_WORKING' : 'TASK_STATE_COMPLETED'),
      },
      { streaming: false },
    );
    const { client, slept } = await connectTo(agent);
    const answer = await client.sendAndWait('Hello');
    expect(answer).toEqual({ task: task('TASK_STATE_COMPLETED') });
    expect(slept).toEqual([2000, 3000, 4500, 6750, 10125, 15187.5, 22781.25, 30000, 30000]);
  });

  test('without streaming, an answer to a question is sent blocking', async () => {
    const agent = await scriptedAgent(
      speech,
      {
        sendMessage: (request) => {
          expect(request.configuration?.returnImmediately ?? false).toBe(false);
          return { task: task('TASK_STATE_INPUT_REQUIRED') };
        },
      },
      { streaming: false },
    );
    const { client } = await connectTo(agent);
    const answer = await client.sendAndWait(message('The red one', { taskId: 'task-1' }));
    expect(answer).toMatchObject({ task: { status: { state: 'TASK_STATE_INPUT_REQUIRED' } } });
    expect(agent.of('getTask')).toHaveLength(0);
  });

  test('waits for an existing task by its stream', async () => {
    const agent = await scriptedAgent(speech, {
      subscribeToTask: (_, stream) => {
        stream.send({ task: task('TASK_STATE_WORKING', { artifacts: [artifactOf('a', 'one ')] }) });
        stream.send(chunk('a', 'two', true));
        stream.send(status('TASK_STATE_FAILED', 'sorry'));
        stream.end();
      },
    });
    const { client } = await connectTo(agent);
    const ended = await client.waitForEnd('task-1');
    expect(ended.status.state).toBe('TASK_STATE_FAILED');
    expect(ended.artifacts).toEqual([artifactOf('a', 'one two')]);
  });

  test('a task that is already over is fetched (3.1.6)', async () => {
    const agent = await scriptedAgent(speech, {
      subscribeToTask: () => {
        throw new LegateError('UNSUPPORTED_OPERATION', 'the task has ended');
      },
      getTask: () => task('TASK_STATE_CANCELED'),
    });
    const { client } = await connectTo(agent);
    expect(await client.waitForEnd('task-1')).toEqual(task('TASK_STATE_CANCELED'));
  });

  test('a task that waits for its caller is returned at once', async () => {
    const agent = await scriptedAgent(speech, {
      subscribeToTask: (_, stream) => stream.send({ task: task('TASK_STATE_INPUT_REQUIRED') }),
    });
    const { client } = await connectTo(agent);
    expect((await client.waitForEnd('task-1')).status.state).toBe('TASK_STATE_INPUT_REQUIRED');
  });

  test('without streaming, a task is polled for', async () => {
    const agent = await scriptedAgent(
      speech,
      {
        getTask: (_, { attempt }) =>
          task(attempt < 3 ? 'TASK_STATE_WORKING' : 'TASK_STATE_INPUT_REQUIRED'),
      },
      { streaming: false },
    );
    const { client } = await connectTo(agent, { poll: { initialMs: 10, maximumMs: 12 } });
    expect((await client.waitForEnd('task-1')).status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    expect(agent.of('getTask')).toHaveLength(3);
  });

  test('waiting for a task that does not exist is an error', async () => {
    const agent = await scriptedAgent(speech, {
      subscribeToTask: () => {
        throw new LegateError('TASK_NOT_FOUND', 'no task task-1');
      },
    });
    const { client } = await connectTo(agent);
    await expect(client.waitForEnd('task-1')).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' });
  });
});
