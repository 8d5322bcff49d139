import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Delivery } from './delivery.ts';
import { withDefaults } from './options.ts';
import { TaskFollower, type TaskOpening } from './stream.ts';
import { status, task } from './testing/fixtures.ts';
import type { Frame, StreamEvent, TransportStream } from './transport.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A connection that gives some frames and then nothing, until it is closed. */
async function* thenSilence(call: TransportStream, ...frames: Frame[]): AsyncGenerator<Frame> {
  yield* frames;
  await new Promise((_, reject) => {
    call.signal?.addEventListener('abort', () => reject(call.signal?.reason as Error));
  });
}

/** Falls silent `silences` times more before its task ends. */
function peer(frames: Frame[], silences = 0) {
  const calls: TransportStream[] = [];
  let subscriptions = 0;
  const opening: TaskOpening = {
    open: async (call) => {
      calls.push(call);
      return { frames: thenSilence(call, ...frames), canSubscribe: true };
    },
  };
  const settings = withDefaults({ inactivityTimeoutMs: 120_000, sleep: () => Promise.resolve() });
  const followed = {
    settings,
    subscribe: async (_: string, call: TransportStream) => {
      subscriptions += 1;
      if (subscriptions <= silences) {
        return thenSilence(call, { response: { task: task('TASK_STATE_WORKING') } });
      }
      return thenSilence(call, { response: status('TASK_STATE_COMPLETED') });
    },
    getTask: () => Promise.reject(new Error('not expected')),
  };
  return {
    calls,
    subscriptions: () => subscriptions,
    run: () => new TaskFollower(followed, opening, new Delivery({ until: 'turn' }), {}).events(),
  };
}

async function collect(events: AsyncIterable<StreamEvent>): Promise<StreamEvent[]> {
  const all: StreamEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

test('a stream that falls silent is resumed; a keep-alive is not silence', async () => {
  const { run, calls, subscriptions } = peer([{ response: { task: task('TASK_STATE_WORKING') } }]);
  const reading = collect(run());
  await vi.advanceTimersByTimeAsync(119_999);
  calls[0]?.onActivity?.();
  await vi.advanceTimersByTimeAsync(119_999);
  expect(subscriptions()).toBe(0);
  await vi.advanceTimersByTimeAsync(1);
  expect(subscriptions()).toBe(1);
  await vi.runAllTimersAsync();
  expect((await reading).map(({ response }) => response)).toEqual([
    { task: task('TASK_STATE_WORKING') },
    status('TASK_STATE_COMPLETED'),
  ]);
});

test('a peer without keep-alives may be silent as often as it likes', async () => {
  const { run, subscriptions } = peer([{ response: { task: task('TASK_STATE_WORKING') } }], 20);
  const reading = collect(run());
  await vi.runAllTimersAsync();
  expect((await reading).map(({ response }) => response)).toEqual([
    { task: task('TASK_STATE_WORKING') },
    status('TASK_STATE_COMPLETED'),
  ]);
  expect(subscriptions()).toBe(21);
});

test('a peer that keeps its stream open after the end does not delay the caller', async () => {
  const { run, subscriptions } = peer([{ response: { task: task('TASK_STATE_COMPLETED') } }]);
  const reading = collect(run());
  await vi.runAllTimersAsync();
  expect(await reading).toHaveLength(1);
  expect(subscriptions()).toBe(0);
});

test('a consumer that takes its time is not a silent peer', async () => {
  const { run, subscriptions } = peer([
    { response: { task: task('TASK_STATE_WORKING') } },
    { response: status('TASK_STATE_COMPLETED') },
  ]);
  const events = run();
  await events.next();
  await vi.advanceTimersByTimeAsync(600_000);
  expect(await events.next()).toMatchObject({ done: false });
  expect(subscriptions()).toBe(0);
  await events.return();
});

test('a stream that does not open in time is an error', async () => {
  const follower = new TaskFollower(
    {
      settings: withDefaults({ timeoutMs: 5_000 }),
      subscribe: () => Promise.reject(new Error('not expected')),
      getTask: () => Promise.reject(new Error('not expected')),
    },
    {
      open: (call) =>
        thenSilence(call)
          .next()
          .then(() => ({ frames: thenSilence(call), canSubscribe: true })),
    },
    new Delivery({ until: 'turn' }),
    {},
  );
  const outcome = expect(collect(follower.events())).rejects.toMatchObject({
    code: 'REQUEST_TIMEOUT',
    message: 'the stream did not open within 5000 ms',
  });
  await vi.advanceTimersByTimeAsync(5_000);
  await outcome;
});
