import { expect, test } from 'vitest';
import { DatabaseClock } from './database-clock.ts';

/** A process and a database with clocks of their own, and a way between them that takes time. */
function setting() {
  const world = { monotonic: 5, wall: 1_000_000, database: 2_000_000, thereMs: 0, backMs: 0 };
  const pass = (milliseconds: number): void => {
    world.monotonic += milliseconds;
    world.wall += milliseconds;
    world.database += milliseconds;
  };
  let asked = 0;
  const clock = new DatabaseClock(
    async () => {
      asked += 1;
      pass(world.thereMs);
      const time = world.database;
      pass(world.backMs);
      return time;
    },
    { monotonic: () => world.monotonic, wall: () => world.wall },
  );
  return { world, pass, clock, asked: () => asked };
}

test('shows what the database shows, and how far the wall clock is ahead', async () => {
  const { clock, pass } = setting();
  await clock.measure();
  pass(500);
  expect(clock.now()).toBe(2_000_500);
  expect(clock.skewMs()).toBe(-1_000_000);
});

test('a wall clock that jumps changes the skew and not the time', async () => {
  const { clock, world } = setting();
  world.wall = world.database;
  await clock.measure();
  expect(clock.skewMs()).toBe(0);
  world.wall += 60_000;
  expect(clock.now()).toBe(2_000_000);
  expect(clock.skewMs()).toBe(60_000);
});

test('is off by half a round trip at most, and takes no such error for skew', async () => {
  const { clock, world } = setting();
  world.wall = world.database;
  Object.assign(world, { thereMs: 0, backMs: 100 });
  await clock.measure();
  expect(Math.abs(clock.now() - world.database)).toBeLessThanOrEqual(50);
  expect(clock.skewMs()).toBe(0);
});

test('a slow answer does not replace a quick one that it does not contradict', async () => {
  const { clock, world } = setting();
  await clock.measure();
  Object.assign(world, { thereMs: 0, backMs: 10_000 });
  await clock.measure();
  expect(clock.now()).toBe(world.database);
});

test('a database whose clock jumps is followed', async () => {
  const { clock, world } = setting();
  await clock.measure();
  world.database += 30_000;
  await clock.measure();
  expect(clock.now()).toBe(world.database);
});

test('is measured again when it is read after a while', async () => {
  const { clock, pass, asked } = setting();
  await clock.measure();
  clock.now();
  expect(asked()).toBe(1);
  pass(11_000);
  clock.now();
  clock.now();
  expect(asked()).toBe(2);
});

test('continues while the database cannot be asked', async () => {
  let isAway = false;
  const world = { monotonic: 0 };
  const clock = new DatabaseClock(
    () => (isAway ? Promise.reject(new Error('away')) : Promise.resolve(7_000)),
    { monotonic: () => world.monotonic, wall: () => 0 },
  );
  await clock.measure();
  isAway = true;
  world.monotonic += 20_000;
  expect(clock.now()).toBe(27_000);
  await expect(clock.measure()).rejects.toThrow('away');
  expect(clock.now()).toBe(27_000);
});
