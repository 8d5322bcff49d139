import type { AgentFrame, FlowFrame, PatternFrame, StackFrame } from '../conversation.ts';
import { type Flow, START } from '../model.ts';

export const COLLECT_INFORMATION = 'pattern_collect_information';
export const VALIDATE_SLOT = 'pattern_validate_slot';

export function isFlowFrame(frame: StackFrame | undefined): frame is FlowFrame {
  return frame?.type === 'flow';
}

/** Whether the frame is the root of a segment: a user flow that no other flow called. */
export function isRoot(frame: StackFrame | undefined): frame is FlowFrame {
  return isFlowFrame(frame) && frame.frameType !== 'call';
}

export function isPattern(frame: StackFrame | undefined, flowId?: string): frame is PatternFrame {
  return frame?.type === 'pattern' && (flowId === undefined || frame.flowId === flowId);
}

/**
 * Whether the frame is a pattern that asks for or validates a slot of the frame below it. All other
 * patterns are conversation patterns.
 */
export function isInner(frame: StackFrame | undefined): boolean {
  return isPattern(frame, COLLECT_INFORMATION) || isPattern(frame, VALIDATE_SLOT);
}

/** The same frame at another step. */
export function atStep<Frame extends StackFrame>(frame: Frame, stepId: string): Frame {
  return { ...frame, stepId };
}

/**
 * A user flow with the frames that belong to it: the flows it called, the agent it waits for, and the
 * question it asks. The engine interrupts, resumes and cancels whole segments.
 *
 *     [transfer  authenticate(call)  collect_information]  [balance]  completed
 *      `------------------- segment -------------------'   segment    (a pattern of no flow)
 */
export interface Segment {
  readonly root: FlowFrame;
  readonly frames: readonly StackFrame[];
  /** Index of the root on the stack. */
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

/** Whether the flow has taken its first step. If a message starts several flows, all but one wait. */
export function isStarted(segment: Segment): boolean {
  return segment.root.stepId !== START;
}

/** The sub agent that a user flow waits for. */
export function agentOf(segment: Segment | undefined): AgentFrame | undefined {
  return segment?.frames.find((frame) => frame.type === 'agent');
}

/** The flow frames of a segment: the root and the chain of calls. */
export function callChain(segment: Segment): readonly FlowFrame[] {
  return segment.frames.filter((frame) => frame.type === 'flow');
}

/** The ids of the flows in a segment's chain of calls. */
export function flowIds(segment: Segment): readonly string[] {
  return callChain(segment).map((frame) => frame.flowId);
}

/** Pure operations: each returns a new stack. */

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

/** Replaces a segment by other frames; without frames, removes it. */
export function replaceSegment(
  stack: readonly StackFrame[],
  segment: Segment,
  frames: readonly StackFrame[],
): readonly StackFrame[] {
  const end = segment.start + segment.frames.length;
  return [...stack.slice(0, segment.start), ...frames, ...stack.slice(end)];
}

/**
 * Removes the conversation patterns ("anything else?", "shall we go on?") and their questions. A user
 * who starts a flow has answered them.
 */
export function withoutConversationPatterns(stack: readonly StackFrame[]): readonly StackFrame[] {
  return segmentsOf(stack).flatMap((segment) => segment.frames);
}

/** Removes a pattern and its questions. */
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

/** Moves a segment to the top. It counts as interrupting the started segments that it passes. */
export function moveToTop(stack: readonly StackFrame[], segment: Segment): readonly StackFrame[] {
  const rest = removeFrames(stack, segment.frames);
  const [, ...upper] = segment.frames;
  const root = { ...segment.root, frameType: frameTypeOver(rest) };
  return [...rest, root, ...upper];
}

/** The frame type of a user flow pushed on these frames: it only interrupts a started flow. */
export function frameTypeOver(stack: readonly StackFrame[]): 'regular' | 'interrupt' {
  const below = activeSegment(stack);
  return below !== undefined && isStarted(below) ? 'interrupt' : 'regular';
}

/** Whether two paths of step ids lead to the same place in a chain of calls. */
export function isSamePath(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((stepId, at) => stepId === other[at]);
}

/** Whether the user was asked to continue with a flow that was interrupted. */
export function isAskingToContinue(stack: readonly StackFrame[]): boolean {
  return stack.some((frame) => isPattern(frame, 'pattern_continue_interrupted'));
}

/**
 * Describes the errors in a stack; empty for a valid stack. Flows can change between two messages of a
 * conversation, so a saved stack can be invalid for the current flows.
 */
export function stackProblems(
  stack: readonly StackFrame[],
  flows: ReadonlyMap<string, Flow>,
): readonly string[] {
  const problems: string[] = [];
  const ids = new Set<string>();
  const roots = new Set<string>();
  stack.forEach((frame, at) => {
    if (ids.has(frame.frameId)) problems.push(`frame id ${frame.frameId} is used twice`);
    ids.add(frame.frameId);
    if (isRoot(frame)) {
      if (roots.has(frame.flowId)) problems.push(`flow ${frame.flowId} is on the stack twice`);
      roots.add(frame.flowId);
    }
    const problem = positionProblem(frame, flows) ?? relationProblem(frame, stack[at - 1], flows);
    if (problem !== undefined) problems.push(problem);
  });
  return problems;
}

function positionProblem(frame: StackFrame, flows: ReadonlyMap<string, Flow>): string | undefined {
  const flow = flows.get(frame.flowId);
  if (flow === undefined) return `flow ${frame.flowId} does not exist`;
  if (frame.stepId === START || flow.steps.has(frame.stepId)) return undefined;
  return `flow ${frame.flowId} has no step ${frame.stepId}`;
}

/** Frames that belong to the frame below must match its step. */
function relationProblem(
  frame: StackFrame,
  below: StackFrame | undefined,
  flows: ReadonlyMap<string, Flow>,
): string | undefined {
  if (frame.type === 'agent') return agentProblem(frame, below, flows);
  if (frame.type === 'flow' && frame.frameType === 'call') {
    const step = stepOf(below, flows);
    const fits = step?.kind === 'call' && step.target === frame.flowId;
    return fits ? undefined : `called flow ${frame.flowId} has no caller below it`;
  }
  return isPattern(frame, COLLECT_INFORMATION) ? questionProblem(frame, below, flows) : undefined;
}

function agentProblem(
  frame: StackFrame & { readonly type: 'agent' },
  below: StackFrame | undefined,
  flows: ReadonlyMap<string, Flow>,
): string | undefined {
  const step = stepOf(below, flows);
  const fits = step?.kind === 'call' && step.target === frame.agentId && step.id === frame.stepId;
  return fits ? undefined : `agent ${frame.agentId} has no call step below it`;
}

function questionProblem(
  frame: PatternFrame,
  below: StackFrame | undefined,
  flows: ReadonlyMap<string, Flow>,
): string | undefined {
  const step = stepOf(below, flows);
  const fits = step?.kind === 'collect' && step.slot === frame.context['collect'];
  return fits
    ? undefined
    : `the question for ${JSON.stringify(frame.context['collect'])} belongs to no step`;
}

function stepOf(frame: StackFrame | undefined, flows: ReadonlyMap<string, Flow>) {
  return frame === undefined ? undefined : flows.get(frame.flowId)?.steps.get(frame.stepId);
}
