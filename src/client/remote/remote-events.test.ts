import { expect, test } from 'vitest';
import type { StreamResponse } from '../../protocol/index.ts';
import { RemoteEvents } from './remote-events.ts';

function update(text: string, how: { append?: true; lastChunk?: true } = {}): StreamResponse {
  const artifact = { artifactId: 'a', parts: [{ text }] };
  return { artifactUpdate: { taskId: 't', contextId: 'c', artifact, ...how } };
}

function told(events: RemoteEvents, ...responses: StreamResponse[]) {
  return responses
    .flatMap((response) => [...events.accept({ response })])
    .flatMap((event) => ('artifact' in event ? [[event.artifact.artifactId, event.append]] : []));
}

test('what a peer adds to an artifact that it had sealed goes into another one, in later turns too', () => {
  const first = new RemoteEvents();
  const seen = told(first, update('one '), update('two', { append: true, lastChunk: true }));
  expect(seen).toEqual([
    ['a', false],
    ['a', true],
  ]);
  expect(told(first, update('three', { append: true }))).toEqual([['a~2', false]]);

  const sealed = new RemoteEvents();
  told(sealed, update('one', { lastChunk: true }));
  const later = new RemoteEvents({ told: sealed.told });
  expect(told(later, update('two', { append: true }))).toEqual([['a~2', false]]);
  expect(told(later, update('three', { append: true }))).toEqual([['a~2', true]]);
});

test('an artifact of an earlier turn is gone on with, or replaced, under its own name', () => {
  const open = new RemoteEvents();
  told(open, update('one '));
  expect(told(new RemoteEvents({ told: open.told }), update('two', { append: true }))).toEqual([
    ['a', true],
  ]);
  const sealed = new RemoteEvents();
  told(sealed, update('one', { lastChunk: true }));
  const later = new RemoteEvents({ told: sealed.told });
  expect(told(later, update('new '), update('version', { append: true }))).toEqual([
    ['a', false],
    ['a', true],
  ]);
});

test('what is known already is not told again, sealed or not', () => {
  const first = new RemoteEvents();
  told(first, update('one', { lastChunk: true }));
  const later = new RemoteEvents({ told: first.told });
  const artifacts = [{ artifactId: 'a', parts: [{ text: 'one' }] }];
  const status = { state: 'TASK_STATE_WORKING' } as const;
  expect(told(later, { task: { id: 't', contextId: 'c', status, artifacts } })).toEqual([]);
});

test('text that came in chunks is known when a snapshot has it in one part, and its rest is added', () => {
  const first = new RemoteEvents();
  told(first, update('one '), update('two ', { append: true }));
  const working = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } } as const;
  const snapshot = (text: string): StreamResponse => ({
    task: { ...working, artifacts: [{ artifactId: 'a', parts: [{ text }] }] },
  });
  const same = new RemoteEvents({ told: first.told });
  expect(told(same, snapshot('one two '))).toEqual([]);
  const longer = new RemoteEvents({ told: first.told });
  expect([...longer.accept({ response: snapshot('one two three') })]).toEqual([
    { kind: 'known', taskId: 't', contextId: 'c' },
    {
      kind: 'chunk',
      artifact: { artifactId: 'a', parts: [{ text: 'three' }] },
      append: true,
      lastChunk: false,
    },
  ]);
  expect(told(new RemoteEvents({ told: longer.told }), snapshot('one two three'))).toEqual([]);
  const other = new RemoteEvents({ told: first.told });
  expect(told(other, snapshot('another'))).toEqual([['a', false]]);
});
