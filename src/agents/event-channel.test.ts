import { expect, test } from 'vitest';
import { EventChannel } from './event-channel.ts';

test('events arrive in order, and the result of the work ends them', async () => {
  const channel = new EventChannel<number>();
  const work = async (): Promise<string> => {
    for (const item of [1, 2, 3]) await channel.push(item);
    return 'done';
  };
  const events = channel.during(work());
  const seen: unknown[] = [];
  for (let next = await events.next(); ; next = await events.next()) {
    seen.push(next.value);
    if (next.done === true) break;
  }
  expect(seen).toEqual([1, 2, 3, 'done']);
});

test('a producer waits while the channel is full, and continues as soon as there is room', async () => {
  const channel = new EventChannel<number>(2);
  let pushed = 0;
  const work = async (): Promise<void> => {
    for (const item of [1, 2, 3, 4]) {
      await channel.push(item);
      pushed += 1;
    }
  };
  const events = channel.during(work());
  expect((await events.next()).value).toBe(1);
  expect(pushed).toBeLessThan(4);
  const rest = [];
  for await (const event of events) rest.push(event);
  expect(rest).toEqual([2, 3, 4]);
});

test('a consumer that leaves does not block the producer', async () => {
  const channel = new EventChannel<number>(1);
  const work = async (): Promise<string> => {
    for (const item of [1, 2, 3, 4]) await channel.push(item);
    return 'done';
  };
  const worked = work();
  const events = channel.during(worked);
  await events.next();
  await events.return('left');
  expect(await worked).toBe('done');
});

test('the error of the work is thrown after what it had said', async () => {
  const channel = new EventChannel<number>();
  const work = async (): Promise<void> => {
    await channel.push(1);
    throw new Error('broken');
  };
  const events = channel.during(work());
  expect((await events.next()).value).toBe(1);
  await expect(events.next()).rejects.toThrow('broken');
});
