import type { PatternFrame, StackFrame } from '../conversation.ts';
import type { Dialogue } from '../executor/dialogue.ts';
import type { CollectStep, Flow } from '../model.ts';
import {
  activeSegment,
  agentOf,
  callChain,
  COLLECT_INFORMATION,
  isInner,
  isPattern,
  VALIDATE_SLOT,
} from '../stack/stack.ts';
import type { ActiveCollect, AgentsView } from './generator.ts';

/** The open question: the one nearest to the top, within the same user flow. */
export function activeCollect(
  dialogue: Pick<Dialogue, 'domain' | 'flows'>,
  stack: readonly StackFrame[],
): ActiveCollect | undefined {
  for (let at = stack.length - 1; at >= 0; at -= 1) {
    const frame = stack[at];
    if (frame === undefined || frame.type !== 'pattern') return undefined;
    if (isPattern(frame, VALIDATE_SLOT)) return validated(dialogue, frame);
    if (isPattern(frame, COLLECT_INFORMATION)) return collected(dialogue, frame, stack[at - 1]);
  }
  return undefined;
}

function collected(
  { domain, flows }: Pick<Dialogue, 'domain' | 'flows'>,
  question: PatternFrame,
  owner: StackFrame | undefined,
): ActiveCollect | undefined {
  const flow = owner === undefined ? undefined : flows.get(owner.flowId);
  const step = owner === undefined ? undefined : flow?.steps.get(owner.stepId);
  const slot = domain.slots.get(textOf(question.context['collect']));
  if (flow === undefined || step?.kind !== 'collect' || slot === undefined) return undefined;
  return { flow, step, slot };
}

/** Makes a collect step for a slot that the domain rejected; no flow has such a step. */
function validated(
  { domain, flows }: Pick<Dialogue, 'domain' | 'flows'>,
  frame: PatternFrame,
): ActiveCollect | undefined {
  const flow = flows.get(frame.flowId);
  const slot = domain.slots.get(textOf(frame.context['validate']));
  if (flow === undefined || slot === undefined) return undefined;
  const step: CollectStep = {
    kind: 'collect',
    id: frame.stepId,
    next: { branches: [] },
    position: flow.position,
    slot: slot.name,
    utter: textOf(frame.context['refill_utter']),
    askBeforeFilling: false,
    rejections: [],
    resetAfterFlowEnds: true,
    forceSlotFilling: false,
  };
  return { flow, step, slot };
}

/** The flow nearest to the top, and the root of its chain of calls. */
export function activeFlows(dialogue: Dialogue): {
  readonly active: Flow | undefined;
  readonly calling: Flow | undefined;
} {
  const segment = activeSegment(dialogue.tracker.stack);
  const innermost = segment === undefined ? undefined : callChain(segment).at(-1);
  return {
    active: dialogue.flows.get(innermost?.flowId ?? ''),
    calling: dialogue.flows.get(segment?.root.flowId ?? ''),
  };
}

export function agentsView(
  stack: readonly StackFrame[],
  descriptions?: ReadonlyMap<string, string>,
): AgentsView {
  const segment = activeSegment(stack);
  const agent = agentOf(segment);
  const isWaiting = agent !== undefined && isOnTop(stack, agent);
  const completed = (segment?.root.agents ?? []).filter((run) => run.state === 'completed');
  return {
    active: isWaiting ? agent.agentId : undefined,
    completed: [...new Set(completed.map((run) => run.agentId))],
    ...(descriptions !== undefined && { descriptions }),
  };
}

/** Whether no question is above the agent. Patterns that only send messages don't count. */
function isOnTop(stack: readonly StackFrame[], agent: StackFrame): boolean {
  return !stack.slice(stack.indexOf(agent) + 1).some(isInner);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
