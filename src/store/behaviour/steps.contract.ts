import * as fc from 'fast-check';
import { Json, type TaskState } from '../../protocol/index.ts';
import type { Append, DeliveryOutcome, RecordWrite, Store } from '../contract.ts';
import { taskBody, writeContext } from './fixtures.contract.ts';

/**
 * Random use of a store. Ids, keys and times are drawn from small sets, so that operations meet
 * each other; steps are plain data, so that a failure can be read.
 */

export const owners = ['["agent","","alice"]', '["agent","","bob"]'];
export const replicas = ['r1', 'r2'];
export const taskIds = ['t0', 't1', 't2', 't3', 't4', 't5'];
export const contextIds = ['c0', 'c1', 'c2'];
export const states: readonly TaskState[] = [
  'TASK_STATE_WORKING',
  'TASK_STATE_INPUT_REQUIRED',
  'TASK_STATE_COMPLETED',
  'TASK_STATE_FAILED',
];

const small = (max: number): fc.Arbitrary<number> => fc.nat({ max });
const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined });
const kind = <K extends string>(name: K): fc.Arbitrary<K> => fc.constant(name);

const owner = fc.constantFrom(...owners);
const replica = fc.constantFrom(...replicas);
const taskId = fc.constantFrom(...taskIds);
const contextId = fc.constantFrom(...contextIds);
const configId = fc.constantFrom('w0', 'w1');
const wireVersion = fc.constantFrom('0.3' as const, '1.0' as const);
const deliveryId = fc.integer({ min: 1, max: 12 });
const recordKey = fc.constantFrom('a', 'a/1', 'a/2', 'b', '');
/** How many admitted turns ago. */
const turn = small(8);

const admit = fc.record({
  kind: kind('admit'),
  owner,
  taskId,
  contextId,
  replica,
  isNew: fc.boolean(),
  byTask: fc.boolean(),
  dedupe: maybe(fc.record({ key: small(2), digest: small(1), lasts: small(40) })),
  push: maybe(fc.record({ configId, wireVersion })),
  maxContexts: small(3),
});

const append = fc.record({
  kind: kind('append'),
  taskId,
  replica,
  turn: maybe(turn),
  behind: fc.constantFrom(0, 0, 0, 0, 1),
  events: small(2),
  isFollowUp: fc.constantFrom(false, false, true),
  state: fc.constantFrom(...states),
  ends: fc.boolean(),
  replies: fc.constantFrom(false, false, false, true),
  supersedes: fc.constantFrom(false, false, true),
  hasSnapshot: fc.boolean(),
  context: maybe(fc.record({ owner, contextId })),
  record: maybe(fc.record({ key: recordKey, ifVersion: small(2) })),
});

const recordWrite = fc.record({
  key: recordKey,
  value: maybe(small(9)),
  lasts: maybe(small(40)),
  ifVersion: maybe(small(2)),
});

const others = [
  fc.record({ kind: kind('requestCancel'), taskId }),
  fc.record({ kind: kind('release'), turn, replica, started: fc.boolean() }),
  fc.record({ kind: kind('heartbeat'), replica, lasts: small(30) }),
  fc.record({ kind: kind('retire'), replica }),
  fc.record({
    kind: kind('takeOver'),
    replica,
    limit: small(3),
    sparesExpired: fc.boolean(),
    inFlight: maybe(fc.subarray([...taskIds, ...owners.map((each) => `${each}c0`)])),
  }),
  fc.record({ kind: kind('cancelRequests'), replica }),
  fc.record({ kind: kind('loadTurn'), turn }),
  fc.record({
    kind: kind('writeContext'),
    owner,
    contextId,
    value: maybe(small(9)),
    log: fc.array(small(9), { maxLength: 2 }),
  }),
  fc.record({ kind: kind('deleteContext'), owner, contextId }),
  fc.record({ kind: kind('writeRecords'), writes: fc.array(recordWrite, { maxLength: 3 }) }),
  fc.record({ kind: kind('increment'), by: small(3), lasts: small(40) }),
  fc.record({ kind: kind('putPush'), taskId, configId, wireVersion }),
  fc.record({ kind: kind('deletePush'), taskId, configId }),
  fc.record({ kind: kind('claim'), replica, lease: small(20), limit: small(3) }),
  fc.record({
    kind: kind('settle'),
    deliveryId,
    outcome: fc.constantFrom('delivered', 'retry', 'dead'),
    wait: small(20),
  }),
  fc.record({ kind: kind('revive'), deliveryId }),
  // All that is over: which of it a smaller sweep takes first is the driver's affair.
  fc.record({ kind: kind('sweep'), age: small(40), limit: fc.constant(100) }),
  fc.record({ kind: kind('wait'), time: fc.integer({ min: -3, max: 20 }) }),
  fc.record({ kind: kind('restart') }),
] as const;

export const step = fc.oneof(
  { weight: 6, arbitrary: admit },
  { weight: 6, arbitrary: append },
  { weight: 14, arbitrary: fc.oneof(...others) },
);

type Drawn<A> = A extends fc.Arbitrary<infer T> ? T : never;
export type Step = Drawn<typeof step>;

/** A store under test. */
export interface Subject {
  store: Store;
  /** The ids it gave to the turns it admitted: two stores may number them differently. */
  readonly turns: number[];
}

export interface World {
  now: number;
  /** How often the store was opened again: replicas of a former life never come back. */
  generation: number;
}

/** Does one step; gives what the store answered, with turns by the order of their admission. */
export async function perform(step: Step, subject: Subject, world: World): Promise<unknown> {
  const { store, turns } = subject;
  const { now } = world;
  const name = (replica: string): string => `${replica}.${world.generation}`;
  const place = <T extends { id: number }>(turn: T): T => ({
    ...turn,
    id: turns.lastIndexOf(turn.id) + 1,
  });
  switch (step.kind) {
    case 'admit':
      return performAdmit(step, subject, world);
    case 'append': {
      const outcome = await store.append(await toAppend(step, subject, world));
      if (outcome.kind !== 'appended' || outcome.next === undefined) return outcome;
      return { ...outcome, next: place(outcome.next) };
    }
    case 'requestCancel':
      return store.requestCancel(step.taskId);
    case 'release': {
      const id = turns.at(-1 - step.turn);
      if (id === undefined) return undefined;
      return store.release({ id, replica: name(step.replica), started: step.started });
    }
    case 'heartbeat':
      return store.heartbeat(name(step.replica), step.lasts);
    case 'retire':
      return store.retire(name(step.replica));
    case 'takeOver': {
      const { limit, inFlight } = step;
      const query = {
        agent: 'agent',
        replica: name(step.replica),
        limit,
        sparesExpired: step.sparesExpired,
      };
      const taken = await store.takeOver(inFlight === undefined ? query : { ...query, inFlight });
      return taken.map(place);
    }
    case 'cancelRequests':
      return [...(await store.cancelRequests(name(step.replica)))].sort();
    case 'loadTurn': {
      const id = turns.at(-1 - step.turn);
      return id === undefined ? undefined : store.loadTurn(id);
    }
    case 'writeContext': {
      const { owner, contextId, value, log } = step;
      return writeContext(store, {
        owner,
        contextId,
        ...(value !== undefined && { value: Json.of(value) }),
        ...(log.length > 0 && { log: log.map((entry) => Json.of(entry)) }),
      });
    }
    case 'deleteContext':
      return store.deleteContext(step.owner, step.contextId);
    case 'writeRecords':
      return store.records.write(
        step.writes.map((write) => toRecordWrite(write, now)),
        now,
      );
    case 'increment': {
      const { by, lasts } = step;
      return store.records.increment({ space: 's', key: 'n', by, expiresAt: now + lasts, now });
    }
    case 'putPush':
      return store.push.put(step.taskId, registration(step));
    case 'deletePush':
      return store.push.delete(step.taskId, step.configId);
    case 'claim': {
      const { lease, limit } = step;
      const replica = name(step.replica);
      return store.push.claim({ replica, leaseMs: lease, limit });
    }
    case 'settle':
      return store.push.settle(step.deliveryId, toOutcome(step));
    case 'revive':
      return store.push.revive(step.deliveryId);
    case 'sweep':
      return store.sweep({ retentionMs: step.age, limit: step.limit });
    case 'wait':
    case 'restart':
      return undefined;
  }
}

async function performAdmit(
  step: Drawn<typeof admit>,
  { store, turns }: Subject,
  world: World,
): Promise<unknown> {
  const { owner, taskId, contextId, dedupe, isNew, push } = step;
  const outcome = await store.admit({
    agent: 'agent',
    owner,
    key: step.byTask ? taskId : owner + contextId,
    taskId,
    contextId,
    replica: `${step.replica}.${world.generation}`,
    now: world.now,
    request: Json.of({ for: taskId }),
    maxContexts: step.maxContexts,
    ...(isNew && { task: taskBody(taskId, contextId) }),
    ...(isNew && push !== undefined && { push: registration(push) }),
    ...(dedupe !== undefined && {
      dedupe: {
        key: `m${dedupe.key}`,
        digest: `d${dedupe.digest}`,
        expiresAt: world.now + dedupe.lasts,
      },
    }),
  });
  if (outcome.kind !== 'admitted') return outcome;
  const { turn, ...rest } = outcome;
  turns.push(turn.id);
  return { ...rest, turn: { ...turn, id: turns.length } };
}

async function toAppend(
  step: Drawn<typeof append>,
  { store, turns }: Subject,
  world: World,
): Promise<Append> {
  const { taskId, state, context, record } = step;
  const task = await store.load(taskId);
  const version = Math.max(0, (task?.version ?? 1) - step.behind);
  const last = version + step.events;
  const id = step.turn === undefined ? undefined : turns.at(-1 - step.turn);
  const replica = `${step.replica}.${world.generation}`;
  const body = step.isFollowUp
    ? Json.of({ message: { messageId: 'm', role: 'ROLE_USER' as const, parts: [] } })
    : Json.of({ statusUpdate: { taskId, contextId: 'c', status: { state } } });
  return {
    taskId,
    version,
    events: Array.from({ length: step.events }, (_, index) => ({
      sequence: version + 1 + index,
      body,
    })),
    state,
    statusTime: world.now,
    isSuperseded: step.supersedes && state === 'TASK_STATE_INPUT_REQUIRED',
    replica,
    now: world.now,
    ...(id !== undefined && { turn: { id, replica }, endsTurn: step.ends }),
    ...(id !== undefined &&
      step.replies && {
        reply: Json.of({ messageId: 'r', role: 'ROLE_AGENT' as const, parts: [] }),
      }),
    // A driver may leave out the snapshot of a shorter log.
    ...(step.hasSnapshot &&
      last > 8 && { snapshot: { version: last, body: taskBody(taskId, 'c', state) } }),
    ...(context !== undefined && {
      context: { ...context, value: Json.of(last), log: [Json.of(last)] },
    }),
    ...(record !== undefined && { records: [{ space: 's', ...record, value: Json.of(last) }] }),
  };
}

function toRecordWrite(write: Drawn<typeof recordWrite>, now: number): RecordWrite {
  const { key, value, lasts, ifVersion } = write;
  return {
    space: 's',
    key,
    ...(value !== undefined && { value: Json.of(value) }),
    ...(lasts !== undefined && { expiresAt: now + lasts }),
    ...(ifVersion !== undefined && { ifVersion }),
  };
}

function toOutcome(step: { outcome: string; wait: number }): DeliveryOutcome {
  if (step.outcome === 'delivered') return { kind: 'delivered' };
  if (step.outcome === 'dead') return { kind: 'dead', error: 'dead' };
  return { kind: 'retry', afterMs: step.wait, error: 'failed' };
}

function registration(push: { configId: string; wireVersion: '0.3' | '1.0' }): {
  config: { id: string; url: string };
  wireVersion: '0.3' | '1.0';
} {
  return {
    config: { id: push.configId, url: 'https://example.com' },
    wireVersion: push.wireVersion,
  };
}
