import type { StackFrame } from '../../conversation.ts';
import type { Dialogue } from '../dialogue.ts';
import { goBack } from './back.ts';
import { cancelFlow, cancelInterruptedFlows } from './cancel.ts';
import { clarifyFlows } from './clarify.ts';
import { continueInterruptedFlow } from './continue-interrupted.ts';
import { correctFlowSlot } from './correct.ts';
import { runSlotRejections } from './rejections.ts';
import { repeatBotMessages } from './repeat.ts';
import { cleanStack, hangUp, restart, sessionStart } from './session.ts';

/** An action of the engine itself; `frame` is the one whose step it is. */
export type DefaultAction = (
  dialogue: Dialogue,
  frame: StackFrame | undefined,
) => void | Promise<void>;

/** There for projects that name them; in this engine there is nothing left for them to do. */
function nothing(): void {}

function cannotHandle(reason: string): DefaultAction {
  return (dialogue) => {
    dialogue.pushPattern('pattern_cannot_handle', { reason });
  };
}

export const defaultActions: ReadonlyMap<string, DefaultAction> = new Map<string, DefaultAction>([
  ['action_run_slot_rejections', runSlotRejections],
  ['action_cancel_flow', cancelFlow],
  ['action_cancel_interrupted_flows', cancelInterruptedFlows],
  ['action_continue_interrupted_flow', continueInterruptedFlow],
  ['action_correct_flow_slot', correctFlowSlot],
  ['action_clarify_flows', clarifyFlows],
  ['action_repeat_bot_messages', repeatBotMessages],
  ['action_session_start', sessionStart],
  ['action_restart', restart],
  ['action_clean_stack', cleanStack],
  ['action_hangup', hangUp],
  ['action_default_fallback', cannotHandle('cannot_handle_default')],
  ['action_trigger_search', cannotHandle('cannot_handle_no_relevant_answer')],
  ['action_trigger_chitchat', cannotHandle('cannot_handle_chitchat')],
  ['action_handoff_metric', nothing],
  ['action_deactivate_loop', nothing],
  ['action_revert_fallback_events', nothing],
  ['action_back', goBack],
  ['action_extract_slots', nothing],
  ['action_reset_routing', nothing],
]);
