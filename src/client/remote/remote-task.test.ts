import { afterEach, describe, expect, test, vi } from 'vitest';
import { message, type Part } from '../../protocol/index.ts';
import {
  chunkOf,
  httpTransport,
  queueTransport,
  RemotePeer,
  statusOf,
} from '../testing/remote-peer.ts';
import type { RemoteEvent } from './remote-events.ts';
import { RemoteTask, type RemoteTaskOptions } from './remote-task.ts';
import { readResumePoint, type ResumePoint } from './resume-point.ts';
import type { TaskTransport } from './task-transport.ts';

afterEach(() => {
  vi.useRealTimers();
});

const request = { message: message('a poem, please', { messageId: 'm-1' }) };

/** Reads a task to its end; what was chunked is put together as a reader would. */
async function read(
  options: Partial<RemoteTaskOptions> & Pick<RemoteTaskOptions, 'transport'>,
  onEvent: (event: RemoteEvent) => void = () => undefined,
) {
  const task = new RemoteTask({ request, signal: new AbortController().signal, ...options });
  const poem: Part[] = [];
  let end: RemoteEvent | undefined;
  for await (const event of task.events()) {
    if (event.kind === 'chunk') {
      if (!event.append) poem.length = 0;
      poem.push(...event.artifact.parts);
    }
    if (event.kind === 'question' || event.kind === 'end') end = event;
    onEvent(event);
  }
  return { task, end, poem: poem.map(({ text }) => text).join('') };
}

const transports: readonly (readonly [string, (peer: RemotePeer) => Promise<TaskTransport>])[] = [
  ['HTTP', httpTransport],
  ['a queue that loses updates', async (peer) => queueTransport(peer)],
];

describe.each(transports)('over %s', (_, transportOf) => {
  test('a turn ends with the whole answer', async () => {
    const peer = new RemotePeer(
      statusOf('TASK_STATE_WORKING', 'w'),
      chunkOf('Roses ', false),
      chunkOf('are ', true),
      chunkOf('red', true),
      statusOf('TASK_STATE_COMPLETED'),
    );
    const { end, poem } = await read({ transport: await transportOf(peer) });
    expect(poem).toBe('Roses are red');
    expect(end).toMatchObject({
      kind: 'end',
      response: { task: { artifacts: [{ parts: [{ text: 'Roses are red' }] }] } },
    });
    expect(peer.cancels).toBe(0);
  });

  test('a process that dies after any save is followed by one that continues, and nothing runs twice', async () => {
    for (let crashAt = 1; ; crashAt += 1) {
      const peer = new RemotePeer(
        statusOf('TASK_STATE_WORKING'),
        chunkOf('Roses ', false),
        statusOf('TASK_STATE_INPUT_REQUIRED', 'q'),
      );
      let saved: ResumePoint | undefined;
      let saves = 0;
      let crashes = 0;
      const save = async (point: ResumePoint): Promise<void> => {
        saves += 1;
        // As a store would keep it.
        saved = readResumePoint(JSON.parse(JSON.stringify(point)));
        if (saves !== crashAt) return;
        crashes += 1;
        throw new Error('crash');
      };
      // Of a process that is gone, no cancel reaches the agent.
      const dying = await transportOf(peer);
      const transport = { ...dying, cancel: async (): Promise<void> => undefined };
      const left = await read({ transport, save }).catch((error: Error) => error);
      if (left instanceof Error) {
        expect(left.message).toBe('crash');
        await read({ transport, point: saved, save });
      }
      expect(saved).toMatchObject({ state: 'asking', taskId: peer.id });
      expect(peer.taken).toEqual(['m-1']);
      if (crashes === 0) break;
    }
  });

  test('an answer continues the task, and repeats nothing of the turn before it', async () => {
    const question = statusOf('TASK_STATE_INPUT_REQUIRED', 'q');
    const peer = new RemotePeer(chunkOf('Roses ', false), question);
    const transport = await transportOf(peer);
    const asked = await read({ transport });
    expect(asked.end).toMatchObject({ kind: 'question' });
    const { point } = asked.task;
    expect(point).toMatchObject({ state: 'asking', question: 'q' });
    const answer = message('red ones', { messageId: 'm-2', taskId: peer.id });
    const answered = read({ transport, point, request: { message: answer } });
    await expect.poll(() => peer.taken).toEqual(['m-1', 'm-2']);
    peer.tell(statusOf('TASK_STATE_WORKING'), chunkOf('are red', true));
    peer.tell(statusOf('TASK_STATE_COMPLETED'));
    const { poem, end } = await answered;
    expect(poem).toBe('are red');
    expect(end).toMatchObject({ kind: 'end' });
  });

  test('a turn that is abandoned is cancelled, one that is handed over is not', async () => {
    for (const isHandedOver of [false, true]) {
      const peer = new RemotePeer(statusOf('TASK_STATE_WORKING', 'w'));
      const turn = new AbortController();
      const reading = read(
        {
          transport: await transportOf(peer),
          signal: turn.signal,
          handsOver: () => isHandedOver,
        },
        ({ kind }) => {
          if (kind === 'progress') turn.abort(new Error('stop'));
        },
      );
      await expect(reading).rejects.toThrow('stop');
      expect(peer.cancels).toBe(isHandedOver ? 0 : 1);
    }
  });

  test('a consumer that leaves cancels, but not after a question', async () => {
    const peer = new RemotePeer(statusOf('TASK_STATE_WORKING', 'w'));
    const transport = await transportOf(peer);
    const { signal } = new AbortController();
    const left = new RemoteTask({ transport, request, signal });
    for await (const event of left.events()) if (event.kind === 'progress') break;
    expect(peer.cancels).toBe(1);

    const asking = new RemotePeer(statusOf('TASK_STATE_INPUT_REQUIRED', 'q'));
    const asked = new RemoteTask({ transport: await transportOf(asking), request, signal });
    for await (const event of asked.events()) if (event.kind === 'question') break;
    expect(asking.cancels).toBe(0);
  });

  test('a task is left to itself once its time is over and its id is known', async () => {
    const peer = new RemotePeer(statusOf('TASK_STATE_WORKING', 'w'));
    const { task, end } = await read({ transport: await transportOf(peer), detachAfterMs: 0 });
    expect(end).toBeUndefined();
    expect(task.isDetached).toBe(true);
    expect(task.point).toMatchObject({ state: 'working', taskId: peer.id });
    expect(peer.cancels).toBe(0);
  });
});

/** A transport whose frames are given one by one. */
function idleTransport(): TaskTransport & { readonly cancelled: string[] } {
  const cancelled: string[] = [];
  return {
    resume: 'none',
    cancelled,
    async *send(_, { signal }) {
      yield { response: statusOf('TASK_STATE_WORKING', 'w') };
      await new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      });
    },
    async cancel({ taskId }) {
      cancelled.push(taskId ?? '');
    },
  };
}

test.each([
  ['timeout', { timeoutMs: 1_000, inactivityTimeoutMs: 5_000 }],
  ['inactivity', { timeoutMs: 5_000, inactivityTimeoutMs: 1_000 }],
] as const)('%s ends the turn and cancels the task', async (expired, limits) => {
  vi.useFakeTimers();
  const transport = idleTransport();
  const { signal } = new AbortController();
  const task = new RemoteTask({ transport, request, signal, ...limits });
  const reading = (async () => {
    for await (const _ of task.events());
  })();
  const failed = expect(reading).rejects.toMatchObject({ code: 'REQUEST_TIMEOUT' });
  await vi.advanceTimersByTimeAsync(1_000);
  await failed;
  expect(task.expired).toBe(expired);
  expect(transport.cancelled).toEqual(['task-1']);
  expect(vi.getTimerCount()).toBe(0);
});

test('a message whose answer is lost is never sent again', async () => {
  const point = { v: 2, state: 'sending', messageId: 'm-1', delivered: {} } as const;
  const reading = read({ transport: idleTransport(), point });
  await expect(reading).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});

test('consent that was given elsewhere is found before anything is sent', async () => {
  const peer = new RemotePeer();
  const transport = await httpTransport(peer);
  peer.take(request);
  peer.tell(statusOf('TASK_STATE_COMPLETED'));
  const delivered = {};
  const point = { v: 2, state: 'asking', messageId: 'm-1', taskId: peer.id, delivered } as const;
  const answer = message('done', { messageId: 'm-2', taskId: peer.id });
  const { end } = await read({
    transport,
    point: { ...point, needsConsent: true },
    request: { message: answer },
  });
  expect(end).toMatchObject({ kind: 'end' });
  expect(peer.taken).toEqual(['m-1']);
});

test('a stored resume point is read back, and other values are refused', () => {
  const point: ResumePoint = {
    v: 2,
    state: 'asking',
    messageId: 'm',
    taskId: 't',
    contextId: 'c',
    question: 'q',
    needsConsent: true,
    delivered: { a: '3.a.b' },
  };
  expect(readResumePoint(JSON.parse(JSON.stringify(point)))).toEqual(point);
  for (const other of [
    undefined,
    null,
    'x',
    [],
    {},
    { ...point, v: 3 },
    { ...point, state: 'x' },
  ]) {
    expect(readResumePoint(other)).toBeUndefined();
  }
  expect(readResumePoint({ ...point, delivered: { a: 1, b: 'm' } })?.delivered).toEqual({ b: 'm' });
});

test('a resume point of version 1 is read with its present name', () => {
  const stored = { v: 1, state: 'working', messageId: 'm-1', taskId: 't-1', told: { a: '1 x' } };
  const { told: delivered, ...rest } = stored;
  expect(readResumePoint(stored)).toEqual({ ...rest, v: 2, delivered });
  expect(readResumePoint({ ...stored, v: 3 })).toBe(undefined);
});
