import type { Command } from '../command.ts';
import { activeSegment, flowIds, isPattern } from '../stack/index.ts';
import type { Companions, Situation, Verdict } from './clean-up.ts';

/** Judges every command apart from those that fill slots, which pass. */
export function judgeFlowCommand(
  command: Command,
  situation: Situation,
  companions: Companions,
): Verdict {
  switch (command.command) {
    case 'start flow':
      return judgeStart(command, situation, companions);
    case 'cancel flow':
      return activeSegment(situation.stack) === undefined ? 'impossible' : command;
    case 'clarify':
      return judgeClarify(command, situation, companions);
    case 'chitchat':
      return needs('pattern_chitchat', 'action_trigger_chitchat', situation)
        ? { command: 'cannot handle', reason: 'cannot_handle_chitchat' }
        : command;
    case 'knowledge answer':
      return needs('pattern_search', 'action_trigger_search', situation)
        ? { command: 'cannot handle', reason: 'cannot_handle_no_relevant_answer' }
        : command;
    case 'continue agent':
      return situation.agents.active === undefined ? 'impossible' : command;
    case 'restart agent':
      return situation.agents.completed.includes(command.agent) ? command : 'impossible';
    default:
      return command;
  }
}

function judgeStart(
  command: Command & { readonly command: 'start flow' },
  { stack, flows, startable }: Situation,
  { isPayload, isCancelling }: Companions,
): Verdict {
  const flow = flows.get(command.flow);
  if (flow === undefined || flow.isPattern) return 'impossible';
  const active = activeSegment(stack);
  if (active !== undefined && !isCancelling && flowIds(active).includes(flow.id)) {
    // "Shall we go on with it?" - "Yes, with the transfer."
    const isAsked = isAskingToContinue(stack) && active.root.flowId === flow.id;
    return isAsked ? command : 'satisfied';
  }
  return isPayload || startable.has(flow.id) ? command : 'impossible';
}

/** One option is no question. A question back to the question whether to go on would be one too many. */
function judgeClarify(
  command: Command & { readonly command: 'clarify' },
  situation: Situation,
  companions: Companions,
): Verdict {
  if (isAskingToContinue(situation.stack)) return 'impossible';
  const options = [...new Set(command.options)].filter((id) => situation.startable.has(id));
  const [only] = options;
  if (only === undefined || options.length > 1) return { command: 'clarify', options };
  return judgeStart({ command: 'start flow', flow: only }, situation, companions);
}

function isAskingToContinue(stack: Situation['stack']): boolean {
  return stack.some((frame) => isPattern(frame, 'pattern_continue_interrupted'));
}

/** Whether a pattern relies on an action that only a project could provide, and this one does not. */
function needs(pattern: string, action: string, { flows, domain }: Situation): boolean {
  const steps = [...(flows.get(pattern)?.steps.values() ?? [])];
  const usesAction = steps.some((step) => step.kind === 'action' && step.action === action);
  return usesAction && !domain.actions.has(action);
}
