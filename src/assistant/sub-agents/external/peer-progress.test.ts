import { expect, test } from 'vitest';
import type { StreamResponse } from '../../../protocol/index.ts';
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
