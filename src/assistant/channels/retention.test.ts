import { expect, test } from 'vitest';
import { ManualScheduler } from './testing/manual-scheduler.ts';
import { served } from './testing/served.ts';

const endpoints = (store: string) => ({
  'endpoints.yml': `a2a_server: {description: Looks after a greenhouse.}\nstore: {type: memory${store}}\n`,
});
const minute = 60_000;
const day = 24 * 3_600_000;

/** What is left of one conversation after some time. Each look lets a minute pass, as sweeps do. */
async function leftAfter(store: string, milliseconds: number) {
  const scheduler = new ManualScheduler();
  const house = await served({ scheduler, files: endpoints(store) });
  const { id } = await house.say('report the growth', { contextId: 'c' });
  const { body } = await house.api('GET', '/conversations/c/tracker');
  const begun = (body['events'] as readonly unknown[]).length;
  expect(begun).toBeGreaterThan(0);
  scheduler.advance(milliseconds);
  return {
    task: async () => {
      scheduler.advance(minute);
      return (await house.rpc('tasks/get', { id })).body['error'] === undefined;
    },
    conversation: async () => {
      scheduler.advance(minute);
      // That it rests may have been noted since.
      return (await house.tracker('c')).events.length >= begun;
    },
    [Symbol.asyncDispose]: () => house[Symbol.asyncDispose](),
  };
}

test('task_retention_seconds: ended tasks go after that time, their conversation stays', async () => {
  await using left = await leftAfter(', task_retention_seconds: 3600', day);
  await expect.poll(left.task).toBe(false);
  expect(await left.conversation()).toBe(true);
});

test('context_retention_seconds: conversations go after that time, their tasks stay', async () => {
  await using left = await leftAfter(', context_retention_seconds: 3600', day);
  await expect.poll(left.conversation).toBe(false);
  expect(await left.task()).toBe(true);
});

test('without a word ended tasks are kept for a week', async () => {
  // That the conversation went shows that things were swept.
  await using before = await leftAfter(', context_retention_seconds: 1', 6 * day);
  await expect.poll(before.conversation).toBe(false);
  expect(await before.task()).toBe(true);
  await using after = await leftAfter('', 8 * day);
  await expect.poll(after.task).toBe(false);
  expect(await after.conversation()).toBe(true);
});

test('task_retention_seconds 0: tasks are kept forever', async () => {
  const store = ', task_retention_seconds: 0, context_retention_seconds: 1';
  await using left = await leftAfter(store, 400 * day);
  await expect.poll(left.conversation).toBe(false);
  expect(await left.task()).toBe(true);
});
