import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JsonObject, Message, Part, StreamResponse, Task } from '../model.ts';
import * as arbitrary from '../testing/arbitraries.ts';
import { TaskFold } from './task-fold.ts';

const ids = { taskId: 't', contextId: 'c' };
const started: Task = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_SUBMITTED' } };

function chunk(artifactId: string, parts: readonly Part[], append = true): StreamResponse {
  return { artifactUpdate: { ...ids, artifact: { artifactId, parts }, append } };
}

function said(messageId: string): Message {
  return { messageId, role: 'ROLE_AGENT', parts: [{ text: messageId }] };
}

const parts = fc.array(
  fc.oneof(
    fc.string().map((text): Part => ({ text })),
    arbitrary.part,
  ),
  { minLength: 1, maxLength: 3 },
);
const event: fc.Arbitrary<StreamResponse> = fc
  .oneof(
    { weight: 4, arbitrary: fc.tuple(fc.constantFrom('a', 'b'), parts, fc.boolean()) },
    { weight: 1, arbitrary: arbitrary.message },
    { weight: 1, arbitrary: fc.option(arbitrary.message, { nil: undefined }) },
  )
  .map((made): StreamResponse => {
    if (Array.isArray(made)) return chunk(...made);
    if (made?.role === 'ROLE_USER') return { message: made };
    const status = { state: 'TASK_STATE_WORKING' } as const;
    return {
      statusUpdate: { ...ids, status: made === undefined ? status : { ...status, message: made } },
    };
  });

function foldOf(task: Task, events: readonly StreamResponse[]): TaskFold {
  const fold = new TaskFold(task);
  for (const each of events) fold.apply(each);
  return fold;
}

test('a log and any of its snapshots with the events after it fold to the same task', () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 20 }), fc.nat(20), (events, cut) => {
      const snapshot = foldOf(started, events.slice(0, cut)).toTask();
      const stored = JSON.parse(JSON.stringify(snapshot)) as Task;
      expect(foldOf(stored, events.slice(cut)).toTask()).toEqual(foldOf(started, events).toTask());
    }),
  );
});

test('later events do not change a task that was returned', () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 10 }), event, (events, later) => {
      const fold = foldOf(started, events);
      const task = fold.toTask();
      const before = structuredClone(task);
      fold.apply(later);
      expect(task).toEqual(before);
    }),
  );
});

test('text that is streamed in chunks reads as one text', () => {
  const words = ['Dear ', 'Ada', ', welcome.'];
  const events = words.map((text, index) => chunk('a', [{ text }], index > 0));
  expect(foldOf(started, events).toTask().artifacts).toEqual([
    { artifactId: 'a', parts: [{ text: 'Dear Ada, welcome.' }] },
  ]);
});

test('the parts of one event stay separate', () => {
  const fold = foldOf(started, [
    chunk('a', [{ text: 'one' }, { text: 'two' }], false),
    chunk('a', [{ text: ' and a half' }, { text: 'three' }]),
  ]);
  expect(fold.partsOf('a')).toEqual([
    { text: 'one' },
    { text: 'two and a half' },
    { text: 'three' },
  ]);
});

test.each<[string, Part, Part]>([
  ['of another media type', { text: 'a' }, { text: 'b', mediaType: 'text/markdown' }],
  ['with metadata', { text: 'a' }, { text: 'b', metadata: {} }],
  ['with a file name', { text: 'a', filename: 'a.txt' }, { text: 'b', filename: 'a.txt' }],
  ['after data', { data: 1 }, { text: 'b' }],
])('text %s is a part of its own', (_, one, other) => {
  const fold = foldOf(started, [chunk('a', [one], false), chunk('a', [other])]);
  expect(fold.partsOf('a')).toEqual([one, other]);
});

test('text of one media type is joined and keeps it', () => {
  const part = (text: string): Part => ({ text, mediaType: 'text/markdown' });
  const fold = foldOf(started, [chunk('a', [part('# Ti')], false), chunk('a', [part('tle')])]);
  expect(fold.partsOf('a')).toEqual([part('# Title')]);
});

test('the work for a chunk does not grow with the chunks before it', () => {
  const chunks = 40_000;
  let reads = 0;
  const fold = new TaskFold(started);
  for (let index = 0; index < chunks; index += 1) {
    const part: Part = Object.defineProperty({}, 'text', {
      enumerable: true,
      get() {
        reads += 1;
        return 'word ';
      },
    });
    fold.apply(chunk('a', [part], index > 0));
  }
  expect(reads).toBeLessThanOrEqual(chunks * 4);
  expect(fold.partsOf('a')).toHaveLength(1);
  expect(fold.partsOf('a')?.[0]?.text).toBe('word '.repeat(chunks));
});

test('what an artifact holds is not copied when a chunk is appended', () => {
  const fold = foldOf(started, [chunk('a', [{ data: 1 }], false)]);
  const parts = fold.partsOf('a');
  const first = parts?.[0];
  fold.apply(chunk('a', [{ data: 2 }]));
  expect(fold.partsOf('a')).toBe(parts);
  expect(parts?.[0]).toBe(first);
  expect(parts).toEqual([{ data: 1 }, { data: 2 }]);
});

test('one event may have more parts than a call can have arguments', () => {
  const many = Array.from({ length: 150_000 }, (_, index): Part => ({ text: String(index) }));
  const fold = foldOf(started, [chunk('a', [{ data: 'first' }], false), chunk('a', many)]);
  expect(fold.partsOf('a')).toHaveLength(150_001);
});

test('a status message moves to the history with the next status or message', () => {
  const status = (messageId?: string): StreamResponse => ({
    statusUpdate: {
      ...ids,
      status: {
        state: 'TASK_STATE_WORKING',
        ...(messageId !== undefined && { message: said(messageId) }),
      },
    },
  });
  const answer: Message = { ...said('answer'), role: 'ROLE_USER' };
  const fold = foldOf(started, [status('one'), status('question'), { message: answer }, status()]);
  expect(fold.history.map(({ messageId }) => messageId)).toEqual(['one', 'question', 'answer']);
  expect(fold.status).toEqual({ state: 'TASK_STATE_WORKING' });
});

test('metadata is merged, and a later name wins', () => {
  const update = (artifact: object): StreamResponse => ({
    artifactUpdate: { ...ids, artifact: { artifactId: 'a', parts: [], ...artifact }, append: true },
  });
  const fold = foldOf(started, [
    update({ name: 'draft', metadata: { one: 1 }, parts: [{ text: 'x' }] }),
    update({ name: 'final', description: 'why', metadata: { two: 2 } }),
  ]);
  expect(fold.toTask().artifacts).toEqual([
    {
      artifactId: 'a',
      name: 'final',
      description: 'why',
      metadata: { one: 1, two: 2 },
      parts: [{ text: 'x' }],
    },
  ]);
});

test('what was returned stays as it was when metadata is added later', () => {
  const update = (metadata: JsonObject): StreamResponse => ({
    statusUpdate: { ...ids, status: { state: 'TASK_STATE_WORKING' }, metadata },
  });
  const fold = foldOf({ ...started, metadata: { zero: 0 } }, [update({ one: 1 })]);
  const before = fold.toTask();
  fold.apply(update({ one: 'again', ['__proto__']: { two: 2 } }));
  expect(before.metadata).toEqual({ zero: 0, one: 1 });
  const { metadata = {} } = fold.toTask();
  expect(Object.entries(metadata)).toEqual([
    ['zero', 0],
    ['one', 'again'],
    ['__proto__', { two: 2 }],
  ]);
});

test('the cost of an event does not grow with the metadata before it', () => {
  const task: Task = { ...started, artifacts: [{ artifactId: 'a', parts: [{ text: 'x' }] }] };
  const update = (name: string): StreamResponse[] => {
    const metadata = { [name]: true };
    const artifact = { artifactId: 'a', parts: [], metadata };
    return [
      { artifactUpdate: { ...ids, artifact, append: true } },
      { statusUpdate: { ...ids, status: { state: 'TASK_STATE_WORKING' }, metadata } },
    ];
  };
  /** The least processor time of several runs: the others include collections of garbage. */
  const cost = (count: number): number => {
    const events = Array.from({ length: count }, (_, index) => update(`key ${index}`)).flat();
    const times = Array.from({ length: 5 }, () => {
      const before = process.cpuUsage();
      const folded = foldOf(task, events).toTask();
      const { user, system } = process.cpuUsage(before);
      expect(Object.keys(folded.metadata ?? {})).toHaveLength(count);
      expect(Object.keys(folded.artifacts?.[0]?.metadata ?? {})).toHaveLength(count);
      return user + system;
    });
    return Math.min(...times);
  };
  cost(500);
  // 8 where the cost is linear, 64 where each event copies what is there.
  expect(cost(8_000)).toBeLessThan(24 * Math.max(500, cost(1_000)));
});
