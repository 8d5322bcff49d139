import { expect, test } from 'vitest';
import type { Part, StreamResponse } from '../../protocol/index.ts';
import { RemoteEvents } from './remote-events.ts';

function update(text: string, how: { append?: true; lastChunk?: true } = {}): StreamResponse {
  const artifact = { artifactId: 'a', parts: [{ text }] };
  return { artifactUpdate: { taskId: 't', contextId: 'c', artifact, ...how } };
}

function delivered(events: RemoteEvents, ...responses: StreamResponse[]) {
  return responses
    .flatMap((response) => [...events.accept({ response })])
    .flatMap((event) => ('artifact' in event ? [[event.artifact.artifactId, event.append]] : []));
}

test('what a peer adds to an artifact that it had completed goes into another one, in later turns too', () => {
  const first = new RemoteEvents();
  const seen = delivered(first, update('one '), update('two', { append: true, lastChunk: true }));
  expect(seen).toEqual([
    ['a', false],
    ['a', true],
  ]);
  expect(delivered(first, update('three', { append: true }))).toEqual([['a~2', false]]);

  const completed = new RemoteEvents();
  delivered(completed, update('one', { lastChunk: true }));
  const later = new RemoteEvents({ delivered: completed.delivered });
  expect(delivered(later, update('two', { append: true }))).toEqual([['a~2', false]]);
  expect(delivered(later, update('three', { append: true }))).toEqual([['a~2', true]]);
});

test('an artifact of an earlier turn is gone on with, or replaced, under its own name', () => {
  const open = new RemoteEvents();
  delivered(open, update('one '));
  expect(
    delivered(new RemoteEvents({ delivered: open.delivered }), update('two', { append: true })),
  ).toEqual([['a', true]]);
  const completed = new RemoteEvents();
  delivered(completed, update('one', { lastChunk: true }));
  const later = new RemoteEvents({ delivered: completed.delivered });
  expect(delivered(later, update('new '), update('version', { append: true }))).toEqual([
    ['a', false],
    ['a', true],
  ]);
});

test('artifacts that were delivered are not delivered again, complete or not', () => {
  const first = new RemoteEvents();
  delivered(first, update('one', { lastChunk: true }));
  const later = new RemoteEvents({ delivered: first.delivered });
  const artifacts = [{ artifactId: 'a', parts: [{ text: 'one' }] }];
  const status = { state: 'TASK_STATE_WORKING' } as const;
  expect(delivered(later, { task: { id: 't', contextId: 'c', status, artifacts } })).toEqual([]);
});

test('text that came in chunks is known when a snapshot has it in one part, and its rest is added', () => {
  const first = new RemoteEvents();
  delivered(first, update('one '), update('two ', { append: true }));
  const working = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } } as const;
  const snapshot = (text: string): StreamResponse => ({
    task: { ...working, artifacts: [{ artifactId: 'a', parts: [{ text }] }] },
  });
  const same = new RemoteEvents({ delivered: first.delivered });
  expect(delivered(same, snapshot('one two '))).toEqual([]);
  const longer = new RemoteEvents({ delivered: first.delivered });
  expect([...longer.accept({ response: snapshot('one two three') })]).toEqual([
    { kind: 'known', taskId: 't', contextId: 'c' },
    {
      kind: 'chunk',
      artifact: { artifactId: 'a', parts: [{ text: 'three' }] },
      append: true,
      lastChunk: false,
    },
  ]);
  expect(
    delivered(new RemoteEvents({ delivered: longer.delivered }), snapshot('one two three')),
  ).toEqual([]);
  const other = new RemoteEvents({ delivered: first.delivered });
  expect(delivered(other, snapshot('another'))).toEqual([['a', false]]);
});

const ids = { taskId: 't', contextId: 'c' };

function chunk(
  artifactId: string,
  parts: readonly Part[],
  append = true,
): { response: StreamResponse } {
  return { response: { artifactUpdate: { ...ids, artifact: { artifactId, parts }, append } } };
}

function limited(): RemoteEvents {
  return new RemoteEvents({ limits: { parts: 10_000, characters: 10_000_000 } });
}

test('an answer that was streamed in 40,000 chunks is whole', () => {
  const events = limited();
  for (let index = 0; index < 40_000; index += 1) {
    for (const _ of events.accept(chunk('a', [{ text: 'word ' }], index > 0)));
  }
  const status = { state: 'TASK_STATE_COMPLETED' } as const;
  const [end] = events.accept({ response: { statusUpdate: { ...ids, status } } });
  expect(end).toMatchObject({
    response: { task: { artifacts: [{ parts: [{ text: 'word '.repeat(40_000) }] }] } },
  });
});

test('more parts than are kept are an error, and nothing is cut in silence', () => {
  const events = limited();
  const rows = Array.from({ length: 5_000 }, (_, row): Part => ({ data: { row } }));
  for (const id of ['a', 'b']) for (const _ of events.accept(chunk(id, rows)));
  expect(() => [...events.accept(chunk('a', [{ data: 'one more' }]))]).toThrow(
    expect.objectContaining({
      code: 'PEER_INVALID',
      message:
        'the agent sent more than 10000 parts in one task; let it answer with less, or raise limits.parts (remoteAgent, joinPeers)',
    }),
  );
});

test('more text than is kept is an error, however few its parts', () => {
  const events = limited();
  const text = 'x'.repeat(999_990);
  for (let count = 0; count < 10; count += 1)
    for (const _ of events.accept(chunk('a', [{ text }])));
  expect(() => [...events.accept(chunk('a', [{ text: 'x'.repeat(100) }]))]).toThrow(
    /^the agent sent more than 10000000 characters/,
  );
});

test.each([
  [
    'progress',
    (index: number): StreamResponse => ({
      statusUpdate: {
        ...ids,
        status: {
          state: 'TASK_STATE_WORKING',
          message: {
            messageId: `m${index}`,
            role: 'ROLE_AGENT',
            parts: [{ text: 'x'.repeat(99) }],
          },
        },
      },
    }),
  ],
  [
    'metadata of the task',
    (index: number): StreamResponse => ({
      statusUpdate: {
        ...ids,
        status: { state: 'TASK_STATE_WORKING' },
        metadata: { [`key ${index}`]: 'x'.repeat(99) },
      },
    }),
  ],
  [
    'metadata of an artifact',
    (index: number): StreamResponse => ({
      artifactUpdate: {
        ...ids,
        artifact: { artifactId: 'a', parts: [], metadata: { [`key ${index}`]: 'x'.repeat(99) } },
        append: true,
      },
    }),
  ],
  [
    'empty artifacts',
    (index: number): StreamResponse => ({
      artifactUpdate: { ...ids, artifact: { artifactId: `a${index}`, parts: [] }, append: true },
    }),
  ],
])('more %s than is kept is an error', (_, event) => {
  const events = new RemoteEvents({ limits: { characters: 1_000 } });
  const send = (): void => {
    for (let index = 0; index < 100; index += 1) {
      for (const _event of events.accept({ response: event(index) }));
    }
  };
  expect(send).toThrow(/more than 1000 characters in one task.*limits\.characters/);
});

test('metadata and messages that are replaced count once', () => {
  const events = new RemoteEvents({ limits: { characters: 1_000 } });
  const message = {
    messageId: 'm',
    role: 'ROLE_AGENT',
    parts: [{ text: 'x'.repeat(99) }],
  } as const;
  const status = { state: 'TASK_STATE_WORKING', message } as const;
  const metadata = { step: 'x'.repeat(99) };
  const task = { id: 't', contextId: 'c', status, metadata };
  const send = (): void => {
    for (let index = 0; index < 100; index += 1) {
      for (const _event of events.accept({ response: { task } }));
    }
  };
  expect(send).not.toThrow();
});

test('an artifact that is sent whole again and again counts once', () => {
  const events = limited();
  const rows = Array.from({ length: 900 }, (_, row): Part => ({ data: { row } }));
  for (let count = 0; count < 30; count += 1)
    for (const _ of events.accept(chunk('a', rows, false)));
  const artifacts = [{ artifactId: 'a', parts: [{ text: 'the last' }, ...rows] }];
  const status = { state: 'TASK_STATE_COMPLETED' } as const;
  const task = { id: 't', contextId: 'c', status, artifacts };
  expect([...events.accept({ response: { task } })].at(-1)).toEqual({
    kind: 'end',
    response: { task },
  });
});

test('a later snapshot replaces the artifacts that it names and keeps the others and all metadata', () => {
  const events = new RemoteEvents();
  for (const _ of events.accept(chunk('a', [{ text: 'draft' }], false)));
  for (const _ of events.accept(chunk('b', [{ text: 'kept' }], false)));
  const status = { state: 'TASK_STATE_WORKING' } as const;
  for (const _ of events.accept({
    response: { statusUpdate: { ...ids, status, metadata: { one: 1 } } },
  }));
  const task = {
    id: 't',
    contextId: 'c',
    status: { state: 'TASK_STATE_COMPLETED' },
    artifacts: [{ artifactId: 'a', parts: [{ text: 'final' }] }],
    metadata: { two: 2 },
  } as const;
  expect([...events.accept({ response: { task } })]).toEqual([
    {
      kind: 'end',
      response: {
        task: {
          ...task,
          artifacts: [{ artifactId: 'b', parts: [{ text: 'kept' }] }, ...task.artifacts],
          metadata: { one: 1, two: 2 },
        },
      },
    },
  ]);
});

test('a stream without an end, and one that only shows the answered question, have none', () => {
  const events = new RemoteEvents();
  events.isAnswer = true;
  const status = { state: 'TASK_STATE_INPUT_REQUIRED' } as const;
  const response = { task: { id: 't', contextId: 'c', status } };
  expect([...events.accept({ response })].map(({ kind }) => kind)).toEqual(['known']);
  expect([...events.accept({ response })].map(({ kind }) => kind)).toEqual(['question']);
});
