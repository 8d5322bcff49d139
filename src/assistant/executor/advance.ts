import type { AgentFrame, FlowFrame, PatternFrame, StackFrame } from '../conversation.ts';
import { type CallStep, END, START, type Step } from '../model.ts';
import { activeSegment, atStep, callChain, isInner } from '../stack/stack.ts';
import { compileTemplate } from '../templates/template.ts';
import { flowStarted, slotSet } from '../tracker/events.ts';
import type { CallHandler } from './call-handler.ts';
import { enterCollect } from './collect.ts';
import { LISTEN } from './default-actions.ts';
import { contextOf, type Dialogue } from './dialogue.ts';
import { StepFailure, TooManySteps } from './failure.ts';
import { endFrame, linkTo } from './flow-end.ts';
import { checkSlots } from './rejections.ts';

const MAX_CALL_DEPTH = 32;

/** What has to happen outside of the stack before it can be advanced again. */
export type Prediction =
  | { readonly kind: 'listen' }
  /** Like listening, while an agent waits for the user. */
  | { readonly kind: 'listen-for-agent' }
  | { readonly kind: 'action'; readonly name: string; readonly frame: StackFrame | undefined }
  | {
      readonly kind: 'call';
      readonly handler: CallHandler;
      readonly step: CallStep;
      readonly frame: FlowFrame;
      /** When the agent was called before and is on the stack. */
      readonly agent?: AgentFrame;
    };

/**
 * Moves the top frame along its steps, ends frames and starts others, until an action has to
 * run or the user has to speak. A frame stands at the last step it took.
 */
export function advance(dialogue: Dialogue): Prediction {
  for (;;) {
    const frame = dialogue.top;
    if (frame === undefined) return { kind: 'listen' };
    if (frame.type === 'agent') return predictAgent(dialogue, frame);
    countStep(dialogue);
    const step = nextStep(dialogue, frame);
    if (step === undefined) {
      endFrame(dialogue, frame);
      continue;
    }
    const moved = atStep(frame, step.id);
    dialogue.replace(moved);
    dialogue.options.onStep(frame.flowId, step.id);
    const prediction = takeStep(dialogue, moved, step);
    if (prediction !== undefined) return prediction;
  }
}

/** Everything that could go on for ever takes steps. */
export function countStep(dialogue: Dialogue): void {
  dialogue.facts.steps += 1;
  if (dialogue.facts.steps <= dialogue.options.maxSteps) return;
  throw new TooManySteps(`a message caused more than ${dialogue.options.maxSteps} steps`);
}

/** Undefined at the end of the flow. */
function nextStep(dialogue: Dialogue, frame: FlowFrame | PatternFrame): Step | undefined {
  const flow = dialogue.flows.get(frame.flowId);
  if (flow === undefined) return undefined;
  if (frame.stepId === START) {
    if (!isInner(frame)) dialogue.tracker.apply(flowStarted(flow.id));
    return flow.steps.get(flow.first);
  }
  const branches = flow.steps.get(frame.stepId)?.next.branches ?? [];
  const branch = branches.find((one) => one.if === undefined || dialogue.holds(one.if, frame));
  return branch === undefined || branch.to === END ? undefined : flow.steps.get(branch.to);
}

function takeStep(
  dialogue: Dialogue,
  frame: FlowFrame | PatternFrame,
  step: Step,
): Prediction | undefined {
  switch (step.kind) {
    case 'action':
      return predictAction(step.action, frame);
    case 'collect':
      return enterCollect(dialogue, frame, step);
    case 'set_slots':
      for (const { slot, value } of step.slots) dialogue.tracker.apply(slotSet(slot, value));
      checkSlots(
        dialogue,
        step.slots.map(({ slot }) => slot),
      );
      return undefined;
    case 'noop':
      return undefined;
    case 'link':
      return linkTo(dialogue, frame, step.flow);
    case 'call':
      return enterCall(dialogue, frame, step);
  }
}

function predictAction(action: string, frame: FlowFrame | PatternFrame): Prediction {
  const name = action.includes('{{')
    ? compileTemplate(action).render({ context: contextOf(frame) })
    : action;
  return name === LISTEN ? { kind: 'listen' } : { kind: 'action', name, frame };
}

function enterCall(
  dialogue: Dialogue,
  frame: FlowFrame | PatternFrame,
  step: CallStep,
): Prediction | undefined {
  if (frame.type === 'pattern') {
    throw new StepFailure('call_in_pattern', `pattern ${frame.flowId} may not call ${step.target}`);
  }
  if (step.mcpServer === undefined && dialogue.flows.has(step.target)) {
    checkDepth(dialogue, step);
    dialogue.pushFlow(step.target, 'call');
    return undefined;
  }
  return { kind: 'call', handler: handlerOf(dialogue, step), step, frame };
}

/** Flows may call themselves, but not for ever: the stack travels with every turn. */
function checkDepth(dialogue: Dialogue, { target }: CallStep): void {
  const segment = activeSegment(dialogue.tracker.stack);
  if (segment === undefined || callChain(segment).length < MAX_CALL_DEPTH) return;
  const message = `call of ${target} is more than ${MAX_CALL_DEPTH} calls deep`;
  throw new StepFailure('calls_too_deep', message, { target });
}

function handlerOf(dialogue: Dialogue, step: CallStep): CallHandler {
  const handler = dialogue.options.callHandlers.find((one) => one.handles(step));
  if (handler !== undefined) return handler;
  const where = step.mcpServer === undefined ? '' : ` of ${step.mcpServer}`;
  throw new StepFailure('unknown_call', `nothing answers to call: ${step.target}${where}`, {
    target: step.target,
  });
}

/** An agent that waits is called with what the user says to it, and with nothing else. */
function predictAgent(dialogue: Dialogue, agent: AgentFrame): Prediction {
  if (agent.state === 'waiting_for_input' && !dialogue.facts.forAgent) {
    return { kind: 'listen-for-agent' };
  }
  countStep(dialogue);
  const frame = dialogue.tracker.stack.at(-2);
  const step = dialogue.stepOf(agent);
  if (frame?.type !== 'flow' || step?.kind !== 'call') {
    throw new StepFailure('stale_agent', `agent ${agent.agentId} has no call step any more`);
  }
  return { kind: 'call', handler: handlerOf(dialogue, step), step, frame, agent };
}
