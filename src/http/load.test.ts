import { expect, test } from 'vitest';
import { Load } from './load.ts';

test('a process at work on requests is busy; one at work without any, or at rest, is not', () => {
  let now = 0;
  let utilization = 1;
  const load = new Load({ now: () => now, utilization: () => utilization });
  now += 100;
  expect(load.read()).toBe(0);
  load.note();
  now += 100;
  expect(load.read()).toBe(1);
  load.note();
  utilization = 0.1;
  now += 100;
  expect(load.read()).toBe(0.1);
  now += 100;
  expect(load.read()).toBe(0);
});

test('looking often does not make the answer worthless', () => {
  let now = 0;
  let asked = 0;
  const load = new Load({
    now: () => now,
    utilization: () => {
      asked += 1;
      return 0.9;
    },
  });
  load.note();
  now += 20;
  expect(load.read()).toBe(0.9);
  for (let look = 0; look < 10; look += 1) expect(load.read()).toBe(0.9);
  expect(asked).toBe(1);
});

test('the event loop’s own measure is between nothing and all', () => {
  let now = 0;
  const load = new Load({ now: () => now });
  load.note();
  now += 100;
  const measured = load.read();
  expect(measured >= 0 && measured <= 1).toBe(true);
});
