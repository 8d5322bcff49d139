import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { KeyedQueue } from './keyed-queue.ts';

/** Work that says when it started and ends when it is told. */
function openWork() {
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const work = (name: string) => (): Promise<void> => {
    started.push(name);
    const { promise, resolve } = Promise.withResolvers<void>();
    ends.set(name, resolve);
    return promise;
  };
  return { started, work, end: (name: string) => ends.get(name)?.() };
}

const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

test('work of one key runs in order, that of other keys beside it', async () => {
  const queue = new KeyedQueue();
  const { started, work, end } = openWork();
  void queue.run('a', work('a1'));
  void queue.run('a', work('a2'));
  void queue.run('b', work('b1'));
  await settled();
  expect(started).toEqual(['a1', 'b1']);
  end('a1');
  await settled();
  expect(started).toEqual(['a1', 'b1', 'a2']);
});

test('a key that is full holds up only itself, and keys take turns', async () => {
  const queue = new KeyedQueue({ perKey: 2, total: 3 });
  const { started, work, end } = openWork();
  for (const name of ['a1', 'a2', 'a3', 'a4']) void queue.run('a', work(name));
  for (const name of ['b1', 'b2', 'b3']) void queue.run('b', work(name));
  void queue.run('c', work('c1'));
  await settled();
  expect(started).toEqual(['a1', 'a2', 'b1']);
  expect(queue.size).toBe(8);
  for (const name of ['a1', 'a2', 'b1', 'b2']) {
    end(name);
    await settled();
  }
  expect(started).toEqual(['a1', 'a2', 'b1', 'b2', 'c1', 'a3', 'b3']);
});

test('the result and the failure of work are those of the run, and a failure holds up nothing', async () => {
  const queue = new KeyedQueue();
  const failing = queue.run('a', () => Promise.reject(new Error('no')));
  const next = queue.run('a', () => Promise.resolve(2));
  await expect(failing).rejects.toThrow('no');
  expect(await next).toBe(2);
  expect(queue.size).toBe(0);
});

test('an abort ends the wait, gives up the place and leaves no listener', async () => {
  const queue = new KeyedQueue();
  const { started, work, end } = openWork();
  void queue.run('a', work('a1'));
  const controller = new AbortController();
  const { signal } = controller;
  const waiting = queue.run('a', work('a2'), { signal });
  const last = queue.run('a', work('a3'));
  controller.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
  await expect(queue.run('a', work('a4'), { signal })).rejects.toThrow('enough');
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  end('a1');
  await settled();
  expect(started).toEqual(['a1', 'a3']);
  end('a3');
  await last;
  expect(queue.size).toBe(0);
});

test('an abort in the moment of the start does not keep the place', async () => {
  const queue = new KeyedQueue();
  const release = await queue.enter('a');
  const controller = new AbortController();
  const waiting = queue.run('a', () => Promise.resolve(1), { signal: controller.signal });
  release();
  controller.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
  expect(await queue.run('a', () => Promise.resolve(2))).toBe(2);
});

test('work that has started ignores the signal of its wait', async () => {
  const queue = new KeyedQueue();
  const controller = new AbortController();
  const { work, end } = openWork();
  const running = queue.run('a', work('a1'), { signal: controller.signal });
  await settled();
  controller.abort();
  end('a1');
  await expect(running).resolves.toBeUndefined();
});

test('the queue is idle when nothing waits or runs', async () => {
  const queue = new KeyedQueue();
  await queue.idle();
  const { work, end } = openWork();
  void queue.run('a', work('a1'));
  void queue.run('a', work('a2'));
  let isIdle = false;
  const idle = queue.idle().then(() => (isIdle = true));
  await settled();
  end('a1');
  await settled();
  expect(isIdle).toBe(false);
  end('a2');
  await idle;
});
