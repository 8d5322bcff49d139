import { expect, test } from 'vitest';
import { BodyBudget, type BodyReading } from './body.ts';

const limit = 1_000;

function open(budget: BodyBudget, address: string): BodyReading & { readonly refused: string[] } {
  const refused: string[] = [];
  return { ...budget.open(address, ({ code }) => refused.push(code)), refused };
}

test('one client may use the whole budget while no other client needs it', () => {
  const budget = new BodyBudget();
  const bodies = Array.from({ length: 4 }, () => open(budget, '192.0.2.1'));
  expect(bodies.map((body) => body.charge(250, limit))).toEqual([true, true, true, true]);
  expect(open(budget, '192.0.2.1').charge(1, limit)).toBe(false);
  expect(budget.held).toBe(limit);
  expect(bodies.flatMap(({ refused }) => refused)).toEqual([]);
});

test('a client that needs room gets it from the one that holds the most', () => {
  const budget = new BodyBudget();
  const greedy = [400, 350, 250].map((bytes) => {
    const body = open(budget, '192.0.2.1');
    body.charge(bytes, limit);
    return body;
  });
  const modest = open(budget, '192.0.2.2');
  expect(modest.charge(100, limit)).toBe(true);
  expect(greedy.map(({ refused }) => refused)).toEqual([['UNAVAILABLE'], [], []]);
  expect(budget.held).toBe(700);
  expect(greedy[0]?.charge(1, limit)).toBe(false);
});

test('clients that all want everything end up with a share each', () => {
  const budget = new BodyBudget();
  const held = new Map<string, number>();
  for (let round = 0; round < 100; round += 1) {
    for (const address of ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4']) {
      const body = budget.open(address, () => held.set(address, (held.get(address) ?? 0) - 50));
      if (body.charge(50, limit)) held.set(address, (held.get(address) ?? 0) + 50);
      else body[Symbol.dispose]();
    }
  }
  expect([...held.values()]).toEqual([250, 250, 250, 250]);
  expect(budget.held).toBe(limit);
});

test('the addresses of one IPv6 network are one client', () => {
  const budget = new BodyBudget();
  const first = open(budget, '2001:db8::1');
  first.charge(600, limit);
  const second = open(budget, '2001:db8::2');
  second.charge(400, limit);
  expect(open(budget, '2001:db8::3').charge(100, limit)).toBe(false);
  expect(open(budget, '2001:db8:0:1::1').charge(100, limit)).toBe(true);
  expect(first.refused).toEqual(['UNAVAILABLE']);
});

test('what a body held is free again once it is disposed of, however often', () => {
  const budget = new BodyBudget();
  const body = open(budget, '192.0.2.1');
  body.charge(600, limit);
  body[Symbol.dispose]();
  body[Symbol.dispose]();
  expect(budget.held).toBe(0);
  expect(body.charge(1, limit)).toBe(false);
});
