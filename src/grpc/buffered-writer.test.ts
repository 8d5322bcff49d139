import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { Json } from '../protocol/index.ts';
import type { StreamEvent } from '../tasks/index.ts';
import { BufferedWriter, sendEvents } from './answer.ts';

/** A caller that reads when told to. */
class Caller extends EventEmitter {
  cancelled = false;
  readonly unread: { readonly bytes: Buffer; readonly done: () => void }[] = [];

  write(bytes: Buffer, done: () => void): boolean {
    this.unread.push({ bytes, done });
    return this.unread.length < 16;
  }

  read(): Buffer | undefined {
    const next = this.unread.shift();
    next?.done();
    return next?.bytes;
  }
}

function eventsOf(count: number) {
  const stream = {
    pulled: 0,
    async next(): Promise<StreamEvent | undefined> {
      if (stream.pulled === count) return undefined;
      stream.pulled += 1;
      const status = { state: 'TASK_STATE_WORKING' } as const;
      const body = Json.of({ statusUpdate: { taskId: 't', contextId: 'c', status } });
      return { sequence: stream.pulled, body, isLast: stream.pulled === count };
    },
  };
  return stream;
}

/** Lets every promise continue that can. */
const settled = () => new Promise<void>((resolve) => void setImmediate(resolve));

test('a caller that does not read is sent what fits, and nothing more is pulled', async () => {
  const caller = new Caller();
  const stream = eventsOf(100);
  const poured = sendEvents(stream, new BufferedWriter(caller, 1_000), () => Buffer.alloc(300));
  await settled();
  expect(stream.pulled).toBe(4);
  caller.read();
  await settled();
  expect(stream.pulled).toBe(5);
  let read = 1;
  while (read < 100) {
    if (caller.read() !== undefined) read += 1;
    await settled();
    expect(stream.pulled - read).toBeLessThanOrEqual(4);
  }
  expect(await poured).toBe(true);
});

test('one message may be larger than what may wait', async () => {
  const caller = new Caller();
  const stream = eventsOf(2);
  const poured = sendEvents(stream, new BufferedWriter(caller, 10), () => Buffer.alloc(5_000));
  await settled();
  expect(stream.pulled).toBe(1);
  caller.read();
  await settled();
  expect(stream.pulled).toBe(2);
  caller.read();
  expect(await poured).toBe(true);
});

test('a caller that leaves while it is waited for ends the pouring, though nothing was read', async () => {
  const caller = new Caller();
  const stream = eventsOf(100);
  const poured = sendEvents(stream, new BufferedWriter(caller, 10), () => Buffer.alloc(20));
  await settled();
  caller.cancelled = true;
  caller.emit('cancelled');
  expect(await poured).toBe(false);
  expect(stream.pulled).toBe(1);
});

test('nothing is sent to a caller that left before', async () => {
  const caller = new Caller();
  caller.cancelled = true;
  const stream = eventsOf(3);
  expect(await sendEvents(stream, new BufferedWriter(caller, 10), () => Buffer.alloc(20))).toBe(
    false,
  );
  expect(caller.unread).toEqual([]);
});

test('a stream that closes before its last event is not complete', async () => {
  const caller = new Caller();
  const stream = { next: async () => undefined };
  expect(await sendEvents(stream, new BufferedWriter(caller, 10), () => Buffer.alloc(1))).toBe(
    false,
  );
});
