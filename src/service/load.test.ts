import { expect, test } from 'vitest';
import { Load } from './load.ts';

function loaded() {
  const state = { now: 0, utilization: 1, asked: 0 };
  const load = new Load({
    now: () => state.now,
    utilization: () => {
      state.asked += 1;
      return state.utilization;
    },
  });
  const requests = (count: number): void => {
    for (let index = 0; index < count; index += 1) load.note();
  };
  return { state, load, requests };
}

test('a process at work on requests allows a little; one without any, or at rest, allows all', () => {
  const { state, load, requests } = loaded();
  state.now += 100;
  expect(load.allowance()).toBe(Infinity);
  requests(45);
  state.now += 100;
  expect(load.allowance()).toBe(2);
  state.utilization = 0.1;
  requests(45);
  state.now += 100;
  expect(load.allowance()).toBe(Infinity);
});

test('what is allowed goes with the requests, however often it is asked for', () => {
  const { state, load, requests } = loaded();
  let allowed = 0;
  for (let round = 0; round < 100; round += 1) {
    requests(7);
    state.now += 20;
    allowed += load.allowance();
  }
  expect(allowed).toBe(35);
  expect(state.asked).toBe(100);
  for (let look = 0; look < 10; look += 1) expect(load.allowance()).toBe(0);
  expect(state.asked).toBe(100);
});

test('the event loop’s own measure tells busy from not', () => {
  let now = 0;
  const load = new Load({ now: () => now });
  now += 100;
  expect(load.allowance()).toBe(Infinity);
});
