import { expect, test } from 'vitest';
import type { StreamResponse } from '../protocol/index.ts';
import { Delivery, type DeliveryStart } from './delivery.ts';
import { chunk, status, task } from './testing/fixtures.ts';

function delivered(start: DeliveryStart, ...responses: StreamResponse[]): Delivery {
  const delivery = new Delivery(start);
  delivery.connected(false);
  for (const response of responses) {
    expect([...delivery.accept({ response })].map((event) => event.response)).toEqual([response]);
  }
  return delivery;
}

const question = status('TASK_STATE_INPUT_REQUIRED', 'which?');
const snapshot = { task: task('TASK_STATE_INPUT_REQUIRED') };

test('a turn ends at a question, a task does not', () => {
  expect(delivered({ until: 'turn' }, question).hasEnded).toBe(true);
  expect(delivered({ until: 'turn' }, snapshot).hasEnded).toBe(true);
  expect(delivered({ until: 'task' }, question).hasEnded).toBe(false);
  expect(delivered({ until: 'task' }, snapshot).hasEnded).toBe(false);
});

test('an answer does not end at the question that it answers, whatever comes next', () => {
  const answer = { until: 'turn', isAnswer: true } as const;
  expect(delivered(answer, snapshot).hasEnded).toBe(false);
  expect(delivered(answer, snapshot, chunk('a', 'one', false)).hasEnded).toBe(false);
  expect(delivered(answer, snapshot, chunk('a', 'one', false), question).hasEnded).toBe(true);
});

test('a task that waits for credentials may continue by itself, or its stream may close', () => {
  const waiting = delivered({ until: 'turn' }, status('TASK_STATE_AUTH_REQUIRED', 'who are you?'));
  expect(waiting.hasEnded).toBe(false);
  expect(waiting.mayEnd).toBe(true);
});

test.each([
  'TASK_STATE_COMPLETED',
  'TASK_STATE_FAILED',
  'TASK_STATE_CANCELED',
  'TASK_STATE_REJECTED',
] as const)('%s ends all there is', (state) => {
  expect(delivered({ until: 'task' }, status(state)).hasEnded).toBe(true);
  expect(delivered({ until: 'turn', isAnswer: true }, { task: task(state) }).hasEnded).toBe(true);
});

test('a peer that says its event is the last is believed', () => {
  const delivery = new Delivery({ until: 'task' });
  delivery.connected(false);
  const response = status('TASK_STATE_WORKING');
  expect([...delivery.accept({ response, isFinal: true })]).toEqual([{ response }]);
  expect(delivery.hasEnded).toBe(true);
});
