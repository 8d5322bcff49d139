export {
  actionExecuted,
  actionRejected,
  agentEvent,
  botUttered,
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
export type { TrackerState } from './state.ts';
export { Tracker, type TrackerOptions } from './tracker.ts';
export type { TranscriptEntry } from './transcript.ts';
