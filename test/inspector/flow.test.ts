import { expect, test } from 'vitest';
import { flowLayout } from '../../inspector/src/assistant/flow-layout.ts';
import { END, flowPath, START } from '../../inspector/src/assistant/flow-path.ts';
import type { FlowView, StepView } from '../../src/http/inspector/model.ts';
import type { JsonObject } from '../../src/protocol/index.ts';

const step = (
  id: string,
  kind: StepView['kind'],
  target: string,
  ...next: readonly (string | readonly [condition: string, to: string])[]
): StepView => ({
  id,
  kind,
  title: kind === 'set_slots' ? target : `${kind} ${target}`,
  target,
  next: next.map((to) => (typeof to === 'string' ? { to } : { if: to[0], to: to[1] })),
});

const flow: FlowView = {
  id: 'transfer',
  name: 'transfer',
  description: '',
  isPattern: false,
  first: 'who',
  steps: [
    step('who', 'collect', 'recipient', 'much'),
    step('much', 'collect', 'amount', 'sure'),
    step('sure', 'collect', 'confirmed', ['slots.confirmed', 'send'], 'drop'),
    step('send', 'action', 'action_send', 'sent'),
    step('sent', 'set_slots', 'status = sent', 'tell'),
    step('tell', 'action', 'utter_sent', END),
    step('drop', 'set_slots', 'status = dropped', 'told'),
    step('told', 'action', 'utter_dropped', END),
  ],
};

const stack = (...frames: readonly JsonObject[]): JsonObject => ({
  event: 'stack',
  update: JSON.stringify([{ op: 'replace', path: '', value: frames }]),
});
const at = (step_id: string): JsonObject => ({ flow_id: 'transfer', step_id, type: 'flow' });
const started = { event: 'flow_started', flow_id: 'transfer' };
const completed = { event: 'flow_completed', flow_id: 'transfer', step_id: 'tell' };
const action = (name: string): JsonObject => ({ event: 'action', name });
const slot = (name: string): JsonObject => ({ event: 'slot', name, value: 1 });

test('a flow that never started has no path', () => {
  expect(flowPath(flow, [action('action_listen')])).toMatchObject({ active: undefined });
  expect(flowPath(flow, []).steps.size).toBe(0);
});

test('the path leads to the active step', () => {
  const path = flowPath(flow, [started, slot('recipient'), slot('amount'), stack(at('sure'))]);
  expect(path.active).toBe('sure');
  expect([...path.edges]).toEqual([`${START}>who`, 'who>much', 'much>sure']);
});

test('of two branches, the path takes the one that explains the events', () => {
  const before = [started, stack(at('sure'))];
  const yes = flowPath(flow, [
    ...before,
    action('action_send'),
    slot('status'),
    action('utter_sent'),
    completed,
  ]);
  expect(yes.steps).toEqual(new Set([START, 'who', 'much', 'sure', 'send', 'sent', 'tell', END]));
  expect(yes).toMatchObject({ active: undefined, end: 'completed' });
  const no = flowPath(flow, [...before, slot('status'), action('utter_dropped'), completed]);
  expect(no.steps.has('send')).toBe(false);
  expect(no.edges.has('sure>drop')).toBe(true);
});

test('only the latest run counts, and a cancelled one ends at its last step', () => {
  const first = [started, stack(at('sure')), action('action_send'), completed];
  const path = flowPath(flow, [...first, started, stack(at('who'))]);
  expect([...path.steps]).toEqual([START, 'who']);
  const cancelled = { event: 'flow_cancelled', flow_id: 'transfer', step_id: 'much' };
  expect(flowPath(flow, [started, stack(at('much')), cancelled])).toMatchObject({
    active: undefined,
    end: 'cancelled',
  });
});

test('a called flow starts with its stack frame and ends without it', () => {
  const called = [stack(at('much')), stack({ flow_id: 'other', step_id: 'x', type: 'flow' })];
  expect(flowPath(flow, called)).toMatchObject({ active: undefined, end: 'completed' });
  expect(flowPath(flow, called.slice(0, 1))).toMatchObject({ active: 'much' });
});

test("boxes don't overlap, and every edge points down", () => {
  const { nodes, edges, width, height } = flowLayout(flow);
  for (const one of nodes) {
    expect(one.x - one.width / 2).toBeGreaterThanOrEqual(0);
    expect(one.x + one.width / 2).toBeLessThanOrEqual(width);
    expect(one.y + one.height / 2).toBeLessThanOrEqual(height);
    for (const other of nodes) {
      if (one === other) continue;
      const isApart =
        Math.abs(one.x - other.x) >= (one.width + other.width) / 2 ||
        Math.abs(one.y - other.y) >= (one.height + other.height) / 2;
      expect(isApart, `${one.id} and ${other.id}`).toBe(true);
    }
  }
  const place = new Map(nodes.map((node) => [node.id, node.y]));
  for (const { from, to } of edges) {
    expect(place.get(to) ?? 0).toBeGreaterThan(place.get(from) ?? 0);
  }
  expect(edges.map(({ text }) => text).filter((text) => text !== '')).toEqual([
    'slots.confirmed',
    'else',
  ]);
});

/** Points on a line that is made of cubic curves. */
function pointsOf(line: string): readonly (readonly [number, number])[] {
  const numbers = line.match(/-?[\d.]+/g)?.map(Number) ?? [];
  const at = (index: number) => [numbers[index * 2] ?? 0, numbers[index * 2 + 1] ?? 0] as const;
  const shares = Array.from({ length: 20 }, (_, index) => index / 20);
  return Array.from({ length: (numbers.length / 2 - 1) / 3 }, (_, curve) => curve * 3).flatMap(
    (start) =>
      shares.map((share) => {
        const weights = [1, 3, 3, 1].map(
          (count, index) => count * (1 - share) ** (3 - index) * share ** index,
        );
        const sum = (axis: 0 | 1) =>
          weights.reduce((total, weight, index) => total + weight * at(start + index)[axis], 0);
        return [sum(0), sum(1)] as const;
      }),
  );
}

test('no edge crosses a box, and the first branch is on the left', () => {
  const skipping: FlowView = {
    ...flow,
    first: 'a',
    steps: [
      step('a', 'collect', 'a', ['slots.x', 'd'], 'b'),
      step('b', 'collect', 'b', ['slots.y is not null', 'e'], 'c'),
      step('c', 'collect', 'c', 'd'),
      step('d', 'collect', 'd', ['slots.z > 10', 'f'], 'e'),
      step('e', 'collect', 'e', ['not slots.valid', 'a'], 'f'),
      step('f', 'collect', 'f', END),
    ],
  };
  for (const { nodes, edges } of [flowLayout(flow), flowLayout(skipping)]) {
    for (const { from, to, line } of edges) {
      for (const { id, x, y, width, height } of nodes) {
        if (id === from || id === to) continue;
        const isThrough = pointsOf(line).some(
          ([pointX, pointY]) =>
            Math.abs(pointX - x) < width / 2 && Math.abs(pointY - y) < height / 2,
        );
        expect(isThrough, `${from} to ${to} through ${id}`).toBe(false);
      }
    }
  }
  const x = (id: string): number => flowLayout(flow).nodes.find((node) => node.id === id)?.x ?? 0;
  expect(x('send')).toBeLessThan(x('drop'));
});

test('a step is right below its only predecessor', () => {
  const { nodes } = flowLayout(flow);
  const x = (id: string): number => nodes.find((node) => node.id === id)?.x ?? 0;
  expect(x('tell')).toBeCloseTo(x('send'));
  expect(x('told')).toBeCloseTo(x('drop'));
});

test('flows with loops, with missing steps and with one step are drawn', () => {
  const loop = {
    ...flow,
    steps: [step('who', 'collect', 'a', 'much'), step('much', 'noop', '', 'who')],
  };
  expect(flowLayout(loop).edges).toHaveLength(3);
  const broken = { ...flow, first: 'gone', steps: [step('who', 'noop', '', 'nowhere')] };
  expect(flowLayout(broken).nodes.length).toBeGreaterThan(0);
  const single = { ...flow, steps: [step('who', 'action', 'a')] };
  expect(flowLayout(single).nodes.map(({ id }) => id)).toEqual([START, 'who', END]);
});
