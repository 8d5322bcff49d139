import { expect, test } from 'vitest';
import { Json, message, type Task } from '../protocol/index.ts';
import { withHistory } from './live-task.ts';

const history = ['one', 'two', 'three'].map((text) => message(text));
const task = Json.of<Task>({
  id: 't',
  contextId: 'c',
  status: { state: 'TASK_STATE_WORKING' },
  history,
});

test('a task that keeps its history is the stored text itself', () => {
  expect(withHistory(task, undefined)).toBe(task);
  expect(withHistory(task, 3)).toBe(task);
});

test('a shorter history has the latest messages, and one of none is left out', () => {
  expect(withHistory(task, 2).value.history).toEqual(history.slice(1));
  expect(withHistory(task, 0).value).not.toHaveProperty('history');
});
