import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { TurnEvent } from '../../agents/index.ts';
import type { Artifact, Part, StreamResponse } from '../../protocol/index.ts';
import { Relay } from './relay.ts';

const ids = { taskId: 't', contextId: 'c' };

/** What a reader of the events has in the end; throws for what an engine would refuse. */
class Reader {
  readonly artifacts = new Map<string, Part[]>();
  readonly #sealed = new Set<string>();

  take(events: Iterable<TurnEvent>): void {
    for (const event of events) {
      if (!('kind' in event) || event.kind !== 'chunk') continue;
      const { artifact, append, lastChunk } = event;
      const { artifactId } = artifact;
      if (this.#sealed.has(artifactId)) throw new Error(`${artifactId} was sealed`);
      if (append && !this.artifacts.has(artifactId)) throw new Error(`nothing to append to`);
      const before = append ? (this.artifacts.get(artifactId) ?? []) : [];
      this.artifacts.set(artifactId, [...before, ...artifact.parts]);
      if (lastChunk) this.#sealed.add(artifactId);
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

function finish(relay: Relay, reader: Reader, artifacts: readonly Artifact[]): void {
  reader.take(relay.artifacts(artifacts, true));
  const read = [...reader.artifacts].map(([artifactId, parts]) => ({ artifactId, parts }));
  const byId = (one: Artifact, other: Artifact): number =>
    one.artifactId < other.artifactId ? -1 : 1;
  expect(read.toSorted(byId)).toEqual(artifacts.toSorted(byId));
}

test('whichever updates are lost or come twice, the artifacts are whole in the end', () => {
  fc.assert(
    fc.property(
      chunks,
      fc.array(fc.constantFrom(0, 1, 1, 1, 2), { maxLength: 30 }),
      (order, times) => {
        const { updates, artifacts } = tellingOf(order);
        const relay = new Relay();
        const reader = new Reader();
        for (const [sequence, update] of updates.entries()) {
          for (let time = 0; time < (times[sequence] ?? 1); time += 1) {
            reader.take(relay.update(update, 's', sequence));
          }
        }
        finish(relay, reader, artifacts);
      },
    ),
  );
});

test('a telling that begins anew goes on from its snapshot, wherever the first one broke off', () => {
  fc.assert(
    fc.property(chunks, fc.nat(), fc.nat(), (order, heard, shown) => {
      const { updates, artifacts } = tellingOf(order);
      const broke = heard % (updates.length + 1);
      const at = broke + (shown % (updates.length - broke + 1));
      const relay = new Relay();
      const reader = new Reader();
      for (const [sequence, update] of updates.slice(0, broke).entries()) {
        reader.take(relay.update(update, 'first', sequence));
      }
      const snapshot = tellingOf(order.slice(0, at)).artifacts;
      const status = { state: 'TASK_STATE_WORKING' } as const;
      const task = { id: 't', contextId: 'c', status, artifacts: snapshot };
      reader.take(relay.update({ task }, 'second', 0));
      for (const [sequence, update] of updates.slice(at).entries()) {
        reader.take(relay.update(update, 'second', sequence + 1));
      }
      finish(relay, reader, artifacts);
    }),
  );
});

test('a bare sign of work is passed on once, words always, and ends never', () => {
  const relay = new Relay();
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
  ].flatMap((event, sequence) => [...relay.update(event, 's', sequence)]);
  expect(told).toEqual([{ kind: 'working' }, { kind: 'working', parts: [{ text: 'one' }] }]);
});

test('a result that joins the text of its chunks repeats none of it', () => {
  const { updates } = tellingOf(['a', 'a', 'a']);
  const relay = new Relay();
  for (const [sequence, update] of updates.entries()) {
    const { artifactUpdate } = update as Extract<StreamResponse, { artifactUpdate: unknown }>;
    // Unsealed, so that the result might add to it.
    const open = { artifactUpdate: { ...artifactUpdate, lastChunk: false } };
    expect([...relay.update(open, 's', sequence)]).toHaveLength(1);
  }
  const whole = (text: string): Artifact => ({ artifactId: 'a', parts: [{ text }] });
  expect([...relay.artifacts([whole('0 1 2 ')], true)]).toEqual([]);
  expect([...relay.artifacts([whole('0 1 2 3')], true)]).toEqual([
    {
      kind: 'chunk',
      artifact: { artifactId: 'a', parts: [{ text: '3' }] },
      append: true,
      lastChunk: true,
    },
  ]);
});

test('an update may have any number of parts', () => {
  const relay = new Relay();
  const parts = Array.from({ length: 200_000 }, (_, index): Part => ({ data: index }));
  const update = (append: boolean): StreamResponse => ({
    artifactUpdate: { ...ids, artifact: { artifactId: 'a', parts }, append },
  });
  expect([...relay.update(update(false), 's', 0)]).toHaveLength(1);
  expect([...relay.update(update(true), 's', 1)]).toHaveLength(1);
});
