import { z } from 'zod';
import { type JsonObject, type JsonValue, LegateError } from '../../protocol/index.ts';
import type { BotMessage, Button } from '../bot-message.ts';
import type { StackFrame, TrackerEvent } from '../conversation.ts';
import { isTrackerEvent } from './events.ts';
import type { TrackerState, TranscriptEntry } from './state.ts';

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
