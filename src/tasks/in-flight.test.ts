import { expect, test } from 'vitest';
import { InFlightTurns } from './in-flight.ts';

test('a key is in flight while a call may claim a turn of it, and while a turn runs', () => {
  const inFlight = new InFlightTurns();
  const keys = (): readonly string[] => {
    const snapshot = inFlight.snapshot();
    snapshot.end();
    return snapshot.keys;
  };
  const call = inFlight.claiming('a');
  const first = inFlight.running({ id: 1, key: 'a' });
  const second = inFlight.running({ id: 2, key: 'b' });
  expect(keys()).toEqual(['a', 'b']);
  call[Symbol.dispose]();
  expect(keys()).toEqual(['a', 'b']);
  first[Symbol.dispose]();
  second[Symbol.dispose]();
  expect(keys()).toEqual([]);
});

test('a snapshot waits for the calls on the key of a turn, and knows which turns they started', async () => {
  const inFlight = new InFlightTurns();
  const snapshot = inFlight.snapshot();
  const call = inFlight.claiming('a');
  const isStarted = snapshot.isStarted({ id: 1, key: 'a' });
  inFlight.running({ id: 1, key: 'a' });
  call[Symbol.dispose]();
  expect(await isStarted).toBe(true);
  expect(await snapshot.isStarted({ id: 2, key: 'a' })).toBe(false);
});

test('a snapshot does not wait for running turns', async () => {
  const inFlight = new InFlightTurns();
  inFlight.running({ id: 1, key: 'a' });
  const snapshot = inFlight.snapshot();
  expect(await snapshot.isStarted({ id: 2, key: 'a' })).toBe(false);
});

test('turns that were started before the snapshot, or after its end, do not count', async () => {
  const inFlight = new InFlightTurns();
  inFlight.running({ id: 1, key: 'a' });
  const snapshot = inFlight.snapshot();
  expect(await snapshot.isStarted({ id: 1, key: 'a' })).toBe(false);
  snapshot.end();
  inFlight.running({ id: 2, key: 'b' });
  expect(await snapshot.isStarted({ id: 2, key: 'b' })).toBe(false);
});
