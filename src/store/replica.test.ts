import { expect, test } from 'vitest';
import { intercepted } from '../../test/support/intercepted-store.ts';
import { LegateError } from '../protocol/index.ts';
import { openMemoryReplicas, Replica, type Store } from './index.ts';

/** Time that goes when it is told to. */
class TestClock {
  #now = 0;
  readonly #timers = new Map<() => void, number>();
  now(): number {
    return this.#now;
  }
  after(delay: number, callback: () => void): { cancel(): void } {
    this.#timers.set(callback, this.#now + delay);
    return { cancel: () => void this.#timers.delete(callback) };
  }
  advance(milliseconds: number): void {
    this.#now += milliseconds;
    for (const [callback, at] of this.#timers) {
      if (at <= this.#now && this.#timers.delete(callback)) callback();
    }
  }
}

const leaseMs = 15_000;
const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

function sharedStore(clock: TestClock): Store {
  const [store] = openMemoryReplicas(1, { clock });
  if (store === undefined) throw new Error('no store');
  return store;
}

/** Lets time go by in steps that are short enough for leases to be renewed. */
async function pass(clock: TestClock, milliseconds: number): Promise<void> {
  for (let left = milliseconds; left > 0; left -= 1_000) {
    clock.advance(1_000);
    await settled();
  }
}

const member = (looks: string[] = [], name = 'look') => ({
  takeOver: async (): Promise<void> => void looks.push(name),
});

test('a replica is alive from its first member to its last', async () => {
  const clock = new TestClock();
  const store = sharedStore(clock);
  const replica = new Replica({ store, id: 'r', scheduler: clock });
  const other = new Replica({ store, id: 'o', scheduler: clock });
  const isDead = async (): Promise<boolean> => (await other.dead(['r'])).has('r');
  expect(await isDead()).toBe(true);
  const leaveFirst = await replica.join(member());
  const leaveSecond = await replica.join(member());
  await pass(clock, 4 * leaseMs);
  expect(await isDead()).toBe(false);
  await leaveFirst();
  await leaveFirst();
  await pass(clock, 4 * leaseMs);
  expect(await isDead()).toBe(false);
  await leaveSecond();
  expect(await isDead()).toBe(true);
});

test('a replica never takes itself for dead', async () => {
  const clock = new TestClock();
  const replica = new Replica({ store: sharedStore(clock), id: 'r', scheduler: clock });
  expect(await replica.dead(['r'])).toEqual(new Set());
});

test('each member looks for what was left when it joins and three times per lease, also after failures', async () => {
  const clock = new TestClock();
  const replica = new Replica({ store: sharedStore(clock), id: 'r', scheduler: clock });
  const looks: string[] = [];
  const leave = await replica.join({
    async takeOver() {
      looks.push('a');
      if (looks.length > 1) throw new Error('not now');
    },
  });
  expect(looks).toEqual(['a']);
  await pass(clock, leaseMs);
  expect(looks).toEqual(['a', 'a', 'a', 'a']);
  await leave();
  await pass(clock, leaseMs);
  expect(looks).toHaveLength(4);
});

test('a replica that could not renew its lease in time spares others for as long as a lease', async () => {
  const clock = new TestClock();
  const inner = sharedStore(clock);
  let isAway = false;
  const store = intercepted(inner, {
    heartbeat: (go) => (isAway ? Promise.reject(new LegateError('STORE_FAILED', 'away')) : go()),
  });
  const replica = new Replica({ store, id: 'r', scheduler: clock });
  const renewals: boolean[] = [];
  await replica.join({ ...member(), onRenewed: (isLate) => void renewals.push(isLate) });
  await inner.heartbeat('other', leaseMs);
  isAway = true;
  await pass(clock, 2 * leaseMs);
  expect(replica.sparesExpired).toBe(true);
  expect(await replica.dead(['other', 'unknown'])).toEqual(new Set(['unknown']));
  isAway = false;
  await pass(clock, leaseMs / 3);
  expect(renewals.at(-1)).toBe(true);
  expect(await replica.dead(['other'])).toEqual(new Set());
  await pass(clock, leaseMs + 1_000);
  expect(await replica.dead(['other'])).toEqual(new Set(['other']));
});

test('a member that cannot take over at the start does not join', async () => {
  const clock = new TestClock();
  const store = sharedStore(clock);
  const replica = new Replica({ store, id: 'r', scheduler: clock });
  const failing = { takeOver: () => Promise.reject(new Error('no')) };
  await expect(replica.join(failing)).rejects.toThrow('no');
  await pass(clock, 2 * leaseMs);
  expect(await store.deadReplicas(['r'])).toEqual(['r']);
});
