import type { JsonObject } from '../../protocol/index.ts';
import type { StackFrame } from '../conversation.ts';
import type { Domain } from '../model.ts';
import { INTERNAL_ERROR_RESPONSE } from '../responses/responder.ts';
import { activeSegment, isPattern, withoutConversationPatterns } from '../stack/stack.ts';
import { actionExecuted } from '../tracker/events.ts';
import { advance, countStep, type Prediction } from './advance.ts';
import { defaultActions, LISTEN, LISTEN_FOR_AGENT } from './default-actions.ts';
import type { Dialogue } from './dialogue.ts';
import { StepFailure, TooManySteps } from './failure.ts';
import { afterFlow, cancelSegment, clearStack } from './flow-end.ts';
import { runAction } from './run-action.ts';
import { runCall } from './run-call.ts';

const INTERNAL_ERROR = 'pattern_internal_error';

/**
 * Runs until the assistant waits for the user or the session has ended. An error ends only the flow
 * or pattern that failed; only aborts are thrown.
 */
export async function run(dialogue: Dialogue): Promise<void> {
  const { tracker, options } = dialogue;
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
      if (prediction.kind === 'call') await runCall(dialogue, prediction);
      else await runAction(dialogue, prediction.name, prediction.frame);
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
export async function runBetweenSteps(dialogue: Dialogue, action: string): Promise<void> {
  try {
    await runAction(dialogue, action, undefined);
  } catch (error) {
    dialogue.options.signal.throwIfAborted();
    await fail(dialogue, undefined, error);
  }
}

async function fail(
  dialogue: Dialogue,
  frame: StackFrame | undefined,
  error: unknown,
): Promise<void> {
  const failure =
    error instanceof StepFailure ? error : new StepFailure('internal', 'internal error', {}, error);
  const { flowId: flow, stepId: step } = frame ?? {};
  dialogue.options.logger.error({ flow, step, error }, 'turn.step_failed');
  await failStep(dialogue, frame, failure);
}

/**
 * Ends what failed and starts the error pattern once: a user flow is cancelled without another
 * message; a pattern about the conversation is removed, and the flow below it stays. Without a frame
 * the stack is unchanged.
 */
async function failStep(
  dialogue: Dialogue,
  frame: StackFrame | undefined,
  failure: { readonly type: string; readonly info: JsonObject },
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
    dialogue.pushPattern(INTERNAL_ERROR, { error_type: failure.type, info: failure.info });
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

/** Whether a follow-up action of this name can be run: a response, an action of the project, or ours. */
export function canFollowUp(name: string, { actions, responses }: Domain): boolean {
  return name === LISTEN || responses.has(name) || actions.has(name) || defaultActions.has(name);
}

/** Whether the turn waits for the user because its message was undone. */
function rewound({ facts, tracker, top }: Dialogue): Prediction | undefined {
  if (facts.rewoundTo !== tracker.stack) return undefined;
  return { kind: top?.type === 'agent' ? 'listen-for-agent' : 'listen' };
}

/** Milliseconds: from the message to its commands, and from there to now. */
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
  // Once: a turn may listen again after a followup.
  const prompts = dialogue.facts.prompts.splice(0);
  const metadata = { ...executionTimes(dialogue), ...(prompts.length > 0 && { prompts }) };
  const isEmpty = Object.keys(metadata).length === 0;
  dialogue.tracker.apply(actionExecuted(action, isEmpty ? undefined : metadata));
}
