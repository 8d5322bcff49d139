import { ContextQuota } from '../../src/store/postgres/context-quota.ts';
import { Notices } from '../../src/store/postgres/notices.ts';
import type { Random } from './random.ts';
import { type Lane, VirtualTime } from './virtual-time.ts';

export interface HundredReplicas {
  readonly random: Random;
  readonly replicas: number;
  readonly maxContexts: number;
  /** The probability that a notice does not reach a replica. */
  readonly loss: number;
  /** Milliseconds of virtual time. */
  readonly duration: number;
}

export interface Observed {
  readonly admitted: number;
  readonly refused: number;
  readonly counted: number;
  /** The most contexts that were open at once. */
  readonly mostOpen: number;
  /** The longest time between a refusal and the last moment at which the limit was reached, in ms. */
  readonly refusedAfterMs: number;
  readonly appends: number;
  /** Notices of changes that were sent. */
  readonly notices: number;
  /** The longest time a follower took to see a change, in milliseconds. */
  readonly seenAfterMs: number;
  /** The share of changes that followers saw within 100 ms. */
  readonly seenAtOnce: number;
}

const delayMs = [1, 20] as const;
const pollMs = 1_000;
const taskMs = [50, 3_000] as const;
const skewLimitMs = 3_600_000;

/**
 * Replicas with the real limit of contexts and the real notices, on a model of the database: a set of
 * open contexts, and a channel that delays and loses what it carries. Clocks of replicas are up to an
 * hour off, and run up to a tenth too fast or too slow.
 */
export async function simulateReplicas(world: HundredReplicas): Promise<Observed> {
  const { random, maxContexts, loss } = world;
  const time = new VirtualTime(random.fork('time'));
  const open = new Set<string>();
  const versions = new Map<string, number>();
  const delays: number[] = [];
  const found = { admitted: 0, refused: 0, counted: 0, mostOpen: 0, appends: 0, notices: 0 };
  let lastFullAt = Number.NEGATIVE_INFINITY;
  let refusedAfterMs = 0;
  let tasks = 0;

  const members = Array.from({ length: world.replicas }, () => {
    const lane = time.lane();
    const drift = random.between(0.9, 1.1);
    const skewMs = random.between(-skewLimitMs, skewLimitMs);
    const now = (): number => time.now * drift + skewMs;
    const timers = { after: (ms: number, run: () => void) => lane.after(ms / drift, run) };
    const notices = new Notices(async (payload) => broadcast(lane, payload), { now, timers });
    const quota = new ContextQuota(() => notices.replicas, now);
    return { lane, notices, quota, awaited: new Map<string, (version: number) => void>() };
  });

  function broadcast(from: Lane, payload: string): void {
    if (payload.includes('],[') || /^\["[^"]+",\[/.test(payload)) found.notices += 1;
    for (const { lane, notices } of members) {
      if (lane === from || random.chance(loss)) continue;
      lane.after(random.between(...delayMs), () => notices.receive(payload));
    }
  }

  type Member = (typeof members)[number];

  async function admit({ lane, quota }: Member): Promise<void> {
    const id = `t${(tasks += 1)}`;
    const limit = quota.limitFor('agent', maxContexts, id);
    await lane.sleep(random.between(...delayMs));
    if (limit > 0) {
      found.counted += 1;
      quota.learn('agent', maxContexts, open.size);
    }
    if (limit < 0 || (limit > 0 && open.size >= limit)) {
      found.refused += 1;
      refusedAfterMs = Math.max(refusedAfterMs, time.now - lastFullAt);
      quota.ended(id);
      return;
    }
    found.admitted += 1;
    open.add(id);
    found.mostOpen = Math.max(found.mostOpen, open.size);
    if (open.size >= maxContexts) lastFullAt = time.now;
    await lane.sleep(random.between(...taskMs));
    open.delete(id);
    if (open.size >= maxContexts) lastFullAt = time.now;
    quota.ended(id);
  }

  /** A task of some events on one replica, which another one may follow. */
  async function stream(runner: Member, follower: Member | undefined): Promise<void> {
    const id = `s${(tasks += 1)}`;
    versions.set(id, 0);
    const reading = follower === undefined ? undefined : read(follower, id);
    for (let version = 1; version <= 10; version += 1) {
      await runner.lane.sleep(random.between(50, 1_500));
      versions.set(id, version);
      found.appends += 1;
      reading?.wrote(version);
      runner.notices.notify(id, version);
    }
    await runner.lane.sleep(2 * pollMs);
    reading?.end();
  }

  function read({ lane, notices, awaited }: Member, id: string) {
    const written: number[] = [];
    let seen = 0;
    let isOver = false;
    const look = (): void => {
      for (const until = versions.get(id) ?? 0; seen < until; seen += 1) {
        delays.push(time.now - (written[seen] ?? time.now));
      }
    };
    awaited.set(id, look);
    const leave = notices.follow(id);
    const poll = (): void => {
      look();
      if (!isOver) lane.after(pollMs, poll);
    };
    poll();
    return {
      wrote: (version: number) => void (written[version - 1] = time.now),
      end: () => {
        look();
        isOver = true;
        awaited.delete(id);
        leave();
      },
    };
  }

  for (const member of members) {
    const { lane, notices, awaited } = member;
    notices.watch(({ taskId, version }) => awaited.get(taskId)?.(version));
    const visit = (): void => {
      void admit(member);
      lane.after(random.between(0, 150), visit);
    };
    const begin = (): void => {
      void stream(member, random.chance(0.2) ? random.pick(members) : undefined);
      lane.after(random.between(2_000, 20_000), begin);
    };
    lane.after(random.between(0, 5_000), visit);
    lane.after(random.between(0, 20_000), begin);
  }
  await time.run(() => false, world.duration);
  for (const { notices } of members) notices.close();
  const seenAtOnce = delays.filter((delay) => delay <= 100).length / delays.length;
  return { ...found, refusedAfterMs, seenAfterMs: Math.max(...delays), seenAtOnce };
}
