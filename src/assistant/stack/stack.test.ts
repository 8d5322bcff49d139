import { expect, test } from 'vitest';
import type { FlowFrame, PatternFrame, StackFrame } from '../conversation.ts';
import {
  activeSegment,
  flowIds,
  moveToTop,
  replaceSegment,
  segmentOfFlow,
  segmentsOf,
  withoutConversationPatterns,
} from './stack.ts';

function flow(flowId: string, fields: Partial<FlowFrame> = {}): FlowFrame {
  return { type: 'flow', frameId: flowId, flowId, stepId: 's', frameType: 'regular', ...fields };
}

function pattern(name: string, frameId = name): PatternFrame {
  return { type: 'pattern', frameId, flowId: `pattern_${name}`, stepId: 's', context: {} };
}

const transfer = [
  flow('transfer'),
  flow('authenticate', { frameType: 'call' }),
  pattern('collect_information', 'pin'),
];
const balance = [flow('balance', { frameType: 'interrupt' }), pattern('collect_information', 'q')];
const asking = [pattern('continue_interrupted'), pattern('collect_information', 'yes')];

function ids(stack: readonly StackFrame[]): string[] {
  return stack.map((frame) => frame.frameId);
}

test('a segment is a user flow with the flows it called and the question it asks', () => {
  const segments = segmentsOf([pattern('session_start'), ...transfer, ...balance, ...asking]);
  expect(segments.map((segment) => ids(segment.frames))).toEqual([ids(transfer), ids(balance)]);
  expect(activeSegment([...transfer, ...asking])?.root.flowId).toBe('transfer');
});

test('the flows of a segment are its root and the chain of calls', () => {
  expect(segmentsOf(transfer).map(flowIds)).toEqual([['transfer', 'authenticate']]);
});

test('a segment that moves to the top counts as interrupting what it passes', () => {
  const stack = [...transfer, ...balance];
  const segment = segmentOfFlow(stack, 'transfer');
  if (segment === undefined) throw new Error('transfer is on the stack');
  const moved = moveToTop(stack, segment);
  expect(ids(moved)).toEqual([...ids(balance), ...ids(transfer)]);
  expect(moved[2]).toMatchObject({ flowId: 'transfer', frameType: 'interrupt' });
});

test('a segment over flows that have not started yet interrupts nothing', () => {
  const waiting = flow('waiting', { stepId: 'START' });
  const stack = [...transfer, waiting];
  const segment = segmentOfFlow(stack, 'transfer');
  if (segment === undefined) throw new Error('transfer is on the stack');
  expect(moveToTop(stack, segment)[1]).toMatchObject({ flowId: 'transfer', frameType: 'regular' });
});

test('conversation patterns go with what they ask, and questions of flows stay', () => {
  const stack = [pattern('completed'), pattern('collect_information', 'more'), ...transfer];
  expect(ids(withoutConversationPatterns([...stack, ...asking]))).toEqual(ids(transfer));
});

test('replacing a segment by nothing removes it and keeps its neighbours', () => {
  const stack = [...transfer, ...balance, ...asking];
  const segment = segmentOfFlow(stack, 'transfer');
  if (segment === undefined) throw new Error('transfer is on the stack');
  expect(ids(replaceSegment(stack, segment, []))).toEqual([...ids(balance), ...ids(asking)]);
});
