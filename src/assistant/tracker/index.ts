export { appliedEvents, beginsSession, takesBack } from './applied.ts';
export {
  actionExecuted,
  actionRejected,
  agentEvent,
  botUttered,
  conversationInactive,
  type EventDraft,
  type FlowEvent,
  flowEvent,
  flowStarted,
  restarted,
  sessionEnded,
  sessionStarted,
  slotSet,
  userUttered,
} from './events.ts';
export { formerTrackerJson } from './json.ts';
export { frameJson, trackerJson } from './json.ts';
export { stackAfter } from './json.ts';
export { loadState, type TrackerState } from './state.ts';
export { Tracker, type TrackerOptions } from './tracker.ts';
export type { TranscriptEntry } from './state.ts';
