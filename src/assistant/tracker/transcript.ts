import type { BotMessage, Button } from '../bot-message.ts';

/**
 * Something that was said.
 * @example
 * const text = 'Sea view or garden?';
 * const entry: TranscriptEntry = { speaker: 'agent', agentId: 'hotel_desk', text };
 */
export interface TranscriptEntry {
  readonly speaker: 'user' | 'bot' | 'agent';
  readonly text: string;
  /** Those shown with a bot message. */
  readonly buttons?: readonly Button[];
  /** The agent that spoke. */
  readonly agentId?: string;
}

/** Entries kept, and characters kept of each. */
const MAX_ENTRIES = 30;
const MAX_CHARACTERS = 2_000;
/** Of what can be said again: messages, and characters of all of them as JSON. */
const MAX_SPOKEN = 20;
const MAX_SPOKEN_CHARACTERS = 64 * 1024;

/** The transcript with one more entry, and without the oldest when it is full. */
export function extendTranscript(
  transcript: readonly TranscriptEntry[],
  entry: TranscriptEntry,
): readonly TranscriptEntry[] {
  const text =
    entry.text.length > MAX_CHARACTERS ? `${entry.text.slice(0, MAX_CHARACTERS)}…` : entry.text;
  return [...transcript.slice(1 - MAX_ENTRIES), { ...entry, text }];
}

/** As long as they are not too much to keep, the messages with one more. */
export function extendSpoken(
  spoken: readonly BotMessage[],
  message: BotMessage,
): readonly BotMessage[] {
  const extended = [...spoken.slice(1 - MAX_SPOKEN), message];
  return JSON.stringify(extended).length > MAX_SPOKEN_CHARACTERS ? spoken : extended;
}
