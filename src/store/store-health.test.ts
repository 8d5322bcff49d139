import { afterEach, expect, test } from 'vitest';
import { LegateError } from '../protocol/index.ts';
import { WriteHealth } from './store-health.ts';

const full = new LegateError('STORE_FAILED', 'store x: its disk is full');
const opened: WriteHealth[] = [];
afterEach(() => opened.splice(0).forEach((health) => health.close()));

function setting() {
  const medium = { isFull: false };
  const timers: (() => void)[] = [];
  const health: WriteHealth = new WriteHealth({
    driver: 'test',
    reasonOf: () => 'the disk is full',
    after: (_, callback) => {
      timers.push(callback);
      return { cancel: () => {} };
    },
    probe: async () => {
      if (!medium.isFull) return;
      health.failed(full);
      throw full;
    },
  });
  opened.push(health);
  const lines: string[] = [];
  const reporterOf = (name: string) => ({
    started: () => void lines.push(`${name}: started`),
    ended: ({ failedWrites }: { failedWrites: number }) =>
      void lines.push(`${name}: ended after ${failedWrites}`),
  });
  /** Lets the time of one probe pass. */
  const probe = async (): Promise<void> => {
    timers.shift()?.();
    await new Promise((resolve) => void setImmediate(resolve));
  };
  return { medium, health, lines, reporterOf, probe };
}

test('an outage is reported once, however many writes fail, and its end once', async () => {
  const { medium, health, lines, reporterOf, probe } = setting();
  health.report(reporterOf('a'));
  medium.isFull = true;
  for (let index = 0; index < 250; index += 1) health.failed(full);
  await probe();
  await probe();
  expect(lines).toEqual(['a: started']);
  expect(health.outage).toMatchObject({ reason: 'the disk is full', failedWrites: 252 });
  medium.isFull = false;
  await probe();
  expect(health.outage).toBeUndefined();
  expect(lines).toEqual(['a: started', 'a: ended after 252']);
  health.failed(full);
  expect(lines).toHaveLength(3);
});

test('an outage lasts while writes fail, though a probe gets through', async () => {
  const { health, lines, reporterOf, probe } = setting();
  health.report(reporterOf('a'));
  health.failed(full);
  await probe();
  health.failed(full);
  await probe();
  expect(health.outage).toBeDefined();
  await probe();
  expect(health.outage).toBeUndefined();
  expect(lines).toEqual(['a: started', 'a: ended after 2']);
});

test('of several who would report one does, and the next when it has ended', () => {
  const { health, lines, reporterOf } = setting();
  const a = health.report(reporterOf('a'));
  const b = health.report(reporterOf('b'));
  expect([a.isActive, b.isActive]).toEqual([true, false]);
  a.end();
  expect(b.isActive).toBe(true);
  health.failed(full);
  expect(lines).toEqual(['b: started']);
});

test('errors of callers and bugs are not outages, nor are failures after close', () => {
  const { health } = setting();
  health.failed(new LegateError('TASK_NOT_FOUND', 'x'));
  health.failed(new Error('x'));
  health.close();
  health.failed(full);
  expect(health.outage).toBeUndefined();
});
