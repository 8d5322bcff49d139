import { expect, test } from 'vitest';
import { artifact } from '../protocol/index.ts';
import { chunk } from '../agents/index.ts';
import { EventCheck, timeOf, timestamp } from './agent-events.ts';

test('an artifact in chunks is open until its last chunk, or until it comes as a whole', () => {
  const check = new EventCheck(1_000, { isFirstTurn: true });
  for (const id of ['a', 'b', 'c']) check.accept(chunk(id, 'one '));
  check.accept(chunk('b', 'two', { append: true, last: true }));
  check.accept(artifact('all of it', { artifactId: 'c' }));
  expect([...check.open]).toEqual(['a']);
});

test('a time and its timestamp stand for each other, whichever was asked for last', () => {
  const times = [1_700_000_000_000, 1_700_000_000_001, 1_700_000_000_001, 0];
  const texts = times.map((time) => timestamp(time));
  expect(texts[0]).toBe('2023-11-14T22:13:20.000Z');
  expect(texts.map((text) => timeOf(text))).toEqual(times);
  expect(timeOf('2023-11-14T23:13:20+01:00')).toBe(times[0]);
  expect(timeOf('')).toBeNaN();
});
