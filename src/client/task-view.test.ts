import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JsonValue, Part, StreamResponse, Task } from '../protocol/index.ts';
import { TaskView } from './task-view.ts';
import { agentMessage, artifactOf, chunk, status, task } from './testing/fixtures.ts';

/** A stream of an orderly agent: an artifact is begun once and then grows. */
const streamOfUpdates = fc
  .array(
    fc.oneof(
      fc.record({ artifactId: fc.constantFrom('a', 'b', 'c'), part: partOf() }),
      fc.record({ messageId: fc.uuid() }),
    ),
    { maxLength: 20 },
  )
  .map((steps) => {
    const begun = new Set<string>();
    return steps.map((step): StreamResponse => {
      if ('messageId' in step) return status('TASK_STATE_WORKING', step.messageId);
      const { artifactId, part } = step;
      const append = begun.has(artifactId);
      begun.add(artifactId);
      const place = { taskId: 'task-1', contextId: 'context-1' };
      return { artifactUpdate: { ...place, artifact: { artifactId, parts: [part] }, append } };
    });
  });

function partOf(): fc.Arbitrary<Part> {
  const texts = fc.string({ minLength: 1 }).map((text): Part => ({ text }));
  const values = fc.json().map((json): Part => ({ data: JSON.parse(json) as JsonValue }));
  return fc.oneof(texts, values);
}

function viewOf(events: readonly StreamResponse[]): TaskView {
  const view = new TaskView(task('TASK_STATE_SUBMITTED'));
  for (const event of events) view.apply(event);
  return view;
}

test('what is missing leads from any point of a stream to the snapshot of a later one', () => {
  fc.assert(
    fc.property(streamOfUpdates, fc.nat(20), (events, cut) => {
      const snapshot = viewOf(events).toTask();
      const view = viewOf(events.slice(0, cut));
      const before = view.toTask();
      const missing = view.catchUp(snapshot);
      expect(view.toTask()).toEqual(snapshot);
      // The same events, applied by a consumer of its own, lead to the same artifacts and status.
      const consumer = new TaskView(before);
      for (const event of missing) consumer.apply(event);
      expect(consumer.toTask().artifacts).toEqual(snapshot.artifacts);
      expect(consumer.status).toEqual(snapshot.status);
    }),
  );
});

test('a snapshot without changes yields no events', () => {
  fc.assert(
    fc.property(streamOfUpdates, (events) => {
      const view = viewOf(events);
      expect(view.catchUp(viewOf(events).toTask())).toEqual([]);
    }),
  );
});

test('a snapshot that is behind takes nothing back', () => {
  const view = viewOf([chunk('a', 'one ', false), chunk('a', 'two', true)]);
  expect(
    view.catchUp(task('TASK_STATE_SUBMITTED', { artifacts: [artifactOf('a', 'one ')] })),
  ).toEqual([]);
  expect(view.toTask().artifacts).toEqual([artifactOf('a', 'one two')]);
});

test('an artifact that was replaced comes whole', () => {
  const view = viewOf([chunk('a', 'draft', false)]);
  const snapshot = task('TASK_STATE_SUBMITTED', { artifacts: [artifactOf('a', 'final')] });
  expect(view.catchUp(snapshot)).toEqual([chunk('a', 'final', false)]);
});

test('chunks that a peer joined into one part are recognised', () => {
  const view = viewOf([chunk('a', 'one ', false), chunk('a', 'two ', true)]);
  const snapshot = task('TASK_STATE_SUBMITTED', { artifacts: [artifactOf('a', 'one two three')] });
  expect(view.catchUp(snapshot)).toEqual([chunk('a', 'three', true)]);
  expect(view.catchUp(snapshot)).toEqual([]);
});

test('the end of a task is left to its snapshot', () => {
  const view = viewOf([status('TASK_STATE_WORKING')]);
  const ended: Task = task('TASK_STATE_COMPLETED', { artifacts: [artifactOf('a', 'done')] });
  expect(view.catchUp(ended)).toEqual([chunk('a', 'done', false)]);
  expect(view.toTask()).toEqual(ended);
});

test('missed messages are delivered once, in order', () => {
  const view = viewOf([status('TASK_STATE_WORKING', 'one')]);
  const snapshot: Task = {
    ...task('TASK_STATE_WORKING'),
    status: { state: 'TASK_STATE_WORKING', message: agentMessage('four') },
    history: ['one', 'two', 'three'].map((id) => agentMessage(id)),
  };
  const told = ['two', 'three', 'four'].map((id) => status('TASK_STATE_WORKING', id));
  expect(view.catchUp(snapshot)).toEqual(told);
  expect(view.catchUp(snapshot)).toEqual([]);
});
