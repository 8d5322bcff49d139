import { describe, expect, test } from 'vitest';
import { LegateError, message, type StreamResponse, type Task } from '../protocol/index.ts';
import type { StreamEvent } from './index.ts';
import { agentMessage, artifactOf, chunk, status, task } from './testing/fixtures.ts';
import { connectTo, scriptedAgent, speeches } from './testing/scripted-agent.ts';

async function collect(events: AsyncIterable<StreamEvent>): Promise<StreamEvent[]> {
  const all: StreamEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

async function responses(events: AsyncIterable<StreamEvent>): Promise<StreamResponse[]> {
  return (await collect(events)).map(({ response }) => response);
}

const unsupported = () => new LegateError('UNSUPPORTED_OPERATION', 'the task has ended');

describe.each(speeches)('a broken stream over $binding $version', (speech) => {
  test('continues after the last event seen, and the message is sent once', async () => {
    const agent = await scriptedAgent(speech, {
      sendStreamingMessage: (_, stream) => {
        stream.send({ task: task('TASK_STATE_SUBMITTED') }, 1);
        stream.send(status('TASK_STATE_WORKING'), 2);
        stream.send(chunk('a', 'one ', false), 3);
        stream.cut();
      },
      subscribeToTask: (request, stream, { headers, attempt }) => {
        expect(request.id).toBe('task-1');
        expect(headers['last-event-id']).toBe(attempt === 1 ? '3' : '4');
        if (attempt === 1) {
          stream.send(chunk('a', 'two ', true), 4);
          stream.cut();
          return;
        }
        stream.send(chunk('a', 'three', true), 5);
        stream.send(status('TASK_STATE_COMPLETED'), 6);
        stream.end();
      },
    });
    const { client } = await connectTo(agent);
    const got = await collect(client.sendStreamingMessage('Hello'));
    expect(got.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(agent.of('sendStreamingMessage')).toHaveLength(1);
    expect(agent.of('subscribeToTask')).toHaveLength(2);
  });

  test('drops events that a peer repeats after the last event seen', async () => {
    const agent = await scriptedAgent(speech, {
      sendStreamingMessage: (_, stream) => {
        stream.send({ task: task('TASK_STATE_WORKING') }, 1);
        stream.send(chunk('a', 'one ', false), 2);
        stream.send(chunk('a', 'two ', true), 3);
        stream.cut();
      },
      subscribeToTask: (_, stream) => {
        stream.send(chunk('a', 'one ', false), 2);
        stream.send(chunk('a', 'two ', true), 3);
        stream.send(chunk('a', 'three', true), 4);
        stream.send(status('TASK_STATE_COMPLETED'), 5);
        stream.end();
      },
    });
    const { client } = await connectTo(agent);
    const got = await collect(client.sendStreamingMessage('Hello'));
    expect(got.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5]);
  });

  test('without ids, takes from the snapshot only what was missed', async () => {
    const agent = await scriptedAgent(speech, {
      sendStreamingMessage: (_, stream) => {
        stream.send({ task: task('TASK_STATE_SUBMITTED') });
        stream.send(status('TASK_STATE_WORKING', 'first'));
        stream.send(chunk('a', 'one ', false));
        stream.cut();
      },
      subscribeToTask: (_, stream, { headers }) => {
        expect(headers['last-event-id']).toBeUndefined();
        const snapshot: Task = {
          ...task('TASK_STATE_WORKING'),
          status: { state: 'TASK_STATE_WORKING', message: agentMessage('third') },
          history: [agentMessage('first'), agentMessage('second')],
          artifacts: [artifactOf('a', 'one ', 'two '), artifactOf('b', 'new')],
        };
        stream.send({ task: snapshot });
        stream.send(chunk('a', 'three', true));
        stream.send(status('TASK_STATE_COMPLETED'));
        stream.end();
      },
    });
    const { client } = await connectTo(agent);
    expect(await responses(client.sendStreamingMessage('Hello'))).toEqual([
      { task: task('TASK_STATE_SUBMITTED') },
      status('TASK_STATE_WORKING', 'first'),
      chunk('a', 'one ', false),
      status('TASK_STATE_WORKING', 'second'),
      chunk('a', 'two ', true),
      chunk('b', 'new', false),
      status('TASK_STATE_WORKING', 'third'),
      chunk('a', 'three', true),
      status('TASK_STATE_COMPLETED'),
    ]);
  });

  test('a task that ended meanwhile is fetched and delivered last', async () => {
    const ended = task('TASK_STATE_COMPLETED', { artifacts: [artifactOf('a', 'one ', 'two')] });
    const agent = await scriptedAgent(speech, {
      sendStreamingMessage: (_, stream) => {
        stream.send({ task: task('TASK_STATE_WORKING') });
        stream.send(chunk('a', 'one ', false));
        stream.cut();
      },
      subscribeToTask: () => {
        throw unsupported();
      },
      getTask: () => ended,
    });
    const { client } = await connectTo(agent);
    expect(await responses(client.sendStreamingMessage('Hello'))).toEqual([
      { task: task('TASK_STATE_WORKING') },
      chunk('a', 'one ', false),
      chunk('a', 'two', true),
      { task: ended },
    ]);
  });

  test('a clean close in mid-work is a break too', async () => {
    const agent = await scriptedAgent(speech, {
      sendStreamingMessage: (_, stream) => {
        stream.send({ task: task('TASK_STATE_WORKING') }, 1);
        stream.end();
      },
      subscribeToTask: (_, stream) => {
        stream.send(status('TASK_STATE_COMPLETED'), 2);
        stream.end();
      },
    });
    const { client } = await connectTo(agent);
    expect(await responses(client.sendStreamingMessage('Hello'))).toEqual([
      { task: task('TASK_STATE_WORKING') },
      status('TASK_STATE_COMPLETED'),
    ]);
  });

  test('a close while the task waits for its caller is the end', async () => {
    const agent = await scriptedAgent(speech, {
      sendStreamingMessage: (_, stream) => {
        stream.send({ task: task('TASK_STATE_WORKING') });
        stream.send(status('TASK_STATE_INPUT_REQUIRED', 'which one?'));
        stream.end();
      },
    });
    const { client } = await connectTo(agent);
    expect(await responses(client.sendStreamingMessage('Hello'))).toHaveLength(2);
    expect(agent.of('subscribeToTask')).toHaveLength(0);
  });

  test('a question found on resuming ends the turn, although subscriptions stay open', async () => {
    const agent = await scriptedAgent(speech, {
      sendStreamingMessage: (_, stream) => {
        stream.send({ task: task('TASK_STATE_WORKING') }, 1);
        stream.cut();
      },
      subscribeToTask: (_, stream) => stream.send(status('TASK_STATE_INPUT_REQUIRED', 'which?'), 2),
    });
    const { client } = await connectTo(agent);
    expect(await responses(client.sendStreamingMessage('Hello'))).toEqual([
      { task: task('TASK_STATE_WORKING') },
      status('TASK_STATE_INPUT_REQUIRED', 'which?'),
    ]);
  });

  test('an error as the first event fails the call, and no stream opens', async () => {
    const refuse = (stream: { write(text: string): void; end(): void }) => {
      const error = { code: -32004, message: 'no streams today' };
      const frame = speech.binding === 'JSONRPC' ? { jsonrpc: '2.0', id: 1, error } : error;
      stream.write(`event: error\ndata: ${JSON.stringify(frame)}\n\n`);
      stream.end();
    };
    const agent = await scriptedAgent(speech, {
      sendStreamingMessage: (_, stream) => refuse(stream),
      subscribeToTask: (_, stream) => refuse(stream),
      sendMessage: () => ({ task: task('TASK_STATE_COMPLETED') }),
      getTask: () => task('TASK_STATE_FAILED'),
    });
    const { client } = await connectTo(agent);
    expect(await responses(client.sendStreamingMessage('Hello'))).toEqual([
      { task: task('TASK_STATE_COMPLETED') },
    ]);
    await expect(responses(client.subscribeToTask('task-1'))).rejects.toThrow('no streams today');
    expect(await client.waitForEnd('task-1')).toEqual(task('TASK_STATE_FAILED'));
  });

  test('a peer that cannot be reached again is abandoned after the tries allowed', async () => {
    const agent = await scriptedAgent(speech, {
      sendStreamingMessage: (_, stream) => {
        stream.send({ task: task('TASK_STATE_WORKING') });
        stream.cut();
      },
      subscribeToTask: (_, _stream, { response }) => {
        response.destroy();
      },
    });
    const { client, slept } = await connectTo(agent);
    await expect(responses(client.sendStreamingMessage('Hello'))).rejects.toMatchObject({
      code: 'PEER_UNREACHABLE',
    });
    expect(agent.of('subscribeToTask')).toHaveLength(3);
    expect(slept).toEqual([500, 1000, 2000]);
  });

  test('with resume off, a break is an error', async () => {
    const agent = await scriptedAgent(speech, {
      sendStreamingMessage: (_, stream) => {
        stream.send({ task: task('TASK_STATE_WORKING') });
        stream.cut();
      },
    });
    const { client } = await connectTo(agent, { resume: false });
    await expect(responses(client.sendStreamingMessage('Hello'))).rejects.toMatchObject({
      code: 'PEER_UNREACHABLE',
    });
    expect(agent.of('subscribeToTask')).toHaveLength(0);
  });

  test('a break before the first event is an error: the message is not sent again', async () => {
    const agent = await scriptedAgent(speech, {
      sendStreamingMessage: (_, stream) => {
        stream.keepAlive();
        stream.cut();
      },
    });
    const { client } = await connectTo(agent);
    await expect(responses(client.sendStreamingMessage('Hello'))).rejects.toMatchObject({
      code: 'PEER_UNREACHABLE',
    });
    expect(agent.of('sendStreamingMessage')).toHaveLength(1);
  });

  test('a subscription that breaks before its first event is made again', async () => {
    const agent = await scriptedAgent(speech, {
      subscribeToTask: (_, stream, { attempt }) => {
        if (attempt === 1) {
          stream.keepAlive();
          stream.cut();
          return;
        }
        stream.send({ task: task('TASK_STATE_COMPLETED') });
        stream.end();
      },
    });
    const { client } = await connectTo(agent);
    expect(await responses(client.subscribeToTask('task-1'))).toHaveLength(1);
  });

  test('the answer to a question is followed beyond the question', async () => {
    const events = [
      { task: task('TASK_STATE_INPUT_REQUIRED') },
      chunk('a', 'one', false),
      status('TASK_STATE_WORKING'),
      status('TASK_STATE_INPUT_REQUIRED', 'and which size?'),
    ];
    const agent = await scriptedAgent(speech, {
      // Stays open at the second question, as some peers do.
      sendStreamingMessage: (_, stream) => {
        for (const event of events) stream.send(event);
      },
    });
    const { client } = await connectTo(agent);
    const answer = message('The red one', { taskId: 'task-1', contextId: 'context-1' });
    expect(await responses(client.sendStreamingMessage(answer))).toEqual(events);
  });

  test('without streaming, the task is polled and its changes are delivered as a stream', async () => {
    const looks = [
      task('TASK_STATE_WORKING', { artifacts: [artifactOf('a', 'one ')] }),
      task('TASK_STATE_WORKING', { artifacts: [artifactOf('a', 'one ')] }),
      task('TASK_STATE_WORKING', { artifacts: [artifactOf('a', 'one ', 'two')] }),
      task('TASK_STATE_COMPLETED', { artifacts: [artifactOf('a', 'one ', 'two')] }),
    ];
    const agent = await scriptedAgent(
      speech,
      {
        sendMessage: (request) => {
          expect(request.configuration?.returnImmediately).toBe(true);
          return { task: task('TASK_STATE_SUBMITTED') };
        },
        getTask: (_, { attempt }) => looks[attempt - 1],
      },
      { streaming: false },
    );
    const { client, slept } = await connectTo(agent);
    expect(await responses(client.sendStreamingMessage('Hello'))).toEqual([
      { task: task('TASK_STATE_SUBMITTED') },
      chunk('a', 'one ', false),
      status('TASK_STATE_WORKING'),
      chunk('a', 'two', true),
      { task: looks[3] },
    ]);
    expect(slept).toEqual([2000, 2000, 3000, 2000]);
  });

  test('a card that promises streaming without support leads to a plain send and polling', async () => {
    const agent = await scriptedAgent(speech, {
      sendStreamingMessage: () => {
        throw new LegateError('UNSUPPORTED_OPERATION', 'no streaming here');
      },
      sendMessage: () => ({ task: task('TASK_STATE_WORKING') }),
      getTask: () => task('TASK_STATE_COMPLETED'),
    });
    const { client } = await connectTo(agent);
    expect(await responses(client.sendStreamingMessage('Hello'))).toEqual([
      { task: task('TASK_STATE_WORKING') },
      { task: task('TASK_STATE_COMPLETED') },
    ]);
  });

  test('subscribing to a task that has ended throws what the peer says (3.1.6)', async () => {
    const agent = await scriptedAgent(speech, {
      subscribeToTask: () => {
        throw unsupported();
      },
    });
    const { client } = await connectTo(agent);
    await expect(responses(client.subscribeToTask('task-1'))).rejects.toMatchObject({
      code: 'UNSUPPORTED_OPERATION',
    });
  });

  test('a stream can be continued from an id that an earlier client has seen', async () => {
    const agent = await scriptedAgent(speech, {
      subscribeToTask: (_, stream, { headers }) => {
        expect(headers['last-event-id']).toBe('7');
        stream.send(chunk('a', 'old', true), 7);
        stream.send(chunk('a', 'new', true), 8);
        stream.send(status('TASK_STATE_COMPLETED'), 9);
        stream.end();
      },
    });
    const { client } = await connectTo(agent);
    const got = await collect(client.subscribeToTask('task-1', { lastEventId: '7' }));
    expect(got.map(({ id }) => id)).toEqual(['8', '9']);
  });
});

const [speech] = speeches;
if (speech === undefined) throw new Error('there is no way to speak');

test('a peer that numbers the events of each connection again loses none of them', async () => {
  const agent = await scriptedAgent(speech, {
    sendStreamingMessage: (_, stream) => {
      stream.send({ task: task('TASK_STATE_WORKING') }, 1);
      stream.send(chunk('a', 'one ', false), 2);
      stream.send(chunk('a', 'two ', true), 3);
      stream.cut();
    },
    subscribeToTask: (_, stream) => {
      const artifacts = [artifactOf('a', 'one ', 'two ')];
      stream.send({ task: task('TASK_STATE_WORKING', { artifacts }) }, 1);
      stream.send(chunk('a', 'three', true), 2);
      stream.send(status('TASK_STATE_COMPLETED'), 3);
      stream.end();
    },
  });
  const { client } = await connectTo(agent);
  expect(await responses(client.sendStreamingMessage('Hello'))).toEqual([
    { task: task('TASK_STATE_WORKING') },
    chunk('a', 'one ', false),
    chunk('a', 'two ', true),
    chunk('a', 'three', true),
    status('TASK_STATE_COMPLETED'),
  ]);
});

test('an id that no header can carry is not sent back', async () => {
  const agent = await scriptedAgent(speech, {
    sendStreamingMessage: (_, stream) => {
      stream.send({ task: task('TASK_STATE_WORKING') }, 'événement 一');
      stream.cut();
    },
    subscribeToTask: (_, stream, { headers }) => {
      expect(headers['last-event-id']).toBeUndefined();
      stream.send({ task: task('TASK_STATE_COMPLETED') });
      stream.end();
    },
  });
  const { client } = await connectTo(agent);
  expect(await responses(client.sendStreamingMessage('Hello'))).toHaveLength(2);
});

test('a peer that ignores Last-Event-ID and sends a snapshot is taken up from there', async () => {
  const agent = await scriptedAgent(speech, {
    sendStreamingMessage: (_, stream) => {
      stream.send({ task: task('TASK_STATE_WORKING') }, 'x1');
      stream.send(chunk('a', 'one ', false), 'x2');
      stream.cut();
    },
    subscribeToTask: (_, stream, { headers }) => {
      expect(headers['last-event-id']).toBe('x2');
      const artifacts = [artifactOf('a', 'one two ')];
      stream.send({ task: task('TASK_STATE_WORKING', { artifacts }) });
      stream.send(status('TASK_STATE_COMPLETED'));
      stream.end();
    },
  });
  const { client } = await connectTo(agent);
  expect(await responses(client.sendStreamingMessage('Hello'))).toEqual([
    { task: task('TASK_STATE_WORKING') },
    chunk('a', 'one ', false),
    chunk('a', 'two ', true),
    status('TASK_STATE_COMPLETED'),
  ]);
});

test('a stream that opens with an update instead of a task can be resumed all the same', async () => {
  const agent = await scriptedAgent(speech, {
    sendStreamingMessage: (_, stream) => {
      stream.send(status('TASK_STATE_WORKING', 'first'));
      stream.cut();
    },
    subscribeToTask: ({ id }, stream) => {
      expect(id).toBe('task-1');
      stream.send({ task: { ...task('TASK_STATE_COMPLETED'), history: [agentMessage('first')] } });
      stream.end();
    },
  });
  const { client } = await connectTo(agent);
  const got = await responses(client.sendStreamingMessage('Hello'));
  expect(got.map((each) => Object.keys(each)[0])).toEqual(['statusUpdate', 'task']);
});

test('messages of earlier turns are not delivered again', async () => {
  const agent = await scriptedAgent(speech, {
    sendStreamingMessage: (_, stream) => {
      stream.send({ task: task('TASK_STATE_WORKING') });
      stream.cut();
    },
    subscribeToTask: (_, stream) => {
      const history = [
        agentMessage('old question'),
        message('answer', { messageId: 'mine' }),
        agentMessage('news'),
      ];
      stream.send({ task: task('TASK_STATE_WORKING', { history }) });
      stream.send(status('TASK_STATE_COMPLETED'));
      stream.end();
    },
  });
  const { client } = await connectTo(agent);
  const sent = message('answer', { messageId: 'mine' });
  expect(await responses(client.sendStreamingMessage(sent))).toEqual([
    { task: task('TASK_STATE_WORKING') },
    status('TASK_STATE_WORKING', 'news'),
    status('TASK_STATE_COMPLETED'),
  ]);
});

test('a peer whose streams close at once without news is polled in the end', async () => {
  const agent = await scriptedAgent(speech, {
    sendStreamingMessage: (_, stream) => {
      stream.send({ task: task('TASK_STATE_WORKING') });
      stream.end();
    },
    subscribeToTask: (_, stream) => {
      stream.send({ task: task('TASK_STATE_WORKING') });
      stream.end();
    },
    getTask: () => task('TASK_STATE_COMPLETED'),
  });
  const { client } = await connectTo(agent);
  expect(await responses(client.sendStreamingMessage('Hello'))).toEqual([
    { task: task('TASK_STATE_WORKING') },
    { task: task('TASK_STATE_COMPLETED') },
  ]);
  expect(agent.of('subscribeToTask')).toHaveLength(3);
});

test('a snapshot before the close follows the chunks that only it has', async () => {
  const ended = task('TASK_STATE_COMPLETED', { artifacts: [artifactOf('a', 'one', 'two')] });
  const agent = await scriptedAgent(speech, {
    sendStreamingMessage: (_, stream) => {
      stream.send({ task: task('TASK_STATE_WORKING') });
      stream.send(chunk('a', 'one', false));
      stream.send({ task: ended });
      stream.end();
    },
  });
  const { client } = await connectTo(agent);
  expect(await responses(client.sendStreamingMessage('Hello'))).toEqual([
    { task: task('TASK_STATE_WORKING') },
    chunk('a', 'one', false),
    chunk('a', 'two', true),
    { task: ended },
  ]);
});

test('leaving the loop closes the connection and cancels nothing', async () => {
  let isClosed = false;
  const agent = await scriptedAgent(speech, {
    sendStreamingMessage: (_, stream, { response }) => {
      response.on('close', () => {
        isClosed = true;
      });
      stream.send({ task: task('TASK_STATE_WORKING') });
    },
  });
  const { client } = await connectTo(agent);
  for await (const _ of client.sendStreamingMessage('Hello')) break;
  await expect.poll(() => isClosed).toBe(true);
  expect(agent.of('cancelTask')).toHaveLength(0);
});

test('an abort ends the stream with its reason, in the middle of waiting too', async () => {
  const agent = await scriptedAgent(speech, {
    sendStreamingMessage: (_, stream) => stream.send({ task: task('TASK_STATE_WORKING') }),
  });
  const { client } = await connectTo(agent);
  const controller = new AbortController();
  const reason = new Error('enough');
  const reading = (async () => {
    for await (const _ of client.sendStreamingMessage('Hello', { signal: controller.signal })) {
      setImmediate(() => controller.abort(reason));
    }
  })();
  await expect(reading).rejects.toBe(reason);
});

test('the whole stream is bounded by its own time', async () => {
  const agent = await scriptedAgent(speech, {
    sendStreamingMessage: (_, stream) => stream.send({ task: task('TASK_STATE_WORKING') }),
  });
  const { client } = await connectTo(agent);
  await expect(
    responses(client.sendStreamingMessage('Hello', { timeoutMs: 30 })),
  ).rejects.toMatchObject({
    code: 'REQUEST_TIMEOUT',
    message: 'the task did not end within 30 ms',
  });
});

test('a long stream arrives whole and in order', async () => {
  const agent = await scriptedAgent(speech, {
    sendStreamingMessage: (_, stream) => {
      stream.send({ task: task('TASK_STATE_WORKING') }, 1);
      for (let index = 2; index <= 4000; index += 1) stream.send(chunk('a', 'x', true), index);
      stream.send(status('TASK_STATE_COMPLETED'), 4001);
      stream.end();
    },
  });
  const { client } = await connectTo(agent);
  const got = await collect(client.sendStreamingMessage('Hello'));
  expect(got).toHaveLength(4001);
  expect(got.every(({ sequence }, index) => sequence === index + 1)).toBe(true);
});

test('an event beyond the bound is refused, one at the bound is not', async () => {
  const agent = await scriptedAgent(speech, {
    sendStreamingMessage: (_, stream, { attempt }) => {
      const frame = { jsonrpc: '2.0', id: 1, result: { task: task('TASK_STATE_COMPLETED') } };
      const line = `data: ${JSON.stringify(frame)}`;
      stream.write(`${line.padEnd(attempt === 1 ? 1000 : 1001, ' ')}\n\n`);
      stream.end();
    },
  });
  const { client } = await connectTo(agent, { maxEventSize: 1000 });
  expect(await responses(client.sendStreamingMessage('Hello'))).toHaveLength(1);
  await expect(responses(client.sendStreamingMessage('Hello'))).rejects.toMatchObject({
    code: 'PEER_INVALID',
  });
});
