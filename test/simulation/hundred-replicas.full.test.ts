import { expect, test } from 'vitest';
import { simulateReplicas } from './hundred-replicas.ts';
import { Random } from './random.ts';

const maxContexts = 1_000;
const world = { replicas: 100, maxContexts, duration: 60_000 };

test.each([0, 0.05, 0.5])(
  '100 replicas that lose a share of %s of their notices keep the limit of contexts to a half more',
  async (loss) => {
    const seen = await simulateReplicas({ ...world, random: new Random(`limit ${loss}`), loss });
    // More is asked for than the limit allows.
    expect(seen.admitted + seen.refused).toBeGreaterThan(25_000);
    expect(seen.refused).toBeGreaterThan(1_000);
    expect(seen.mostOpen).toBeGreaterThanOrEqual(maxContexts * 0.9);
    expect(seen.mostOpen).toBeLessThanOrEqual(maxContexts * 1.5);
    // Nobody is refused much later than a second after there was room.
    expect(seen.refusedAfterMs).toBeLessThan(1_300);
  },
  120_000,
);

test.each([0, 0.05])(
  'followers on 100 replicas see every change, within a poll where a share of %s of notices is lost',
  async (loss) => {
    const seen = await simulateReplicas({ ...world, random: new Random(`notices ${loss}`), loss });
    expect(seen.appends).toBeGreaterThan(2_000);
    expect(seen.seenAfterMs).toBeLessThan(1_200);
    expect(seen.seenAtOnce).toBeGreaterThan(0.85);
    // Four tasks of five have no follower: their appends send nothing.
    expect(seen.notices).toBeLessThan(seen.appends * 0.3);
  },
  120_000,
);

test('one seed gives one history of 100 replicas', async () => {
  const run = () =>
    simulateReplicas({ ...world, duration: 8_000, random: new Random('again'), loss: 0.1 });
  expect(await run()).toEqual(await run());
}, 120_000);
