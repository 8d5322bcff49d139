import type { StackFrame } from '../conversation.ts';
import { isInner, isPattern } from './frame.ts';
import { activeSegment, isStarted, type Segment, segmentsOf } from './segment.ts';

/** Pure operations: each answers with a new stack. */

export function replaceFrame(
  stack: readonly StackFrame[],
  frame: StackFrame,
): readonly StackFrame[] {
  return stack.map((other) => (other.frameId === frame.frameId ? frame : other));
}

export function removeFrames(
  stack: readonly StackFrame[],
  gone: readonly StackFrame[],
): readonly StackFrame[] {
  const ids = new Set(gone.map((frame) => frame.frameId));
  return stack.filter((frame) => !ids.has(frame.frameId));
}

/** Puts other frames where a segment stood; with no frames the segment is gone. */
export function replaceSegment(
  stack: readonly StackFrame[],
  segment: Segment,
  frames: readonly StackFrame[],
): readonly StackFrame[] {
  const end = segment.start + segment.frames.length;
  return [...stack.slice(0, segment.start), ...frames, ...stack.slice(end)];
}

/**
 * Drops the patterns that are about the conversation as a whole ("anything else?", "shall we go
 * on?") together with what they ask. A user who starts something new has answered them.
 */
export function withoutConversationPatterns(stack: readonly StackFrame[]): readonly StackFrame[] {
  return segmentsOf(stack).flatMap((segment) => segment.frames);
}

/** Without a pattern, and without what it asks. */
export function withoutPattern(
  stack: readonly StackFrame[],
  flowId: string,
): readonly StackFrame[] {
  const kept: StackFrame[] = [];
  let isGone = false;
  for (const frame of stack) {
    isGone = isPattern(frame, flowId) || (isGone && isInner(frame));
    if (!isGone) kept.push(frame);
  }
  return kept;
}

/** Brings a segment to the top. What it passes counts as interrupted by it. */
export function moveToTop(stack: readonly StackFrame[], segment: Segment): readonly StackFrame[] {
  const rest = removeFrames(stack, segment.frames);
  const [, ...upper] = segment.frames;
  const root = { ...segment.root, frameType: frameTypeOver(rest) };
  return [...rest, root, ...upper];
}

/** How a user flow is marked that is put over these frames: flows that wait to start are not interrupted. */
export function frameTypeOver(stack: readonly StackFrame[]): 'regular' | 'interrupt' {
  const below = activeSegment(stack);
  return below !== undefined && isStarted(below) ? 'interrupt' : 'regular';
}
