import type { FlowFrame, StackFrame } from '../conversation.ts';
import { START } from '../model.ts';
import { isInner, isRoot } from './frame.ts';

/**
 * A user flow with everything on the stack that serves it: the flows it called, the agent it
 * waits for, the question it asks. Interrupting, resuming and cancelling move whole segments.
 *
 *     [transfer  authenticate(call)  collect_information]  [balance]  completed
 *      `------------------- segment -------------------'   segment    (a pattern of nobody)
 */
export interface Segment {
  readonly root: FlowFrame;
  readonly frames: readonly StackFrame[];
  /** Where it begins on the stack. */
  readonly start: number;
}

/** All segments, lowest first. */
export function segmentsOf(stack: readonly StackFrame[]): readonly Segment[] {
  const segments: Segment[] = [];
  for (let start = 0; start < stack.length; start += 1) {
    const root = stack[start];
    if (!isRoot(root)) continue;
    let end = start + 1;
    while (end < stack.length && belongsToSegment(stack[end])) end += 1;
    segments.push({ root, frames: stack.slice(start, end), start });
  }
  return segments;
}

function belongsToSegment(frame: StackFrame | undefined): boolean {
  if (frame === undefined || isRoot(frame)) return false;
  return frame.type !== 'pattern' || isInner(frame);
}

/** The segment of the user flow nearest to the top. */
export function activeSegment(stack: readonly StackFrame[]): Segment | undefined {
  return segmentsOf(stack).at(-1);
}

export function segmentOfFlow(stack: readonly StackFrame[], flowId: string): Segment | undefined {
  return segmentsOf(stack).findLast((segment) => segment.root.flowId === flowId);
}

/** Whether the flow has taken its first step; flows wait unstarted when several were asked for at once. */
export function isStarted(segment: Segment): boolean {
  return segment.root.stepId !== START;
}

/** The flow frames of a segment: the root and the chain of calls. */
export function callChain(segment: Segment): readonly FlowFrame[] {
  return segment.frames.filter((frame) => frame.type === 'flow');
}

/** The ids of the flows that are under way in a segment. */
export function flowIds(segment: Segment): readonly string[] {
  return callChain(segment).map((frame) => frame.flowId);
}
