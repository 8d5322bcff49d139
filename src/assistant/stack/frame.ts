import type { FlowFrame, PatternFrame, StackFrame } from '../conversation.ts';

export const COLLECT_INFORMATION = 'pattern_collect_information';
export const VALIDATE_SLOT = 'pattern_validate_slot';

export function isFlowFrame(frame: StackFrame | undefined): frame is FlowFrame {
  return frame?.type === 'flow';
}

/** Whether the frame begins a user flow of its own, rather than one that another flow called. */
export function isRoot(frame: StackFrame | undefined): frame is FlowFrame {
  return isFlowFrame(frame) && frame.frameType !== 'call';
}

export function isPattern(frame: StackFrame | undefined, flowId?: string): frame is PatternFrame {
  return frame?.type === 'pattern' && (flowId === undefined || frame.flowId === flowId);
}

/**
 * Whether the frame only serves the one below it: it asks for a slot or checks one. All other
 * patterns are about the conversation as a whole.
 */
export function isInner(frame: StackFrame | undefined): boolean {
  return isPattern(frame, COLLECT_INFORMATION) || isPattern(frame, VALIDATE_SLOT);
}

/** The same frame at another step. */
export function atStep<Frame extends StackFrame>(frame: Frame, stepId: string): Frame {
  return { ...frame, stepId };
}
