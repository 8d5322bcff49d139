import { expect, test } from 'vitest';
import { timeOf, timestamp } from './agent-events.ts';

test('a time and its timestamp stand for each other, whichever was asked for last', () => {
  const times = [1_700_000_000_000, 1_700_000_000_001, 1_700_000_000_001, 0];
  const texts = times.map((time) => timestamp(time));
  expect(texts[0]).toBe('2023-11-14T22:13:20.000Z');
  expect(texts.map((text) => timeOf(text))).toEqual(times);
  expect(timeOf('2023-11-14T23:13:20+01:00')).toBe(times[0]);
  expect(timeOf('')).toBeNaN();
});
