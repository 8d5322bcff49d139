import { z } from 'zod';
import { type JsonObject, type JsonValue, LegateError } from '../../protocol/index.ts';
import type { BotMessage, Button, Extractor, StackFrame, TrackerEvent } from '../conversation.ts';
import { isTrackerEvent } from './events.ts';

/**
 * All that a conversation is, apart from its log: what the engine needs to take the next turn.
 * Everything in it is bounded, so a turn costs the same however long the conversation is.
 * @example
 * const restedMinutes = ({ activeAt }: TrackerState) => (Date.now() / 1_000 - activeAt) / 60;
 */
export type TrackerState = {
  readonly version: 1;
  readonly senderId: string;
  readonly userId: string | null;
  readonly sessionId: string;
  /** Seconds since 1970, as all times of the tracker. */
  readonly startedAt: number;
  /** Only slots whose value is not their initial one. */
  readonly slots: Readonly<Record<string, JsonValue>>;
  /** Who filled those of them that a command filled. */
  readonly filledBy: Readonly<Record<string, Extractor>>;
  /** Always the whole stack; the last frame is the top. */
  readonly stack: readonly StackFrame[];
  /** How many frames there ever were; names the next one. */
  readonly frameCount: number;
  readonly latestAction: string | null;
  readonly followupAction: string | null;
  readonly latestMessage: JsonObject | null;
  readonly latestEventTime: number;
  /** When anything was said or done last; that nobody did for long does not count. */
  readonly activeAt: number;
  /** Names what waits, elsewhere, to note that the conversation rests; null when nothing does. */
  readonly timer: string | null;
  readonly latestInputChannel: string | null;
  /** Someone else speaks with the user: messages are recorded and nothing else happens. */
  readonly paused: boolean;
  /** The user was silent for long; the next message goes on in a new session id. */
  readonly inactive: boolean;
  /** The session ended for good. */
  readonly terminated: boolean;
  /** The user was asked for a rating in this session. */
  readonly surveyed: boolean;
  /** Sub agents that ended in this session, each once. */
  readonly agents: readonly string[];
  readonly transcript: readonly TranscriptEntry[];
  /** What the bot said last, for saying it again: all since the user's message before. */
  readonly spoken: readonly BotMessage[];
  /** The user spoke since then. */
  readonly heard: boolean;
};

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

/**
 * Something that was said.
 * @example
 * const text = 'Sea view or garden?';
 * const entry: TranscriptEntry = { speaker: 'agent', agentId: 'hotel_desk', text };
 */
export type TranscriptEntry = {
  readonly speaker: 'user' | 'bot' | 'agent';
  readonly text: string;
  /** Those shown with a bot message. */
  readonly buttons?: readonly Button[];
  /** The agent that spoke. */
  readonly agentId?: string;
};

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

/** The schema of saved conversations. Opaque values are not checked. */
const json = z.custom<JsonValue>((value) => value !== undefined);
const object = z.record(z.string(), json);
const path = z.array(z.string());
const place = { frameId: z.string(), flowId: z.string(), stepId: z.string() };

const agentRun = z.object({
  agentId: z.string(),
  path,
  state: z.enum(['completed', 'interrupted']),
  metadata: object,
});

const frame: z.ZodType<StackFrame> = z.discriminatedUnion('type', [
  z.object({
    ...place,
    type: z.literal('flow'),
    frameType: z.enum(['regular', 'interrupt', 'link', 'call']),
    collected: z.array(z.object({ slot: z.string(), path })).exactOptional(),
    agents: z.array(agentRun).exactOptional(),
  }),
  z.object({ ...place, type: z.literal('pattern'), context: object }),
  z.object({
    ...place,
    type: z.literal('agent'),
    agentId: z.string(),
    state: z.enum(['waiting_for_input', 'interrupted', 'resuming', 'restarting']),
    metadata: object,
  }),
]);

const button: z.ZodType<Button> = z.looseObject({ title: z.string(), payload: z.string() });
const message: z.ZodType<BotMessage> = z.looseObject({
  text: z.string().exactOptional(),
  buttons: z.array(button).exactOptional(),
});
const entry: z.ZodType<TranscriptEntry> = z.object({
  speaker: z.enum(['user', 'bot', 'agent']),
  text: z.string(),
  buttons: z.array(button).exactOptional(),
  agentId: z.string().exactOptional(),
});

const text = z.string().nullable();
const state: z.ZodType<TrackerState> = z.object({
  version: z.literal(1),
  senderId: z.string(),
  userId: text,
  sessionId: z.string(),
  startedAt: z.number(),
  slots: object,
  filledBy: z.record(z.string(), z.enum(['llm', 'matching', 'nlu', 'payload', 'orchestrator'])),
  stack: z.array(frame),
  frameCount: z.number(),
  latestAction: text,
  followupAction: text,
  latestMessage: object.nullable(),
  latestEventTime: z.number(),
  activeAt: z.number(),
  timer: text,
  latestInputChannel: text,
  paused: z.boolean(),
  inactive: z.boolean(),
  terminated: z.boolean(),
  surveyed: z.boolean(),
  agents: z.array(z.string()),
  transcript: z.array(entry),
  spoken: z.array(message),
  heard: z.boolean(),
});

/** @throws {LegateError} STORE_VERSION when the conversation was saved in another form. */
export function decodeState(value: JsonObject): TrackerState {
  return decode(state, value);
}

/** @throws {LegateError} STORE_VERSION when the frame is none of ours. */
export function decodeFrame(value: JsonObject): StackFrame {
  return decode(frame, value);
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
