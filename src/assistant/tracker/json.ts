import { type JsonObject, type JsonValue, isJsonObject } from '../../protocol/index.ts';
import type { StackFrame, TrackerEvent } from '../conversation.ts';
import type { Domain } from '../model.ts';
import { type EventDraft, startsSession } from './events.ts';
import { decodeFrame, loadState } from './state.ts';

/** A frame in tracker JSON. */
export function frameJson(frame: StackFrame): JsonObject {
  const common = { frame_id: frame.frameId, flow_id: frame.flowId, step_id: frame.stepId };
  switch (frame.type) {
    case 'flow':
      return { ...common, frame_type: frame.frameType, type: 'flow' };
    case 'pattern':
      return { ...frame.context, ...common, type: frame.flowId };
    case 'agent':
      return {
        ...common,
        agent_id: frame.agentId,
        state: frame.state,
        metadata: frame.metadata,
        type: 'agent',
      };
  }
}

/**
 * The tracker in the format of `GET /conversations/{id}/tracker` and action servers, from a saved state
 * and the given events.
 * @example
 * const request = { senderId: 'ada', tracker: undefined, text: 'hi' };
 * const { tracker, events } = await assistant.handle(request);
 * const { slots, stack } = trackerJson(tracker, events, assistant.domain);
 */
export function trackerJson(
  value: JsonObject,
  events: readonly TrackerEvent[],
  domain: Domain,
): JsonObject {
  const state = loadState(value);
  const slots: Record<string, JsonValue> = {};
  for (const slot of domain.slots.values()) {
    const saved = Object.hasOwn(state.slots, slot.name) ? state.slots[slot.name] : undefined;
    slots[slot.name] = saved === undefined ? slot.initialValue : saved;
  }
  return {
    sender_id: state.senderId,
    user_id: state.userId,
    current_session_id: state.sessionId,
    conversation_started_timestamp: state.startedAt,
    slots,
    latest_message: state.latestMessage ?? {},
    latest_event_time: state.latestEventTime,
    followup_action: state.followupAction,
    paused: state.paused,
    inactive: state.inactive,
    terminated: state.terminated,
    stack: state.stack.map(frameJson),
    events,
    latest_input_channel: state.latestInputChannel,
    latest_action_name: state.latestAction,
    latest_action: state.latestAction === null ? {} : { action_name: state.latestAction },
    active_loop: {},
  };
}

/** The `stack` event of the log: a patch that replaces the whole stack, with all fields of its frames. */
export function stackLogged(stack: readonly StackFrame[]): EventDraft {
  const value = stack.map((frame) => {
    if (frame.type !== 'flow') return frameJson(frame);
    const { collected, agents } = frame;
    return { ...frameJson(frame), ...(collected && { collected }), ...(agents && { agents }) };
  });
  return { event: 'stack', update: JSON.stringify([{ op: 'replace', path: '', value }]) };
}

/** The stack in a `stack` event. */
export function loggedStack(event: EventDraft): readonly StackFrame[] {
  if (typeof event['update'] !== 'string') return [];
  const patches: unknown = JSON.parse(event['update']);
  const patch: unknown = Array.isArray(patches) ? patches[0] : undefined;
  const frames = isJsonObject(patch) ? patch['value'] : undefined;
  return Array.isArray(frames) ? frames.filter(isJsonObject).map(frameOf) : [];
}

/** The stack after these events, according to the log. */
export function stackAfter(events: readonly EventDraft[]): readonly StackFrame[] {
  const last = events.findLast((one) => one.event === 'stack' || startsSession(one));
  return last?.event === 'stack' ? loggedStack(last) : [];
}

/** Decodes a frame that `stackLogged` encoded. */
function frameOf(value: JsonObject): StackFrame {
  const { frame_id: frameId = null, flow_id: flowId = null, step_id: stepId = null } = value;
  const { frame_id: _frame, flow_id: _flow, step_id: _step, type = null, ...rest } = value;
  const common = { frameId, flowId, stepId };
  if (type === 'flow') {
    const { frame_type: frameType = null, ...kept } = rest;
    return decodeFrame({ ...common, ...kept, type, frameType });
  }
  if (type === 'agent') {
    const { agent_id: agentId = null, ...kept } = rest;
    return decodeFrame({ ...common, ...kept, type, agentId });
  }
  return decodeFrame({ ...common, type: 'pattern', context: rest });
}
