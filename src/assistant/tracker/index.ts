export { type EventDraft, slotSet } from './events.ts';
export { loadState } from './state.ts';
export type { TranscriptEntry } from './state.ts';
