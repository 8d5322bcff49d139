import type { JsonObject } from '../../protocol/index.ts';
import type { AgentFrame, FlowFrame, StackFrame, TrackerEvent } from '../conversation.ts';
import { beginsSession } from './applied.ts';
import type { EventDraft } from './events.ts';
import { frameJson } from './json.ts';

/** The stack as the log has it: a patch that replaces it whole, with all that a frame is. */
export function stackLogged(stack: readonly StackFrame[]): EventDraft {
  const value = stack.map((frame) => {
    if (frame.type !== 'flow') return frameJson(frame);
    const { collected, agents } = frame;
    return { ...frameJson(frame), ...(collected && { collected }), ...(agents && { agents }) };
  });
  return { event: 'stack', update: JSON.stringify([{ op: 'replace', path: '', value }]) };
}

/** The stack that a `stack` event tells of. */
export function loggedStack(event: TrackerEvent): readonly StackFrame[] {
  if (typeof event['update'] !== 'string') return [];
  const [patch] = JSON.parse(event['update']) as readonly { readonly value: JsonObject[] }[];
  return (patch?.value ?? []).map(frameOf);
}

/** Where the flows stand after these events, as their log tells it. */
export function stackAfter(events: readonly TrackerEvent[]): readonly StackFrame[] {
  const last = events.findLast((one) => one.event === 'stack' || beginsSession(one));
  return last?.event === 'stack' ? loggedStack(last) : [];
}

/** What `stackLogged` made of a frame, as a frame. */
function frameOf(value: JsonObject): StackFrame {
  const { frame_id, flow_id, step_id, type, ...rest } = value;
  const common = { frameId: frame_id, flowId: flow_id, stepId: step_id };
  if (type === 'flow') {
    const { frame_type: frameType, ...kept } = rest;
    return { ...common, ...kept, type, frameType } as unknown as FlowFrame;
  }
  if (type === 'agent') {
    const { agent_id: agentId, ...kept } = rest;
    return { ...common, ...kept, type, agentId } as unknown as AgentFrame;
  }
  return { ...common, type: 'pattern', context: rest } as unknown as StackFrame;
}
