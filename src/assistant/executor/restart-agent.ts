import type { AgentFrame, AgentRun } from '../conversation.ts';
import { activeSegment, callChain, replaceSegment } from '../stack/index.ts';
import { agentEvent } from '../tracker/index.ts';
import type { Dialogue } from './dialogue.ts';
import { agentOf } from './interruption.ts';
import { framesAt } from './position.ts';
import { rememberRun } from './run-call.ts';

/**
 * Goes back to the call step of an agent that completed. The steps behind it are taken again; an
 * agent that waited there is set aside and resumed, not restarted, when its step is reached.
 */
export function restartAgent(dialogue: Dialogue, agentId: string): void {
  const run = completedRun(dialogue, agentId);
  if (run === undefined) return;
  setWaitingAgentAside(dialogue);
  const segment = activeSegment(dialogue.tracker.stack);
  if (segment === undefined) return;
  const frames = framesAt(dialogue, segment.root, run.path);
  const last = frames?.at(-1);
  if (frames === undefined || last === undefined) return;
  const agent: AgentFrame = {
    type: 'agent',
    frameId: dialogue.tracker.newFrameId(),
    flowId: last.flowId,
    stepId: last.stepId,
    agentId,
    state: 'restarting',
    metadata: {},
  };
  const { tracker } = dialogue;
  tracker.setStack(replaceSegment(tracker.stack, segment, [...frames, agent]));
}

function completedRun(dialogue: Dialogue, agentId: string): AgentRun | undefined {
  const root = activeSegment(dialogue.tracker.stack)?.root;
  return root?.agents?.findLast((one) => one.agentId === agentId && one.state === 'completed');
}

function setWaitingAgentAside(dialogue: Dialogue): void {
  const segment = activeSegment(dialogue.tracker.stack);
  const agent = agentOf(segment);
  if (segment === undefined || agent === undefined) return;
  dialogue.tracker.apply(agentEvent('interrupted', agent.flowId, agent.agentId));
  const path = callChain(segment).map((frame) => frame.stepId);
  const { agentId, metadata } = agent;
  rememberRun(dialogue, { agentId, path, state: 'interrupted', metadata });
}
