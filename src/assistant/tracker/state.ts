import { z } from 'zod';
import { type JsonObject, LegateError, shortened } from '../../protocol/index.ts';
import {
  type BotMessage,
  botMessage,
  button,
  extractor,
  jsonObject,
  type StackFrame,
  stackFrame,
  type TrackerEvent,
} from '../conversation.ts';
import { isTrackerEvent } from './events.ts';

const entry = z
  .object({
    speaker: z.enum(['user', 'bot', 'agent']),
    text: z.string(),
    /** Those shown with a bot message. */
    buttons: z.array(button).readonly().exactOptional(),
    /** The agent that spoke. */
    agentId: z.string().exactOptional(),
  })
  .readonly();

/**
 * A line of the transcript.
 * @example
 * const text = 'Sea view or garden?';
 * const entry: TranscriptEntry = { speaker: 'agent', agentId: 'hotel_desk', text };
 */
export type TranscriptEntry = z.infer<typeof entry>;

const text = z.string().nullable();
const trackerState = z
  .object({
    version: z.literal(1),
    senderId: z.string(),
    userId: text,
    sessionId: z.string(),
    /** Seconds since 1970, as all times of the tracker. */
    startedAt: z.number(),
    /** Only slots whose value is not their initial one. */
    slots: jsonObject,
    /** Who filled those of them that a command filled. */
    filledBy: z.record(z.string(), extractor).readonly(),
    /** Always the whole stack; the last frame is the top. */
    stack: z.array(stackFrame).readonly(),
    /** How many frames there ever were; names the next one. */
    frameCount: z.number(),
    latestAction: text,
    followupAction: text,
    latestMessage: jsonObject.nullable(),
    latestEventTime: z.number(),
    /** When anything happened last, other than that the conversation became inactive. */
    activeAt: z.number(),
    /** The id of the inactivity timer; null without one. */
    timer: text,
    latestInputChannel: text,
    /** Another party speaks with the user: messages are recorded and nothing else happens. */
    paused: z.boolean(),
    /** The session expired; the next message starts a new session id. */
    inactive: z.boolean(),
    /** The session ended for good. */
    terminated: z.boolean(),
    /** The user was asked for a rating in this session. */
    surveyed: z.boolean(),
    /** Sub agents that ended in this session, each once. */
    agents: z.array(z.string()).readonly(),
    /** What the user said first; null before that. Names the conversation in lists. */
    opening: text,
    transcript: z.array(entry).readonly(),
    /** The bot's messages since the user's message before the last, for repeating them. */
    spoken: z.array(botMessage).readonly(),
    /** The user sent a message since then. */
    heard: z.boolean(),
  })
  .readonly();

/**
 * The state of a conversation without its log. Everything in it is bounded, so a turn costs the same
 * however long the conversation is.
 */
export type TrackerState = z.infer<typeof trackerState>;

export interface NewConversation {
  readonly senderId: string;
  readonly userId?: string;
  readonly sessionId: string;
  readonly startedAt: number;
}

export function emptyState(conversation: NewConversation): TrackerState {
  return {
    version: 1,
    senderId: conversation.senderId,
    userId: conversation.userId ?? null,
    sessionId: conversation.sessionId,
    startedAt: conversation.startedAt,
    slots: {},
    filledBy: {},
    stack: [],
    frameCount: 0,
    latestAction: null,
    followupAction: null,
    latestMessage: null,
    latestEventTime: conversation.startedAt,
    activeAt: conversation.startedAt,
    timer: null,
    latestInputChannel: null,
    paused: false,
    inactive: false,
    terminated: false,
    surveyed: false,
    agents: [],
    opening: null,
    transcript: [],
    spoken: [],
    heard: false,
  };
}

/** What was saved. Fields that came later than the value have their first value. */
export function loadState(value: JsonObject): TrackerState {
  if (value['version'] !== 1) {
    throw new LegateError(
      'STORE_VERSION',
      `the conversation was saved in version ${JSON.stringify(value['version'])}; this program reads version 1`,
    );
  }
  const { latestEventTime = null } = value;
  const first = emptyState({ senderId: '', sessionId: '', startedAt: 0 });
  const needed = { senderId: null, sessionId: null, startedAt: null, latestEventTime: null };
  return decodeState({ ...first, ...needed, activeAt: latestEventTime, ...value });
}

/** Entries kept, and characters kept of each. */
const MAX_ENTRIES = 30;
const MAX_CHARACTERS = 2_000;
const MAX_OPENING_CHARACTERS = 200;
/** Of what can be said again: messages, and characters of all of them as JSON. */
const MAX_SPOKEN = 20;
const MAX_SPOKEN_CHARACTERS = 64 * 1024;

/** The transcript with one more entry, and without the oldest when it is full. */
export function extendTranscript(
  transcript: readonly TranscriptEntry[],
  entry: TranscriptEntry,
): readonly TranscriptEntry[] {
  const text = shortened(entry.text, MAX_CHARACTERS);
  return [...transcript.slice(1 - MAX_ENTRIES), { ...entry, text }];
}

/** The opening of a conversation after one more message; channels send `/session_start`, not the user. */
export function openingWith(opening: string | null, message: string): string | null {
  if (opening !== null || message === '' || message === '/session_start') return opening;
  return message.slice(0, MAX_OPENING_CHARACTERS);
}

/** As long as they are not too much to keep, the messages with one more. */
export function extendSpoken(
  spoken: readonly BotMessage[],
  message: BotMessage,
): readonly BotMessage[] {
  const extended = [...spoken.slice(1 - MAX_SPOKEN), message];
  return JSON.stringify(extended).length > MAX_SPOKEN_CHARACTERS ? spoken : extended;
}

/** @throws {LegateError} STORE_VERSION when the conversation was saved in another form. */
export function decodeState(value: JsonObject): TrackerState {
  return decode(trackerState, value);
}

/** @throws {LegateError} STORE_VERSION when the frame is none of ours. */
export function decodeFrame(value: JsonObject): StackFrame {
  return decode(stackFrame, value);
}

/** @throws {LegateError} STORE_VERSION when an entry of the log is not an event. */
export function decodeEvents(entries: readonly unknown[]): readonly TrackerEvent[] {
  return entries.map((entry, index) => {
    if (isTrackerEvent(entry)) return entry;
    throw new LegateError(
      'STORE_VERSION',
      `entry ${index + 1} of the conversation's log has no event name: another version of this program wrote it`,
    );
  });
}

function decode<T>(schema: z.ZodType<T>, value: JsonObject): T {
  const { data, error } = schema.safeParse(value);
  if (error === undefined) return data;
  const [issue] = error.issues;
  const where = issue?.path.join('.') ?? '';
  throw new LegateError(
    'STORE_VERSION',
    `the conversation was saved in a form that this program can't read: ${where}: ${issue?.message}`,
  );
}
