import type { JsonObject } from '../../protocol/index.ts';
import type { AgentFrame, FlowFrame, PatternFrame, StackFrame } from '../conversation.ts';
import { type CallStep, type Domain, END, START, type Step } from '../model.ts';
import { INTERNAL_ERROR_RESPONSE } from '../responses/responder.ts';
import {
  activeSegment,
  atStep,
  callChain,
  isInner,
  isPattern,
  withoutConversationPatterns,
} from '../stack/stack.ts';
import { compileTemplate } from '../templates/template.ts';
import { actionExecuted, flowStarted, slotSet } from '../tracker/events.ts';
import type { TrackerState } from '../tracker/state.ts';
import { type CallHandler, runCall } from './call-handler.ts';
import { checkSlots, enterCollect } from './collect.ts';
import { contextOf, type Dialogue, StepFailure, TooManySteps } from './dialogue.ts';
import { defaultActions, LISTEN, LISTEN_FOR_AGENT, runAction } from './run-action.ts';
import { afterFlow, cancelSegment, clearStack, endFrame, linkTo } from './user-flows.ts';

const INTERNAL_ERROR = 'pattern_internal_error';

/**
 * Runs the turn until the assistant waits for the user or the session has ended. An error ends only
 * the flow or pattern that failed. The function throws only aborts.
 */
export async function run(dialogue: Dialogue): Promise<void> {
  const { tracker, options, spans } = dialogue;
  using _open = spans;
  for (;;) {
    options.signal.throwIfAborted();
    if (tracker.state.terminated) return tracker.logStack();
    let frame: StackFrame | undefined;
    try {
      const prediction = followup(dialogue) ?? rewound(dialogue) ?? advance(dialogue);
      if (prediction.kind === 'listen' || prediction.kind === 'listen-for-agent') {
        return listen(dialogue, prediction.kind === 'listen' ? LISTEN : LISTEN_FOR_AGENT);
      }
      frame = prediction.frame;
      if (prediction.kind === 'call') {
        if (prediction.agent !== undefined) spans.enter(prediction.frame, prediction.step);
        await spans.within(() => runCall(dialogue, prediction));
      } else await spans.within(() => runAction(dialogue, prediction.name, prediction.frame));
    } catch (error) {
      options.signal.throwIfAborted();
      if (error instanceof TooManySteps) {
        options.logger.error({ error }, 'turn.step_limit_exceeded');
        await breakOff(dialogue);
        return listen(dialogue, LISTEN);
      }
      await fail(dialogue, frame ?? dialogue.top, error);
    }
  }
}

/** Runs an action outside of any flow; its failure doesn't end a flow. */
async function runBetweenSteps(dialogue: Dialogue, action: string): Promise<void> {
  try {
    await runAction(dialogue, action, undefined);
  } catch (error) {
    dialogue.options.signal.throwIfAborted();
    await fail(dialogue, undefined, error);
  }
}

/** Runs an action that fills a slot in each turn. If the action fails, the conversation continues. */
export async function runEveryTurn(dialogue: Dialogue, action: string): Promise<void> {
  try {
    await runAction(dialogue, action, undefined);
  } catch (error) {
    dialogue.options.signal.throwIfAborted();
    dialogue.spans.fail(error instanceof StepFailure ? error.type : 'internal');
    dialogue.options.logger.error({ action, error }, 'turn.action_failed');
  }
}

async function fail(
  dialogue: Dialogue,
  frame: StackFrame | undefined,
  error: unknown,
): Promise<void> {
  const failure =
    error instanceof StepFailure
      ? error
      : new StepFailure('internal', 'internal error', {}, { cause: error });
  const { flowId: flow, stepId: step } = frame ?? {};
  dialogue.spans.fail(failure.type);
  dialogue.options.logger.error({ flow, step, error }, 'turn.step_failed');
  await failStep(dialogue, frame, failure);
}

/**
 * Ends the flow or pattern that failed and starts the error pattern once. A user flow is cancelled
 * without another message. A conversation pattern is removed, and the flow below it stays. Without a
 * frame the stack is unchanged.
 */
async function failStep(
  dialogue: Dialogue,
  frame: StackFrame | undefined,
  failure: Pick<StepFailure, 'type' | 'info' | 'context'>,
): Promise<void> {
  const { tracker } = dialogue;
  const apology = tracker.stack.find((other) => isPattern(other, INTERNAL_ERROR));
  const segment = activeSegment(tracker.stack);
  const isOfFlow = segment?.frames.some((other) => other.frameId === frame?.frameId) ?? false;
  if (segment !== undefined && isOfFlow) {
    await cancelSegment(dialogue, segment);
    afterFlow(dialogue, segment.root, { mayComplete: false });
  } else if (frame !== undefined) {
    tracker.setStack(withoutConversationPatterns(tracker.stack));
  }
  if (apology === undefined) {
    const { type, info, context } = failure;
    dialogue.pushPattern(INTERNAL_ERROR, { error_type: type, info, ...context });
  } else if (apology.frameId === frame?.frameId) {
    // The error pattern itself failed: send the response without any flow.
    await dialogue.respond(INTERNAL_ERROR_RESPONSE, {});
  }
}

/** Clears the stack, so that nothing can loop again. */
async function breakOff(dialogue: Dialogue): Promise<void> {
  await clearStack(dialogue);
  dialogue.tracker.clearFollowup();
  dialogue.facts.patterns.push({
    flowId: INTERNAL_ERROR,
    context: { error_type: 'too_many_steps', info: {} },
  });
  await dialogue.respond(INTERNAL_ERROR_RESPONSE, {});
}

/** A follow-up action runs before all steps. */
function followup(dialogue: Dialogue): Prediction | undefined {
  const name = dialogue.tracker.state.followupAction;
  if (name === null) return undefined;
  dialogue.tracker.clearFollowup();
  countStep(dialogue);
  if (name === LISTEN) return { kind: 'listen' };
  return { kind: 'action', name, frame: dialogue.top };
}

/** Whether a follow-up action exists: a response, an action of the project, or a default action. */
export function canFollowUp(name: string, { actions, responses }: Domain): boolean {
  return name === LISTEN || responses.has(name) || actions.has(name) || defaultActions.has(name);
}

/** Listens if the message of this turn was undone. */
function rewound({ facts, tracker, top }: Dialogue): Prediction | undefined {
  if (facts.rewoundTo !== tracker.stack) return undefined;
  return { kind: top?.type === 'agent' ? 'listen-for-agent' : 'listen' };
}

/** Milliseconds from the message to its commands, and from its commands to now. */
function executionTimes({ facts, options }: Dialogue): JsonObject | undefined {
  const { startedAt, understoodAt } = facts;
  if (understoodAt === undefined) return undefined;
  return {
    execution_times: {
      command_processor: understoodAt - startedAt,
      prediction_loop: options.clock.now() - understoodAt,
    },
  };
}

function listen(dialogue: Dialogue, action: string): void {
  dialogue.tracker.logStack();
  // Log prompts once: a turn can listen again after a follow-up action.
  const prompts = dialogue.facts.prompts.splice(0);
  const metadata = { ...executionTimes(dialogue), ...(prompts.length > 0 && { prompts }) };
  const isEmpty = Object.keys(metadata).length === 0;
  dialogue.tracker.apply(actionExecuted(action, isEmpty ? undefined : metadata));
}

const MAX_CALL_DEPTH = 32;

/** The next operation outside of the stack, which `run` executes before it advances the stack again. */
export type Prediction =
  | { readonly kind: 'listen' }
  /** Listens while an agent waits for the user. */
  | { readonly kind: 'listen-for-agent' }
  | { readonly kind: 'action'; readonly name: string; readonly frame: StackFrame | undefined }
  | {
      readonly kind: 'call';
      readonly handler: CallHandler;
      readonly step: CallStep;
      readonly frame: FlowFrame;
      /** The agent's frame, if the agent was called before and is on the stack. */
      readonly agent?: AgentFrame;
    };

/**
 * Moves the top frame along its steps, ends frames and starts others, until an action must run or
 * the assistant must listen. The `stepId` of a frame is the last step that it took.
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
    dialogue.spans.enter(moved, step);
    const prediction = takeStep(dialogue, moved, step);
    if (prediction !== undefined) return prediction;
  }
}

/** Counts a step and enforces `maxSteps`. Every operation that could loop counts steps. */
export function countStep(dialogue: Dialogue): void {
  dialogue.facts.steps += 1;
  if (dialogue.facts.steps <= dialogue.options.maxSteps) return;
  throw new TooManySteps(`a message caused more than ${dialogue.options.maxSteps} steps`);
}

/** The step after the current one; undefined at the end of the flow. */
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

/** Bounds recursive calls of flows: the stack is loaded and saved with every turn. */
function checkDepth(dialogue: Dialogue, { target }: CallStep): void {
  const segment = activeSegment(dialogue.tracker.stack);
  if (segment === undefined || callChain(segment).length < MAX_CALL_DEPTH) return;
  const message = `call of ${target} is more than ${MAX_CALL_DEPTH} calls deep`;
  throw new StepFailure('calls_too_deep', message, { target });
}

function handlerOf(dialogue: Dialogue, step: CallStep): CallHandler {
  const handler = dialogue.options.callHandlers.find((one) => one.handles(step));
  if (handler !== undefined) return handler;
  const { target, mcpServer } = step;
  const where = mcpServer === undefined ? '' : ` on MCP server ${mcpServer}`;
  const message = `no flow, sub agent, peer or tool named ${target}${where}`;
  throw new StepFailure('unknown_call', message, { target });
}

/** Calls a waiting agent only with messages that are meant for it. */
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

/** Starts the first session of a conversation, or another one after the session expired. */
export async function ensureSession(
  dialogue: Dialogue,
  { isNew }: { readonly isNew: boolean },
): Promise<void> {
  const { tracker, domain } = dialogue;
  const expired = !isNew && isExpired(dialogue);
  if (isNew || (expired && domain.session.startSessionAfterExpiry)) {
    await runBetweenSteps(dialogue, 'action_session_start');
  } else if (expired || tracker.state.inactive) {
    tracker.renewSession(dialogue.options.newId());
  }
}

function isExpired({ tracker, domain, options }: Dialogue): boolean {
  return options.clock.now() > expiryOf(tracker.state, domain);
}

/** When the session expires, in milliseconds since 1970. */
export function expiryOf({ activeAt }: Pick<TrackerState, 'activeAt'>, domain: Domain): number {
  const minutes = domain.session.sessionExpirationTime;
  return minutes > 0 ? (activeAt + minutes * 60) * 1000 : Infinity;
}
