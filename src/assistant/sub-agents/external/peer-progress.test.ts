import { array, assert, property } from 'fast-check';
import { expect, test } from 'vitest';
import { streamResponse } from '../../../protocol/arbitraries.ts';
import type { StreamResponse, TaskState } from '../../../protocol/index.ts';
import { PeerProgress } from './peer-progress.ts';

const at = { taskId: 't', contextId: 'c' };

function status(state: TaskState, text?: string, messageId = text ?? ''): StreamResponse {
  const message = { messageId, role: 'ROLE_AGENT' as const, parts: [{ text: text ?? '' }] };
  return { statusUpdate: { ...at, status: { state, ...(text !== undefined && { message }) } } };
}

function outputOf(...responses: readonly StreamResponse[]) {
  const progress = new PeerProgress('hotels');
  const told = responses.map((response) => progress.accept(response)).filter(Boolean);
  return { told, progress, output: progress.output('i') };
}

test.each([
  ['TASK_STATE_COMPLETED', 'completed'],
  ['TASK_STATE_INPUT_REQUIRED', 'input_required'],
  ['TASK_STATE_FAILED', 'fatal_error'],
  ['TASK_STATE_REJECTED', 'fatal_error'],
  ['TASK_STATE_CANCELED', 'fatal_error'],
  ['TASK_STATE_AUTH_REQUIRED', 'fatal_error'],
] as const)('5.2: %s is %s', (state, expected) => {
  const { output } = outputOf(status('TASK_STATE_WORKING'), status(state, 'words'));
  expect(output.status).toBe(expected);
  if (expected === 'fatal_error') expect(output.errorMessage).toBe(`${state}: words`);
  else expect(output.responseMessage).toBe('words');
});

test('5.2: submitted and working tell the user at once, each message once, and are no end', () => {
  const { told, progress } = outputOf(
    status('TASK_STATE_SUBMITTED', 'Heard.'),
    status('TASK_STATE_WORKING', 'At work.'),
    status('TASK_STATE_WORKING', 'At work.'),
    status('TASK_STATE_WORKING'),
  );
  expect(told).toEqual(['Heard.', 'At work.']);
  expect(progress.status).toBeUndefined();
});

test('5.2: a message asks, and never completes', () => {
  const parts = [{ text: 'Hello.' }, { data: { a: 1 } }];
  const { output } = outputOf({ message: { messageId: 'm', role: 'ROLE_AGENT', parts } });
  expect(output).toEqual({
    id: 'i',
    status: 'input_required',
    responseMessage: 'Hello.',
    structuredResults: [[{ name: 'hotels', result: { a: 1 } }]],
  });
});

test('a result is the text of the status and of artifacts, and their data, chunks put together', () => {
  const chunk = (text: string, append: boolean): StreamResponse => ({
    artifactUpdate: { ...at, append, artifact: { artifactId: 'a', parts: [{ text }] } },
  });
  const { output } = outputOf(
    chunk('Dear ', false),
    chunk('Ada', true),
    {
      artifactUpdate: {
        ...at,
        artifact: { artifactId: 'b', name: 'room', parts: [{ data: { beds: 2 } }] },
      },
    },
    status('TASK_STATE_COMPLETED', 'Done.'),
  );
  expect(output.responseMessage).toBe('Done.\n\nDear Ada');
  expect(output.structuredResults).toEqual([[{ name: 'room', result: { beds: 2 } }]]);
});

test('what artifacts held when the question was asked is not told again', () => {
  const artifact: StreamResponse = {
    artifactUpdate: { ...at, artifact: { artifactId: 'a', parts: [{ text: 'A draft.' }] } },
  };
  const first = outputOf(artifact, status('TASK_STATE_INPUT_REQUIRED', 'Good?')).progress;
  const second = new PeerProgress('hotels', first.digests);
  second.accept(artifact);
  second.accept(status('TASK_STATE_COMPLETED', 'Sent.'));
  expect(second.output('i').responseMessage).toBe('Sent.');
});

test('whatever a peer says, it comes to a status, and nothing is thrown', () => {
  assert(
    property(array(streamResponse, { maxLength: 8 }), (responses) => {
      const { output, progress } = outputOf(...responses);
      expect(['completed', 'input_required', 'fatal_error']).toContain(output.status);
      expect(() => JSON.stringify(progress.digests)).not.toThrow();
    }),
  );
});
