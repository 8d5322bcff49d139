import type { PatternFrame, StackFrame } from '../conversation.ts';
import { type Flow, START } from '../model.ts';
import { COLLECT_INFORMATION, isPattern, isRoot } from './stack.ts';

/**
 * Describes the errors in a stack; empty for a valid one. Flows may change between two messages of a
 * conversation, so a saved stack may not fit the current flows.
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

/** Frames that serve the one below must fit the step at which it stands. */
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
