import { expect, test } from 'vitest';
import type { Part, StreamResponse } from '../../../protocol/index.ts';
import { PeerProgress } from './peer-progress.ts';

const ids = { taskId: 't', contextId: 'c' };

test('an answer that was streamed in 40,000 chunks is whole', () => {
  const progress = new PeerProgress('writer');
  for (let index = 0; index < 40_000; index += 1) {
    const artifact = { artifactId: 'a', parts: [{ text: 'word ' }] };
    progress.accept({ artifactUpdate: { ...ids, artifact, append: index > 0 } });
  }
  const end: StreamResponse = {
    statusUpdate: { ...ids, status: { state: 'TASK_STATE_COMPLETED' } },
  };
  progress.accept(end);
  expect(progress.output('writer').responseMessage).toBe('word '.repeat(40_000).trim());
});

function chunk(artifactId: string, parts: readonly Part[], append = true): StreamResponse {
  return { artifactUpdate: { ...ids, artifact: { artifactId, parts }, append } };
}

test('more parts than are kept are an error, and nothing is cut in silence', () => {
  const progress = new PeerProgress('writer');
  const rows = Array.from({ length: 5_000 }, (_, row): Part => ({ data: { row } }));
  progress.accept(chunk('a', rows));
  progress.accept(chunk('b', rows));
  expect(() => progress.accept(chunk('a', [{ data: 'one more' }]))).toThrow(
    expect.objectContaining({
      code: 'PEER_INVALID',
      message: 'sub agent writer sent more than 10000 parts; let it answer with less',
    }),
  );
});

test('more text than is kept is an error, however few its parts', () => {
  const progress = new PeerProgress('writer');
  const text = 'x'.repeat(1_000_000);
  for (let count = 0; count < 10; count += 1) progress.accept(chunk('a', [{ text }]));
  expect(() => progress.accept(chunk('a', [{ text: 'x' }]))).toThrow(
    /^sub agent writer sent more than 10000000 characters/,
  );
});

test('an artifact that is sent whole again and again counts once', () => {
  const progress = new PeerProgress('writer');
  const rows = Array.from({ length: 900 }, (_, row): Part => ({ data: { row } }));
  for (let count = 0; count < 30; count += 1) progress.accept(chunk('a', rows, false));
  const artifacts = [{ artifactId: 'a', parts: [{ text: 'the last' }, ...rows] }];
  const status = { state: 'TASK_STATE_COMPLETED' } as const;
  progress.accept({ task: { id: 't', contextId: 'c', status, artifacts } });
  expect(progress.output('writer')).toMatchObject({
    status: 'completed',
    responseMessage: 'the last',
  });
});
