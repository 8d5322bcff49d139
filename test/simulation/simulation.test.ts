import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import type { Append, Store } from '../../src/store/index.ts';
import { drawPlan, type Plan, type PlanOptions } from './plan.ts';
import { simulate } from './simulate.ts';
import { tellFailure } from './tell.ts';
import type { WorldReport } from './worker.ts';

const threads = 2;
const worlds = 20;
/** More than are asked for: not every message that is sent begins a turn. */
const turnsPerWorld = 5_300;

/** Lives through worlds in a thread of its own. */
function live(plans: readonly PlanOptions[]): Promise<readonly WorldReport[]> {
  const worker = new Worker(new URL('worker.ts', import.meta.url), { workerData: plans });
  const reports: WorldReport[] = [];
  worker.on('message', (report: WorldReport) => reports.push(report));
  return new Promise((resolve, reject) => {
    worker.once('error', reject);
    worker.once('exit', () => resolve(reports));
  });
}

test('100,000 turns under crashes, pauses, wrong clocks, lost calls and racing cancels break no rule', async () => {
  const plans = Array.from({ length: worlds }, (_, index) => ({
    seed: `world ${index + 1}`,
    turns: turnsPerWorld,
  }));
  const shares = Array.from({ length: threads }, (_, thread) =>
    plans.filter((_plan, index) => index % threads === thread),
  );
  const reports = (await Promise.all(shares.map(live))).flat();
  expect(reports.flatMap(({ failure }) => failure ?? []).join('\n\n')).toBe('');
  const sum = (count: (report: WorldReport) => number): number =>
    reports.reduce((total, report) => total + count(report), 0);
  expect(reports).toHaveLength(worlds);
  expect(sum(({ turns }) => turns)).toBeGreaterThanOrEqual(100_000);
  expect(sum(({ webhookCalls }) => webhookCalls)).toBeGreaterThan(10_000);
  expect(sum(({ busAnswers }) => busAnswers)).toBeGreaterThan(5_000);
}, 600_000);

test('one seed gives one history', async () => {
  const plan = drawPlan({ seed: 'again', turns: 150 });
  const [first, second] = [
    await simulate(plan, { keepsHistory: true }),
    await simulate(plan, { keepsHistory: true }),
  ];
  expect(first.history.length).toBeGreaterThan(500);
  expect(second.history).toEqual(first.history);
  const other = await simulate(drawPlan({ seed: 'another', turns: 150 }), { keepsHistory: true });
  expect(other.history).not.toEqual(first.history);
});

/** A store that lets whoever lost a turn go on writing. */
function withoutFences(store: Store): Store {
  return spoiled(store, {
    append: ({ turn: _turn, ...append }: Append) => store.append({ ...append }),
  });
}

/** A store that forgets which messages came before. */
function withoutMemory(store: Store): Store {
  return spoiled(store, {
    admit: ({ dedupe: _dedupe, ...admission }) => store.admit(admission),
  });
}

function spoiled(store: Store, changed: Partial<Store>): Store {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(name in changed ? changed : target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

async function firstFailure(spoil: (store: Store) => Store): Promise<{ plan: Plan; told: string }> {
  for (let seed = 1; seed <= 20; seed += 1) {
    const plan = drawPlan({ seed: `spoiled ${seed}`, turns: 400 });
    const result = await simulate(plan, { spoil });
    if (result.violation === undefined) continue;
    // Bounded by the number of worlds: a busy machine must not shorten the search.
    const shrinking = { tries: 150, budget: Infinity, world: { spoil } };
    return { plan, told: await tellFailure(plan, result, shrinking) };
  }
  throw new Error('the fault was not found');
}

test.each([
  { fault: 'that forgets messages', spoil: withoutMemory, rule: /a message/ },
  { fault: 'without fences', spoil: withoutFences, rule: /./ },
])(
  'a store $fault is found out, and a short history tells how',
  async ({ spoil, rule }) => {
    const { plan, told } = await firstFailure(spoil);
    const lines = told.split('\n');
    expect(lines[0]).toMatch(/^BROKEN: /);
    expect(lines[0]).toMatch(rule);
    // The same rule is broken at the end of the short history, which names its seed.
    expect(lines.at(-3)).toBe(lines[0]);
    expect(lines.at(-1)).toContain(`seed ${plan.seed}`);
    const left = lines.filter((line) => line.startsWith('  {"name":')).length;
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThan(plan.conversations.length / 4);
  },
  600_000,
);
