import type { JsonObject } from '../../protocol/index.ts';
import type { StackFrame } from '../conversation.ts';
import { INTERNAL_ERROR_RESPONSE } from '../responses/index.ts';
import { activeSegment, isPattern, withoutConversationPatterns } from '../stack/index.ts';
import type { Dialogue } from './dialogue.ts';
import { afterFlow, cancelSegment, clearStack } from './flow-end.ts';

const INTERNAL_ERROR = 'pattern_internal_error';

/** A step that cannot be taken. `type` and `info` reach the error pattern; the message only the log. */
export class StepFailure extends Error {
  override readonly name = 'StepFailure';
  readonly type: string;
  readonly info: JsonObject;

  constructor(type: string, message: string, info: JsonObject = {}, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.type = type;
    this.info = info;
  }
}

/** One message may cause only so many steps: flows that go round in circles must not hang a turn. */
export class TooManySteps extends Error {
  override readonly name = 'TooManySteps';
}

/**
 * Ends what failed and lets the error pattern speak, once: a user flow is cancelled without a
 * word of its own; a pattern about the conversation goes alone, and the flow below it stays.
 * Without a frame nothing on the stack is to blame.
 */
export async function failStep(
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
    // The error pattern itself failed: say it without any flow.
    await dialogue.respond(INTERNAL_ERROR_RESPONSE, {});
  }
}

/** Leaves nothing on the stack that could go round in circles again. */
export async function breakOff(dialogue: Dialogue): Promise<void> {
  await clearStack(dialogue);
  dialogue.tracker.clearFollowup();
  dialogue.facts.patterns.push({
    flowId: INTERNAL_ERROR,
    context: { error_type: 'too_many_steps', info: {} },
  });
  await dialogue.respond(INTERNAL_ERROR_RESPONSE, {});
}
