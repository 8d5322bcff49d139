import { expect, test } from 'vitest';
import { Lanes } from './lanes.ts';

function drain<T>(lanes: Lanes<T>): T[] {
  const started: T[] = [];
  for (let item = lanes.next(); item !== undefined; item = lanes.next()) started.push(item);
  return started;
}

test('a full lane holds up only itself, and lanes take turns', () => {
  const lanes = new Lanes<string>({ maxActive: 10, maxActivePerLane: 2 });
  for (const item of ['a1', 'a2', 'a3', 'a4']) lanes.add('a', item);
  for (const item of ['b1', 'b2']) lanes.add('b', item);
  expect(drain(lanes)).toEqual(['a1', 'b1', 'a2', 'b2']);
  expect(lanes.size).toBe(6);
  lanes.done('a');
  expect(drain(lanes)).toEqual(['a3']);
});

test('no more than the limit over all lanes is active', () => {
  const lanes = new Lanes<number>({ maxActive: 3, maxActivePerLane: 2 });
  for (let host = 0; host < 5; host += 1) lanes.add(`h${host}`, host);
  expect(drain(lanes)).toEqual([0, 1, 2]);
  lanes.done('h1');
  expect(drain(lanes)).toEqual([3]);
  expect(lanes.active).toBe(3);
});

test('what waits can be forgotten; what is active still ends', () => {
  const lanes = new Lanes<number>({ maxActive: 1, maxActivePerLane: 1 });
  lanes.add('a', 1);
  lanes.add('a', 2);
  lanes.add('b', 3);
  expect(drain(lanes)).toEqual([1]);
  lanes.clear();
  expect(lanes.size).toBe(1);
  lanes.done('a');
  expect(lanes.size).toBe(0);
  expect(drain(lanes)).toEqual([]);
});
