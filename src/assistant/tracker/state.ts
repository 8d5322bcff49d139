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
    /** The buttons of a bot message. */
    buttons: z.array(button).readonly().exactOptional(),
    /** The agent that sent the message. */
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
    /** Seconds since 1970, like all times of the tracker. */
    startedAt: z.number(),
    /** Only slots whose value differs from the initial one. */
    slots: jsonObject,
    /** The extractor of each slot that a command filled. */
    filledBy: z.record(z.string(), extractor).readonly(),
    /** The whole stack; the last frame is the top. */
    stack: z.array(stackFrame).readonly(),
    /** Number of frames created so far, from which the next frame id is made. */
    frameCount: z.number(),
    latestAction: text,
    followupAction: text,
    latestMessage: jsonObject.nullable(),
    latestEventTime: z.number(),
    /** Time of the last event other than `conversation_inactive`. */
    activeAt: z.number(),
    /** The id of the inactivity timer; null without one. */
    timer: text,
    latestInputChannel: text,
    /** A human or another system handles the conversation: messages are only recorded. */
    paused: z.boolean(),
    /** The session expired; the next message starts a new session id. */
    inactive: z.boolean(),
    /** The session ended for good. */
    terminated: z.boolean(),
    /** The user was asked for a rating in this session. */
    surveyed: z.boolean(),
    /** Sub agents that ended in this session, each once. */
    agents: z.array(z.string()).readonly(),
    /** The start of the user's first message; null before it. The title of the conversation in lists. */
    opening: text,
    transcript: z.array(entry).readonly(),
    /** The bot messages after the last user message that got any, for repeating them. */
    spoken: z.array(botMessage).readonly(),
    /** Whether the user sent a message after `spoken`. */
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

/** Decodes a saved state. Fields that were added later get their initial values. */
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
/** Limits of `spoken`: messages, and characters of all of them as JSON. */
const MAX_SPOKEN = 20;
const MAX_SPOKEN_CHARACTERS = 64 * 1024;

/** Adds an entry to the transcript; a full transcript drops its oldest entry. */
export function extendTranscript(
  transcript: readonly TranscriptEntry[],
  entry: TranscriptEntry,
): readonly TranscriptEntry[] {
  const text = shortened(entry.text, MAX_CHARACTERS);
  return [...transcript.slice(1 - MAX_ENTRIES), { ...entry, text }];
}

/** The opening after one more message. Ignores `/session_start`, which channels send. */
export function openingWith(opening: string | null, message: string): string | null {
  if (opening !== null || message === '' || message === '/session_start') return opening;
  return message.slice(0, MAX_OPENING_CHARACTERS);
}

/** Adds a message to those that can be repeated, unless they would become too large. */
export function extendSpoken(
  spoken: readonly BotMessage[],
  message: BotMessage,
): readonly BotMessage[] {
  const extended = [...spoken.slice(1 - MAX_SPOKEN), message];
  return JSON.stringify(extended).length > MAX_SPOKEN_CHARACTERS ? spoken : extended;
}

/** @throws {LegateError} STORE_VERSION if the conversation was saved in another format. */
export function decodeState(value: JsonObject): TrackerState {
  return decode(trackerState, value);
}

/** @throws {LegateError} STORE_VERSION if the frame has another format. */
export function decodeFrame(value: JsonObject): StackFrame {
  return decode(stackFrame, value);
}

/** @throws {LegateError} STORE_VERSION if an entry of the log is not an event. */
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
