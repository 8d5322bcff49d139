import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { type RemoteEvent, RemoteTask } from '../../client/index.ts';
import {
  type Artifact,
  LegateError,
  message,
  type Part,
  type StreamResponse,
  type Task,
} from '../../protocol/index.ts';
import { headerNames } from '../exchange.ts';
import { queueTransport, Inbox } from './queue-transport.ts';

const ids = { taskId: 't', contextId: 'c' };

/** What a reader of the events has in the end; throws for what an engine would refuse. */
class Reader {
  readonly artifacts = new Map<string, Part[]>();
  readonly #completed = new Set<string>();

  take(events: Iterable<RemoteEvent>): void {
    for (const event of events) {
      if (event.kind !== 'chunk') continue;
      const { artifact, append, lastChunk } = event;
      const { artifactId } = artifact;
      if (this.#completed.has(artifactId)) throw new Error(`${artifactId} was complete`);
      if (append && !this.artifacts.has(artifactId)) throw new Error(`nothing to append to`);
      const before = append ? (this.artifacts.get(artifactId) ?? []) : [];
      this.artifacts.set(artifactId, [...before, ...artifact.parts]);
      if (lastChunk) this.#completed.add(artifactId);
    }
  }
}

/** Chunks of one to three artifacts, as an agent would make them. */
const chunks = fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 30 });

function tellingOf(order: readonly string[]) {
  const updates: StreamResponse[] = [];
  const whole = new Map<string, Artifact>();
  for (const [index, artifactId] of order.entries()) {
    const parts = [{ text: `${index} ` }];
    const append = whole.has(artifactId);
    const lastChunk = !order.slice(index + 1).includes(artifactId);
    updates.push({
      artifactUpdate: { ...ids, artifact: { artifactId, parts }, append, lastChunk },
    });
    whole.set(artifactId, {
      artifactId,
      parts: [...(whole.get(artifactId)?.parts ?? []), ...parts],
    });
  }
  return { updates, artifacts: [...whole.values()] };
}

interface Update {
  readonly response: StreamResponse;
  readonly series?: string;
  readonly sequence: number;
}

const addressed = { id: 'm', topic: 'replies', correlationId: 't', replyTo: undefined };
const caller = { tenant: '', subject: 'ada', method: 'jwt' };

/** What a turn hears when these updates come, and then the result. */
async function heard(updates: readonly Update[], artifacts: readonly Artifact[]) {
  const inbox = new Inbox('agent');
  const put = (type: 'update' | 'result', body: object, headers: Record<string, string>): void =>
    inbox.put({ ...addressed, type, body: JSON.stringify(body), headers });
  for (const { response, series = 's', sequence } of updates) {
    const headers = { [headerNames.series]: series, [headerNames.sequence]: String(sequence) };
    put('update', response, headers);
  }
  const task: Task = {
    id: 't',
    contextId: 'c',
    status: { state: 'TASK_STATE_COMPLETED' },
    artifacts,
  };
  put('result', { task }, {});
  const transport = queueTransport({
    sender: { send: () => Promise.resolve() },
    agent: 'agent',
    replies: { topic: 'replies', open: () => inbox, close: () => undefined },
    correlationId: 't',
    principal: caller,
  });
  const { signal } = new AbortController();
  const remote = new RemoteTask({ transport, request: { message: message('go') }, signal });
  return Array.fromAsync(remote.events());
}

function expectWhole(events: readonly RemoteEvent[], artifacts: readonly Artifact[]): void {
  const reader = new Reader();
  reader.take(events);
  const read = [...reader.artifacts].map(([artifactId, parts]) => ({ artifactId, parts }));
  const byId = (one: Artifact, other: Artifact): number =>
    one.artifactId < other.artifactId ? -1 : 1;
  expect(read.toSorted(byId)).toEqual(artifacts.toSorted(byId));
}

test('whichever updates are lost or come twice, the artifacts are whole in the end', async () => {
  const repeats = fc.array(fc.constantFrom(0, 1, 1, 1, 2), { maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(chunks, repeats, async (order, times) => {
      const { updates, artifacts } = tellingOf(order);
      const told = updates.flatMap((response, sequence) =>
        Array.from({ length: times[sequence] ?? 1 }, () => ({ response, sequence })),
      );
      expectWhole(await heard(told, artifacts), artifacts);
    }),
  );
});

test('a stream that starts again continues from its snapshot, wherever the first one was cut off', async () => {
  await fc.assert(
    fc.asyncProperty(chunks, fc.nat(), fc.nat(), async (order, heardCount, shown) => {
      const { updates, artifacts } = tellingOf(order);
      const broke = heardCount % (updates.length + 1);
      const at = broke + (shown % (updates.length - broke + 1));
      const snapshot = tellingOf(order.slice(0, at)).artifacts;
      const status = { state: 'TASK_STATE_WORKING' } as const;
      const task = { id: 't', contextId: 'c', status, artifacts: snapshot };
      const told = [
        ...updates
          .slice(0, broke)
          .map((response, sequence) => ({ response, series: 'first', sequence })),
        { response: { task }, series: 'second', sequence: 0 },
        ...updates
          .slice(at)
          .map((response, sequence) => ({ response, series: 'second', sequence: sequence + 1 })),
      ];
      expectWhole(await heard(told, artifacts), artifacts);
    }),
  );
});

test('a bare sign of work is passed on once, words always, and ends only with the result', async () => {
  const status = (
    state: 'TASK_STATE_WORKING' | 'TASK_STATE_COMPLETED',
    said?: string,
  ): StreamResponse => ({
    statusUpdate: {
      ...ids,
      status: {
        state,
        ...(said !== undefined && {
          message: { messageId: said, role: 'ROLE_AGENT', parts: [{ text: said }] },
        }),
      },
    },
  });
  const told = [
    status('TASK_STATE_WORKING'),
    status('TASK_STATE_WORKING'),
    status('TASK_STATE_WORKING', 'one'),
    status('TASK_STATE_COMPLETED'),
  ].map((response, sequence) => ({ response, sequence }));
  expect(await heard(told, [])).toMatchObject([
    { kind: 'known', taskId: 't' },
    { kind: 'progress', parts: [] },
    { kind: 'progress', parts: [{ text: 'one' }] },
    { kind: 'end' },
  ]);
});

test('a result that joins the text of its chunks repeats none of it', async () => {
  const { updates } = tellingOf(['a', 'a', 'a']);
  const told = updates.map((update, sequence) => {
    const { artifactUpdate } = update as Extract<StreamResponse, { artifactUpdate: unknown }>;
    // Incomplete, so that the result might add to it.
    return { response: { artifactUpdate: { ...artifactUpdate, lastChunk: false } }, sequence };
  });
  const chunksOf = async (text: string) => {
    const events = await heard(told, [{ artifactId: 'a', parts: [{ text }] }]);
    return events.filter(({ kind }) => kind === 'chunk');
  };
  expect(await chunksOf('0 1 2 ')).toHaveLength(3);
  expect((await chunksOf('0 1 2 3')).slice(3)).toEqual([
    {
      kind: 'chunk',
      artifact: { artifactId: 'a', parts: [{ text: '3' }] },
      append: true,
      lastChunk: true,
    },
  ]);
});

test('a task is sent again until the broker accepts it after a reconnect', async () => {
  const inbox = new Inbox('agent');
  let attempts = 0;
  const send = async (): Promise<void> => {
    attempts += 1;
    if (attempts === 1) inbox.reopen();
    else if (attempts < 4) throw new LegateError('UNAVAILABLE', 'the broker is away');
    else {
      const task = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_COMPLETED' } };
      inbox.put({ ...addressed, type: 'result', body: JSON.stringify({ task }), headers: {} });
    }
  };
  const transport = queueTransport({
    sender: { send },
    agent: 'agent',
    replies: { topic: 'replies', open: () => inbox, close: () => undefined },
    correlationId: 't',
    principal: caller,
  });
  const { signal } = new AbortController();
  const remote = new RemoteTask({ transport, request: { message: message('go') }, signal });
  expect((await Array.fromAsync(remote.events())).at(-1)).toMatchObject({ kind: 'end' });
  expect(attempts).toBe(4);
});
