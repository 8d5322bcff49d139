import { expect, test } from 'vitest';
import type { Append, Store } from '../../src/store/index.ts';
import { drawPlan, type Plan } from './plan.ts';
import { simulate } from './simulate.ts';
import { tellFailure } from './tell.ts';

/** `npm run ci:full` runs 100,000 turns. */
const worlds = 4;
/** More than are asked for: not every message that is sent starts a turn. */
const turnsPerWorld = 1_060;

test('4,000 turns under crashes, pauses, wrong clocks, lost calls and racing cancels break no rule', async () => {
  const total = { turns: 0, webhookCalls: 0, busAnswers: 0 };
  for (let world = 1; world <= worlds; world += 1) {
    const plan = drawPlan({ seed: `world ${world}`, turns: turnsPerWorld });
    const result = await simulate(plan);
    expect(result.violation === undefined ? '' : await tellFailure(plan, result)).toBe('');
    total.turns += result.turns;
    total.webhookCalls += result.webhookCalls;
    total.busAnswers += result.busAnswers;
  }
  expect(total.turns).toBeGreaterThanOrEqual(4_000);
  expect(total.webhookCalls).toBeGreaterThan(400);
  expect(total.busAnswers).toBeGreaterThan(200);
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

/** A store that lets a replica that lost a turn continue to write. */
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
    const shrinking = { tries: 60, budget: Infinity, world: { spoil } };
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
