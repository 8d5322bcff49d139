import type { JsonObject, JsonValue } from '../../protocol/index.ts';
import type { StackFrame, TrackerEvent } from '../conversation.ts';
import type { Domain } from '../model.ts';
import { loadState } from './state.ts';

/** A frame as tracker JSON shows it. */
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
 * The whole tracker as `GET /conversations/{id}/tracker` and action servers know it, from a saved
 * state and whichever events the caller wants to show.
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
