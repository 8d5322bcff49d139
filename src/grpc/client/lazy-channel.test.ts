import { expect, test } from 'vitest';
import type { BindingChannel } from '../../client/index.ts';
import { LegateError } from '../../protocol/index.ts';
import { LazyChannel } from './grpc-binding.ts';

const headers = new Headers();

/** Counts how often it was made and closed; fails as told. */
function counting(failures: readonly Error[] = []) {
  const counts = { made: 0, closed: 0, called: 0 };
  const channel: BindingChannel = {
    call: async () => {
      const failure = failures[counts.called];
      counts.called += 1;
      if (failure !== undefined) throw failure;
      return 'answer';
    },
    stream: () => Promise.reject(new Error('no streams here')),
    close: () => {
      counts.closed += 1;
    },
  };
  const lazy = new LazyChannel(async () => {
    counts.made += 1;
    return channel;
  });
  return { lazy, counts };
}

test('it is made with the first call, once for all', async () => {
  const { lazy, counts } = counting();
  expect(counts.made).toBe(0);
  await Promise.all([lazy.call('getTask', {}, { headers }), lazy.call('getTask', {}, { headers })]);
  expect(counts).toEqual({ made: 1, closed: 0, called: 2 });
});

test('one that does not reach the peer is closed, and the next call makes another', async () => {
  const gone = new LegateError('PEER_UNREACHABLE', 'gone');
  const { lazy, counts } = counting([gone, new LegateError('TASK_NOT_FOUND', 'none')]);
  await expect(lazy.call('getTask', {}, { headers })).rejects.toBe(gone);
  await expect(lazy.call('getTask', {}, { headers })).rejects.toThrow('none');
  expect(await lazy.call('getTask', {}, { headers })).toBe('answer');
  expect(counts).toEqual({ made: 2, closed: 1, called: 3 });
});

test('a caller that aborts while the channel opens stops waiting, and other callers get the channel', async () => {
  const gate = Promise.withResolvers<BindingChannel>();
  const lazy = new LazyChannel(() => gate.promise);
  const leaving = new AbortController();
  const left = lazy.call('getTask', {}, { headers, signal: leaving.signal });
  const stayed = lazy.call('getTask', {}, { headers });
  leaving.abort(new Error('enough'));
  await expect(left).rejects.toThrow('enough');
  const { lazy: channel } = counting();
  gate.resolve(channel);
  expect(await stayed).toBe('answer');
});

test('a failure to make it after its only caller gave up is handled', async () => {
  const gate = Promise.withResolvers<BindingChannel>();
  const lazy = new LazyChannel(() => gate.promise);
  const signal = AbortSignal.abort(new Error('enough'));
  await expect(lazy.call('getTask', {}, { headers, signal })).rejects.toThrow('enough');
  // An unhandled rejection would fail the test run.
  gate.reject(new Error('card not found'));
  await new Promise((resolve) => setImmediate(resolve));
});

test('closing what was never made makes nothing', async () => {
  const { lazy, counts } = counting();
  lazy.close();
  expect(counts).toEqual({ made: 0, closed: 0, called: 0 });
});
