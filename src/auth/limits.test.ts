import { expect, test, vi } from 'vitest';
import { LegateError } from '../protocol/index.ts';
import { openMemory } from '../store/index.ts';
import { AuthError } from './credentials.ts';
import {
  CallerLimits,
  ClusterRate,
  ConcurrencyLimit,
  overReplicas,
  TokenBuckets,
} from './caller-limits.ts';

function fakeClock(now = 0) {
  const time = { now };
  return { time, clock: { now: () => time.now } };
}

const alice = { tenant: '', subject: 'alice', method: 'jwt' };

const limited = (retryAfter: number) =>
  expect.objectContaining({ code: 'RATE_LIMITED', retryAfter });

test('a bucket lets a burst through and then the rate', () => {
  const { time, clock } = fakeClock();
  const buckets = new TokenBuckets({ rate: 2, burst: 3, clock });
  for (let count = 0; count < 3; count += 1) buckets.take('a');
  expect(() => buckets.take('a')).toThrow(limited(1));
  time.now = 500;
  buckets.take('a');
  expect(() => buckets.take('a')).toThrow(limited(1));
  time.now = 1_000_000;
  for (let count = 0; count < 3; count += 1) buckets.take('a');
  expect(() => buckets.take('a')).toThrow(limited(1));
});

test('each caller has its own bucket', () => {
  const { clock } = fakeClock();
  const buckets = new TokenBuckets({ rate: 1, clock });
  buckets.take('a');
  buckets.take('b');
  expect(() => buckets.take('a')).toThrow(limited(1));
});

test('a slow rate says how long to wait', () => {
  const { time, clock } = fakeClock();
  const buckets = new TokenBuckets({ rate: 0.1, clock });
  buckets.take('a');
  time.now = 2_500;
  expect(() => buckets.take('a')).toThrow(limited(8));
});

test('a clock that is set back neither gives nor takes', () => {
  const { time, clock } = fakeClock(10_000);
  const buckets = new TokenBuckets({ rate: 1, clock });
  buckets.take('a');
  time.now = 0;
  expect(() => buckets.take('a')).toThrow(limited(1));
  time.now = 1_000;
  buckets.take('a');
});

test('the number of buckets is bounded: the one longest unseen goes', () => {
  const { clock } = fakeClock();
  const buckets = new TokenBuckets({ rate: 1, clock, maxKeys: 2 });
  buckets.take('a');
  buckets.take('b');
  expect(() => buckets.take('a')).toThrow();
  buckets.take('c');
  // `b` was forgotten, `a` was not.
  expect(() => buckets.take('a')).toThrow();
  buckets.take('b');
});

test.each([0, -1, Number.NaN])('a rate of %d is refused at the start', (rate) => {
  expect(() => new TokenBuckets({ rate })).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION_INVALID' }),
  );
});

test('the limit of a cluster counts over all replicas, window by window', async () => {
  const { records } = openMemory();
  const { time, clock } = fakeClock(60_000);
  const options = { records, limit: 3, window: 60_000, clock };
  const [one, two] = [new ClusterRate(options), new ClusterRate(options)];
  await one.take('a');
  await two.take('a');
  await one.take('a');
  await expect(two.take('a')).rejects.toEqual(limited(60));
  await two.take('b');
  time.now = 119_000;
  await expect(one.take('a')).rejects.toEqual(limited(1));
  time.now = 120_000;
  await one.take('a');
});

test('with a batch a replica asks the store less often, and the limit holds', async () => {
  const { records } = openMemory();
  const writes = vi.spyOn(records, 'increment');
  const { time, clock } = fakeClock();
  const rate = new ClusterRate({ records, limit: 25, batch: 10, clock });
  for (let count = 0; count < 25; count += 1) await rate.take('a');
  expect(writes).toHaveBeenCalledTimes(3);
  await expect(rate.take('a')).rejects.toEqual(limited(60));
  time.now = 60_000;
  await rate.take('a');
});

test('parallel requests share one reservation', async () => {
  const { records } = openMemory();
  const increment = vi.spyOn(records, 'increment');
  const { clock } = fakeClock();
  const options = { records, limit: 600, batch: 30, clock };
  const [one, two] = [new ClusterRate(options), new ClusterRate(options)];
  await Promise.all(Array.from({ length: 20 }, () => one.take('a')));
  expect(increment).toHaveBeenCalledTimes(1);
  for (let count = 0; count < 570; count += 1) await two.take('a');
  await expect(two.take('a')).rejects.toEqual(limited(60));
});

test('without a batch, parallel requests that wait for a reservation share the next one', async () => {
  const { records } = openMemory();
  const increment = vi.spyOn(records, 'increment');
  const { clock } = fakeClock();
  const rate = new ClusterRate({ records, limit: 30, clock });
  const results = await Promise.allSettled(Array.from({ length: 40 }, () => rate.take('a')));
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(30);
  expect(increment).toHaveBeenCalledTimes(2);
});

test('rejected requests do not write to the store until the window ends', async () => {
  const { records } = openMemory();
  const increment = vi.spyOn(records, 'increment');
  const { time, clock } = fakeClock();
  const rate = new ClusterRate({ records, limit: 1, clock });
  await rate.take('a');
  for (let count = 0; count < 10; count += 1) {
    await expect(rate.take('a')).rejects.toEqual(limited(60));
  }
  expect(increment).toHaveBeenCalledTimes(1);
  await rate.take('b');
  time.now = 60_000;
  await rate.take('a');
});

test('a failed reservation is not remembered', async () => {
  const { records } = openMemory();
  vi.spyOn(records, 'increment').mockRejectedValueOnce(new Error('the store is away'));
  const { clock } = fakeClock();
  const rate = new ClusterRate({ records, limit: 2, clock });
  await expect(Promise.all([rate.take('a'), rate.take('a')])).rejects.toThrow('away');
  await rate.take('a');
});

test.each([
  [10, undefined, { limit: 10, window: 1_000, batch: 1 }],
  [1_000, undefined, { limit: 1_000, window: 1_000, batch: 50 }],
  [10, 50, { limit: 50, window: 5_000, batch: 2 }],
  [0.1, 4, { limit: 4, window: 40_000, batch: 1 }],
  [0.5, undefined, { limit: 1, window: 2_000, batch: 1 }],
  [1.9, undefined, { limit: 1, window: 527, batch: 1 }],
  [2.5, 4, { limit: 4, window: 1_600, batch: 1 }],
])('%d requests a second and a burst of %s over replicas', (rate, burst, expected) => {
  expect(overReplicas(rate, burst)).toEqual(expected);
});

test('a permit is held until it is released, once', () => {
  const limit = new ConcurrencyLimit({ limit: 2, what: 'open streams' });
  const first = limit.enter('a');
  limit.enter('a');
  limit.enter('b');
  expect(() => limit.enter('a')).toThrow(limited(1));
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  limit.enter('a');
  expect(() => limit.enter('a')).toThrow('more than 2 open streams');
});

test('one caller has limits of its own for rate, requests and streams', async () => {
  const { clock } = fakeClock();
  const limits = new CallerLimits({
    requestsPerSecond: 3,
    concurrentRequests: 2,
    openStreams: 1,
    clock,
  });
  const ask = async (address: string): Promise<Disposable> => limits.request(alice, address);
  const first = await ask('127.0.0.1');
  await ask('127.0.0.1');
  await expect(ask('10.0.0.1')).rejects.toThrow('requests in flight');
  first[Symbol.dispose]();
  await expect(ask('10.0.0.1')).rejects.toThrow('too many requests');
  await limits.request({ ...alice, subject: 'bob' }, '127.0.0.1');
  await limits.request({ ...alice, tenant: 'other' }, '127.0.0.1');
  limits.stream(alice, '127.0.0.1');
  expect(() => limits.stream(alice, '127.0.0.1')).toThrow('open streams');
});

test('anonymous callers are told apart by address, IPv6 ones by network', () => {
  const limits = new CallerLimits({ openStreams: 1 });
  const nobody = { tenant: '', subject: '', method: 'anonymous' };
  limits.stream(nobody, '192.0.2.1');
  limits.stream(nobody, '192.0.2.2');
  expect(() => limits.stream(nobody, '::ffff:192.0.2.1')).toThrow('open streams');
  limits.stream(nobody, '2001:db8:0:1::1');
  limits.stream(nobody, '2001:db8:0:2::1');
  expect(() => limits.stream(nobody, '2001:db8:0:1:ffff::2')).toThrow('open streams');
});

test('0 means unlimited', async () => {
  const limits = new CallerLimits({ concurrentRequests: 0, openStreams: 0 });
  const nobody = { tenant: '', subject: '', method: 'anonymous' };
  for (let count = 0; count < 2_000; count += 1) {
    await limits.request(nobody, '127.0.0.1');
    limits.stream(nobody, '127.0.0.1');
  }
});

test('a network that fails to authenticate too often is kept out for a while, others are not', async () => {
  let now = 0;
  const limits = new CallerLimits({ failuresPerMinute: 2, clock: { now: () => now } });
  const fail = () => Promise.reject(new AuthError('UNAUTHENTICATED', 'no', []));
  const failed = { code: 'UNAUTHENTICATED' };
  for (let index = 0; index < 2; index += 1) {
    await expect(limits.authentication('10.0.0.1', fail)).rejects.toMatchObject(failed);
  }
  // Not even the right credential is looked at now.
  const right = vi.fn(async () => alice);
  await expect(limits.authentication('10.0.0.1', right)).rejects.toMatchObject({
    code: 'RATE_LIMITED',
    retryAfter: 30,
  });
  expect(right).not.toHaveBeenCalled();
  expect(await limits.authentication('10.0.0.2', right)).toBe(alice);
  now += 30_000;
  expect(await limits.authentication('10.0.0.1', right)).toBe(alice);
  await expect(
    limits.authentication('10.0.0.3', () => Promise.reject(new Error('keys cannot be fetched'))),
  ).rejects.toThrow('keys cannot be fetched');
});

test('only wrong credentials count as failures to authenticate', async () => {
  const limits = new CallerLimits({ failuresPerMinute: 2, clock: { now: () => 0 } });
  const failures = [
    new AuthError('PERMISSION_DENIED', 'not for this caller', []),
    new LegateError('UNAVAILABLE', 'keys cannot be fetched'),
    Object.assign(new Error('not ours'), { code: 'UNAUTHENTICATED' }),
  ];
  for (const failure of failures)
    for (let count = 0; count < 3; count += 1)
      await expect(limits.authentication('10.0.0.1', () => Promise.reject(failure))).rejects.toBe(
        failure,
      );
});

test('addresses of one IPv6 network fail together', async () => {
  const limits = new CallerLimits({ failuresPerMinute: 2, clock: { now: () => 0 } });
  const fail = () => Promise.reject(new AuthError('UNAUTHENTICATED', 'no', []));
  for (const address of ['2001:db8::1', '2001:db8::2']) {
    await expect(limits.authentication(address, fail)).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
    });
  }
  await expect(limits.authentication('2001:db8::3', fail)).rejects.toMatchObject({
    code: 'RATE_LIMITED',
  });
});

test('parallel guesses reach the verifier only as often as the limit allows', async () => {
  const limits = new CallerLimits({ failuresPerMinute: 5, clock: { now: () => 0 } });
  const verify = vi.fn(() => Promise.reject(new AuthError('UNAUTHENTICATED', 'no', [])));
  const guesses = Array.from({ length: 500 }, () => limits.authentication('10.0.0.1', verify));
  const results = await Promise.allSettled(guesses);
  expect(verify).toHaveBeenCalledTimes(5);
  const blocked = { status: 'rejected', reason: limited(12) };
  expect(results.slice(5)).toEqual(Array.from({ length: 495 }, () => blocked));
});

test('parallel callers with valid credentials wait for each other and are all accepted', async () => {
  const limits = new CallerLimits({ failuresPerMinute: 2, clock: { now: () => 0 } });
  let inFlight = 0;
  let most = 0;
  const verify = async () => {
    inFlight += 1;
    most = Math.max(most, inFlight);
    await Promise.resolve();
    inFlight -= 1;
    return alice;
  };
  const fail = () => Promise.reject(new AuthError('UNAUTHENTICATED', 'no', []));
  const failed = limits.authentication('10.0.0.1', fail);
  const callers = Array.from({ length: 50 }, () => limits.authentication('10.0.0.1', verify));
  await expect(failed).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  expect(await Promise.all(callers)).toEqual(callers.map(() => alice));
  expect(most).toBe(1);
});
