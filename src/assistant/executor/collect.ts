import type { CollectedStep, FlowFrame, PatternFrame } from '../conversation.ts';
import { type CollectStep, START } from '../model.ts';
import { activeSegment, callChain, COLLECT_INFORMATION, isSamePath } from '../stack/stack.ts';
import { slotSet } from '../tracker/events.ts';
import type { Dialogue } from './dialogue.ts';
import { StepFailure } from './failure.ts';

/**
 * Reaches a collect step: the pattern that asks goes on the stack, and checks first what the slot
 * may already hold.
 */
export function enterCollect(
  dialogue: Dialogue,
  frame: FlowFrame | PatternFrame,
  step: CollectStep,
): undefined {
  const { tracker, domain } = dialogue;
  if (!domain.slots.has(step.slot)) {
    throw new StepFailure('unknown_slot', `no slot ${step.slot} in the domain`, {
      slot: step.slot,
    });
  }
  if (frame.type === 'flow') rememberCollected(dialogue, step);
  if (step.askBeforeFilling && tracker.slot(step.slot) !== null) {
    tracker.apply(slotSet(step.slot, null));
  }
  const question = questionFrame(dialogue, step, frame);
  const hasAction = question.context['collect_action'] !== null;
  const canAsk = hasAction || dialogue.options.responder.has(step.utter);
  if (!canAsk && tracker.slot(step.slot) === null) {
    throw new StepFailure(
      'no_question',
      `slot ${step.slot} has neither response ${step.utter} nor action action_ask_${step.slot}`,
      { slot: step.slot },
    );
  }
  dialogue.push(question);
}

/** The pattern that asks for the slot of a step; a question of a pattern may name what the pattern knows. */
export function questionFrame(
  dialogue: Dialogue,
  step: CollectStep,
  owner: FlowFrame | PatternFrame,
): PatternFrame {
  const askAction = `action_ask_${step.slot}`;
  return {
    type: 'pattern',
    frameId: dialogue.tracker.newFrameId(),
    flowId: COLLECT_INFORMATION,
    stepId: START,
    context: {
      ...(owner.type === 'pattern' && owner.context),
      collect: step.slot,
      utter: step.utter,
      collect_action: dialogue.domain.actions.has(askAction) ? askAction : null,
      rejections: step.rejections.map((one) => ({ if: one.if, utter: one.utter })),
    },
  };
}

/** Notes on the chain's first frame that this question was reached, and forgets what came after it. */
function rememberCollected(dialogue: Dialogue, step: CollectStep): void {
  const segment = activeSegment(dialogue.tracker.stack);
  if (segment === undefined) return;
  const path = callChain(segment).map((frame) => frame.stepId);
  const before = segment.root.collected ?? [];
  const known = before.findIndex((other) => isSamePath(other.path, path));
  const kept = known === -1 ? before : before.slice(0, known);
  const collected: readonly CollectedStep[] = [...kept, { slot: step.slot, path }];
  dialogue.replace({ ...segment.root, collected });
}
