import { expect, test } from 'vitest';
import type { StreamResponse } from '../../protocol/index.ts';
import { PeerEvents } from './peer-events.ts';

function update(text: string, how: { append?: true; lastChunk?: true } = {}): StreamResponse {
  const artifact = { artifactId: 'a', parts: [{ text }] };
  return { artifactUpdate: { taskId: 't', contextId: 'c', artifact, ...how } };
}

function told(events: PeerEvents, ...responses: StreamResponse[]) {
  return responses
    .flatMap((response) => [...events.accept(response)])
    .map((event) => ('artifact' in event ? [event.artifact.artifactId, event.append] : []));
}

test('what a peer adds to an artifact that it had sealed goes into another one, in later turns too', () => {
  const first = new PeerEvents('peer');
  const seen = told(first, update('one '), update('two', { append: true, lastChunk: true }));
  expect(seen).toEqual([
    ['a', false],
    ['a', true],
  ]);
  expect(told(first, update('three', { append: true }))).toEqual([['a~2', false]]);

  const sealed = new PeerEvents('peer');
  told(sealed, update('one', { lastChunk: true }));
  const later = new PeerEvents('peer', sealed.marks);
  expect(told(later, update('two', { append: true }))).toEqual([['a~2', false]]);
  expect(told(later, update('three', { append: true }))).toEqual([['a~2', true]]);
});

test('an artifact of an earlier turn is gone on with, or replaced, under its own name', () => {
  const open = new PeerEvents('peer');
  told(open, update('one '));
  expect(told(new PeerEvents('peer', open.marks), update('two', { append: true }))).toEqual([
    ['a', true],
  ]);
  const sealed = new PeerEvents('peer');
  told(sealed, update('one', { lastChunk: true }));
  const later = new PeerEvents('peer', sealed.marks);
  expect(told(later, update('new '), update('version', { append: true }))).toEqual([
    ['a', false],
    ['a', true],
  ]);
});

test('what is known already is not told again, sealed or not', () => {
  const first = new PeerEvents('peer');
  told(first, update('one', { lastChunk: true }));
  const later = new PeerEvents('peer', first.marks);
  const artifacts = [{ artifactId: 'a', parts: [{ text: 'one' }] }];
  const status = { state: 'TASK_STATE_WORKING' } as const;
  expect(told(later, { task: { id: 't', contextId: 'c', status, artifacts } })).toEqual([]);
});

test('text that came in chunks is known when a snapshot has it in one part, and its rest is added', () => {
  const first = new PeerEvents('peer');
  told(first, update('one '), update('two ', { append: true }));
  const working = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } } as const;
  const snapshot = (text: string): StreamResponse => ({
    task: { ...working, artifacts: [{ artifactId: 'a', parts: [{ text }] }] },
  });
  const same = new PeerEvents('peer', first.marks);
  expect(told(same, snapshot('one two '))).toEqual([]);
  const longer = new PeerEvents('peer', first.marks);
  expect([...longer.accept(snapshot('one two three'))]).toEqual([
    {
      kind: 'chunk',
      artifact: { artifactId: 'a', parts: [{ text: 'three' }] },
      append: true,
      lastChunk: false,
    },
  ]);
  expect(told(new PeerEvents('peer', longer.marks), snapshot('one two three'))).toEqual([]);
  const other = new PeerEvents('peer', first.marks);
  expect(told(other, snapshot('another'))).toEqual([['a', false]]);
});
