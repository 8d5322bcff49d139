import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { admissionBehaviour } from './behaviour/admission.contract.ts';
import { commandsBehaviour, queueCommand } from './behaviour/commands.contract.ts';
import { contextsBehaviour } from './behaviour/contexts.contract.ts';
import { dedupeBehaviour } from './behaviour/dedupe.contract.ts';
import { admit, append, statusAppend, working } from './behaviour/fixtures.contract.ts';
import { listBehaviour } from './behaviour/list.contract.ts';
import { logBehaviour } from './behaviour/log.contract.ts';
import { pushBehaviour } from './behaviour/push.contract.ts';
import { recordsBehaviour } from './behaviour/records.contract.ts';
import { sweepBehaviour } from './behaviour/sweep.contract.ts';
import { turnsBehaviour } from './behaviour/turns.contract.ts';
import { vectorsBehaviour } from './behaviour/vectors.contract.ts';
import type { Store } from './contract.ts';

/** A store under test, whose clock a test sets. */
export interface Opened {
  readonly store: Store;
  /** Sets the clock of the store, to milliseconds since 1970. */
  readonly setTime: (time: number) => Promise<void> | void;
}

/** What every driver must do: each sentence of the contract as a test. `open` gives an empty store. */
export function describeStore(name: string, open: () => Opened | Promise<Opened>): void {
  describe(`the ${name} store`, () => {
    let store: Store;
    let setTime: Opened['setTime'];
    beforeEach(async () => {
      ({ store, setTime } = await open());
    });
    afterEach(() => store.close());

    for (const behaviour of [
      admissionBehaviour,
      dedupeBehaviour,
      turnsBehaviour,
      commandsBehaviour,
      logBehaviour,
      contextsBehaviour,
      listBehaviour,
      pushBehaviour,
      recordsBehaviour,
      vectorsBehaviour,
      sweepBehaviour,
    ]) {
      behaviour(
        () => store,
        async (time) => setTime(time),
      );
    }

    test('may be closed twice', async () => {
      await store.close();
      await store.close();
    });
  });
}

/** What drivers must do that several replicas can share; `open` gives two stores on one empty medium. */
export function describeReplicas(
  name: string,
  open: () => Promise<readonly [Store, Store]> | readonly [Store, Store],
): void {
  describe(`replicas on one ${name} store`, () => {
    let stores: readonly [Store, Store];
    beforeEach(async () => {
      stores = await open();
    });
    afterEach(async () => {
      for (const store of stores) await store.close();
    });

    test('see what the other has written', async () => {
      const [first, second] = stores;
      expect(first.shared && second.shared).toBe(true);
      await admit(first);
      expect(await second.load('t')).toMatchObject({ version: 1 });
    });

    test("are notified of the other's appends and cancellation requests, and not of their own", async () => {
      const [first, second] = stores;
      const told: [string, string, number][] = [];
      first.watch(({ taskId, version }) => told.push(['first', taskId, version]));
      second.watch(({ taskId, version }) => told.push(['second', taskId, version]));
      await admit(first);
      second.follow('t');
      await expect
        .poll(async () => {
          const { version = 0 } = (await first.load('t')) ?? {};
          await append(first, statusAppend('t', version, working));
          return told;
        })
        .toContainEqual(['second', 't', expect.any(Number)]);
      const { version } = (await first.load('t')) ?? {};
      await expect.poll(() => told).toContainEqual(['second', 't', version]);
      await second.requestCancel('t');
      await expect.poll(() => told).toContainEqual(['first', 't', version]);
      expect(told.filter(([who]) => who === 'first')).toHaveLength(1);
    });

    test('are notified of commands that the other has dropped, and of the end of those that they follow', async () => {
      const [first, second] = stores;
      const told: string[] = [];
      second.watch(({ taskId, version }) => void (version === 0 && told.push(taskId)));
      await queueCommand(first, 'c2');
      await first.commands.drop('c', 'r1');
      await expect.poll(() => told).toEqual(['c2']);
      second.follow('c1');
      told.length = 0;
      // Until the other store knows of the interest.
      await expect
        .poll(async () => {
          const { turn } = await queueCommand(first, 'c1');
          await first.commands.end({ turn, replica: 'r1', now: 1000 });
          return told.length;
        })
        .toBeGreaterThan(1);
      expect(new Set(told)).toEqual(new Set(['c1']));
    });

    test('a watch can be ended', async () => {
      const [first, second] = stores;
      const told: number[] = [];
      const still: number[] = [];
      const unwatch = second.watch(({ version }) => told.push(version));
      second.watch(({ version }) => still.push(version));
      unwatch();
      await admit(first);
      await second.requestCancel('t');
      await first.requestCancel('t');
      await expect.poll(() => still).toContain(1);
      expect(told).toEqual([]);
    });
  });
}
