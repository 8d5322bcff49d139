import { expect, test } from 'vitest';
import { Interest } from './interest.ts';

test('a task that a store no longer announces is forgotten, even if its leaving was lost', () => {
  const clock = { now: 0 };
  const interest = new Interest(() => clock.now);
  interest.touch('a');
  interest.follow('a', ['kept', 'left']);
  clock.now = 90_000;
  interest.touch('a');
  interest.follow('a', ['kept']);
  clock.now = 110_000;
  interest.prune();
  expect([interest.isFollowed('kept'), interest.isFollowed('left')]).toEqual([true, false]);
  expect(interest.others).toBe(1);
});

test('a store that was silent for too long is gone with all that it followed', () => {
  const clock = { now: 0 };
  const interest = new Interest(() => clock.now);
  interest.touch('a');
  interest.follow('a', ['t']);
  clock.now = 100_001;
  interest.prune();
  expect([interest.others, interest.isFollowed('t')]).toEqual([0, false]);
});
