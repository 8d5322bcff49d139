import { expect, test } from 'vitest';
import { AtWork } from './at-work.ts';

test('a key is at work while a call may claim a turn of it, and while one runs', () => {
  const atWork = new AtWork();
  const keys = (): readonly string[] => {
    const look = atWork.look();
    look.end();
    return look.keys;
  };
  const call = atWork.claiming('a');
  const first = atWork.running({ id: 1, key: 'a' });
  const second = atWork.running({ id: 2, key: 'b' });
  expect(keys()).toEqual(['a', 'b']);
  call[Symbol.dispose]();
  expect(keys()).toEqual(['a', 'b']);
  first[Symbol.dispose]();
  second[Symbol.dispose]();
  expect(keys()).toEqual([]);
});

test('a look waits for the calls on the key of what it found, and knows what they started', async () => {
  const atWork = new AtWork();
  const look = atWork.look();
  const call = atWork.claiming('a');
  const isStarted = look.isStarted({ id: 1, key: 'a' });
  atWork.running({ id: 1, key: 'a' });
  call[Symbol.dispose]();
  expect(await isStarted).toBe(true);
  expect(await look.isStarted({ id: 2, key: 'a' })).toBe(false);
});

test('a look does not wait for turns that run', async () => {
  const atWork = new AtWork();
  atWork.running({ id: 1, key: 'a' });
  const look = atWork.look();
  expect(await look.isStarted({ id: 2, key: 'a' })).toBe(false);
});

test('what was started before a look, or after it, does not count', async () => {
  const atWork = new AtWork();
  atWork.running({ id: 1, key: 'a' });
  const look = atWork.look();
  expect(await look.isStarted({ id: 1, key: 'a' })).toBe(false);
  look.end();
  atWork.running({ id: 2, key: 'b' });
  expect(await look.isStarted({ id: 2, key: 'b' })).toBe(false);
});
