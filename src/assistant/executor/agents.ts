import type { JsonObject } from '../../protocol/index.ts';
import type { AgentFrame, AgentRun, FlowFrame, StackFrame } from '../conversation.ts';
import type { CallStep } from '../model.ts';
import { activeSegment, agentOf, callChain, isSamePath, replaceSegment } from '../stack/stack.ts';
import { agentEvent } from '../tracker/events.ts';
import type { Dialogue } from './dialogue.ts';

/** An agent that waits for the user, or was interrupted while it waited. */
export interface WaitingAgent {
  readonly agentId: string;
  readonly step: CallStep;
  readonly metadata: JsonObject;
}

/** The agents of these frames that wait for the user or are interrupted. */
export function waitingAgents(
  dialogue: Dialogue,
  frames: readonly StackFrame[],
): readonly WaitingAgent[] {
  return frames.flatMap((frame) => {
    if (frame.type === 'pattern') return [];
    if (frame.type === 'flow') return setAside(dialogue, frame);
    const step = dialogue.stepOf(frame);
    return step?.kind === 'call' ? [{ ...frame, step }] : [];
  });
}

function setAside(dialogue: Dialogue, root: FlowFrame): readonly WaitingAgent[] {
  const isWaiting = ({ state }: AgentRun): boolean => state === 'interrupted';
  return (root.agents ?? []).filter(isWaiting).flatMap(({ agentId, path, metadata }) => {
    const frame = dialogue.framesAt(root, path)?.at(-1);
    const step = frame === undefined ? undefined : dialogue.stepOf(frame);
    return step?.kind === 'call' ? [{ agentId, step, metadata }] : [];
  });
}

/** Cancels the calls of agents. Best effort: failures are logged. */
export async function cancelAgents(
  { options }: Dialogue,
  agents: readonly WaitingAgent[],
): Promise<void> {
  const { callHandlers, logger } = options;
  for (const { agentId, step, metadata } of agents) {
    try {
      const handler = callHandlers.find((one) => one.handles(step));
      await handler?.cancel?.({ step, metadata, logger });
    } catch (error) {
      logger.warn({ agent: agentId, error }, 'agent.cancel_failed');
    }
  }
}

const newSession = new Set(['session_started', 'session_ended', 'restart']);

/** Agents that the turn abandoned: their flow took another path, or a new session started. */
export function abandonedAgents(dialogue: Dialogue): readonly WaitingAgent[] {
  const { tracker, facts } = dialogue;
  const isOver = tracker.events.some(({ event }) => newSession.has(event));
  const kept = new Set(tracker.state.terminated ? [] : tracker.stack.map(({ frameId }) => frameId));
  const lost = isOver ? facts.initialStack.filter(({ frameId }) => !kept.has(frameId)) : [];
  return [...facts.abandoned, ...waitingAgents(dialogue, lost)];
}

/**
 * Detaches agents from their background tasks and returns the agents, whose calls the caller must cancel.
 * The next message to one of them starts a new task.
 */
export function detachBackgroundAgents(dialogue: Dialogue): readonly WaitingAgent[] {
  const { tracker } = dialogue;
  const left = tracker.stack.flatMap((frame) => {
    if (frame.type !== 'agent' || !isInBackground(frame.metadata)) return [];
    const { at_work: _, task_id: __, ...metadata } = frame.metadata;
    const state = frame.state === 'waiting_for_input' ? 'resuming' : frame.state;
    dialogue.replace({ ...frame, state, metadata });
    return waitingAgents(dialogue, [frame]);
  });
  tracker.logStack();
  return left;
}

/** Whether the agent's task runs in the background. */
export function isInBackground(metadata: JsonObject): boolean {
  return metadata['at_work'] === true;
}

/**
 * Moves the active flow back to the call step of a completed agent. The steps after it run again. An
 * agent that waits there is interrupted; it is resumed, not restarted, when its step is reached.
 */
export function restartAgent(dialogue: Dialogue, agentId: string): void {
  const run = completedRun(dialogue, agentId);
  if (run === undefined) return;
  setWaitingAgentAside(dialogue);
  const segment = activeSegment(dialogue.tracker.stack);
  if (segment === undefined) return;
  const frames = dialogue.framesAt(segment.root, run.path);
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

/** Records the last run of a call step in the first frame of the call chain. */
export function rememberRun(dialogue: Dialogue, run: AgentRun): void {
  const root = activeSegment(dialogue.tracker.stack)?.root;
  if (root === undefined) return;
  const others = (root.agents ?? []).filter((one) => !isSamePath(one.path, run.path));
  dialogue.replace({ ...root, agents: [...others, run] });
}
