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
export { formerTrackerJson } from './former.ts';
export { frameJson, trackerJson } from './json.ts';
export { stackAfter } from './logged-stack.ts';
export { loadState, type TrackerState } from './state.ts';
export { Tracker, type TrackerOptions } from './tracker.ts';
export type { TranscriptEntry } from './transcript.ts';
