import type { JsonObject } from '../../protocol/index.ts';
import { type ActionMessage, ActionRejected } from '../actions/runner.ts';
import type { StackFrame } from '../conversation.ts';
import { actionExecuted, actionRejected } from '../tracker/events.ts';
import { applyEvents } from './apply-events.ts';
import { defaultActions, sessionStart } from './default-actions.ts';
import { contextOf, type Dialogue } from './dialogue.ts';
import { StepFailure } from './failure.ts';
import { checkSlots } from './rejections.ts';

const SESSION_START = 'action_session_start';

/**
 * Runs an action by its name: a response of the domain, an action of the project, or one of our
 * own, which an action of the project replaces by having the same name.
 */
export async function runAction(
  dialogue: Dialogue,
  name: string,
  frame: StackFrame | undefined,
): Promise<void> {
  const context = frame === undefined ? {} : contextOf(frame);
  if (dialogue.options.responder.has(name)) {
    dialogue.tracker.apply(actionExecuted(name));
    return dialogue.respond(name, context);
  }
  if (dialogue.domain.actions.has(name)) {
    // The session starts once, also when the project replaces the action that greets.
    if (name === SESSION_START) {
      if (dialogue.facts.sessionStarted) return;
      sessionStart(dialogue, frame);
    }
    return runCustom(dialogue, name, context);
  }
  const ours = defaultActions.get(name);
  if (ours !== undefined) {
    dialogue.tracker.apply(actionExecuted(name));
    return ours(dialogue, frame);
  }
  // Patterns name actions that a project may have and need not: `validate_<slot>`.
  if (frame?.type === 'pattern') return;
  throw new StepFailure('unknown_action', `no action ${name} in the domain`, { action: name });
}

async function runCustom(dialogue: Dialogue, name: string, context: JsonObject): Promise<void> {
  const { options, tracker, domain } = dialogue;
  let result;
  try {
    result = await options.actions.run({
      name,
      senderId: tracker.state.senderId,
      slots: tracker.slots,
      tracker: () => dialogue.fullTracker(),
      domain,
      context,
      channel: options.channel,
      stream: async (piece) => options.onChunk(piece),
      newId: options.newId,
      signal: options.signal,
      clock: options.clock,
      logger: options.logger,
    });
  } catch (error) {
    options.signal.throwIfAborted();
    if (error instanceof ActionRejected) tracker.apply(actionRejected(name));
    throw new StepFailure('action_failed', `action ${name} failed`, { action: name }, error);
  }
  tracker.apply(actionExecuted(name));
  for (const message of result.messages) await sayMessage(dialogue, message, context);
  checkSlots(dialogue, await applyEvents(dialogue, result.events));
}

/** A named response is written by us; what stands beside its name extends it. */
async function sayMessage(
  dialogue: Dialogue,
  message: ActionMessage,
  context: JsonObject,
): Promise<void> {
  const { response, values, ...own } = message;
  if (response === undefined) return dialogue.say(own);
  const written = await dialogue.write(response, context, values);
  await dialogue.say({ ...written, ...own, metadata: { ...written.metadata, ...own.metadata } });
}
