import { z } from 'zod';
import {
  type Caller,
  type AgentCommand,
  type CommandHandler,
  type CommandTurn,
  type ContextPatch,
  handleCommand,
} from '../../agents/index.ts';
import { type JsonObject, LegateError } from '../../protocol/index.ts';
import type { RecordWrite } from '../../store/index.ts';
import type { Assistant, TurnRequest } from '../assistant.ts';
import type { BotMessage } from '../bot-message.ts';
import { decodeEvents } from '../tracker/decode.ts';
import { type EventDraft } from '../tracker/events.ts';
import type { TurnResult } from '../turn-result.ts';

/**
 * A user message from a channel.
 * @example const input: SayInput = { text: 'hi', channel: 'kiosk', metadata: {}, streams: false };
 */
export interface SayInput {
  readonly text: string;
  /** The name of the channel that the message comes from. */
  readonly channel: string;
  readonly metadata: JsonObject;
  /** Whether chunks and messages are reported while the turn runs. */
  readonly streams: boolean;
}

/**
 * A whole message, or a chunk of a streamed one.
 * @example const wordsOf = (said: MessageUpdate) => ('chunk' in said ? said.chunk : said.message.text);
 */
export type MessageUpdate = { readonly message: BotMessage } | { readonly chunk: string };

const object = z.custom<JsonObject>((value) => typeof value === 'object' && value !== null);

/**
 * Sends a user message; returns the assistant's messages.
 * @example console.log(sayCommand.name);
 */
export const sayCommand: AgentCommand<SayInput, readonly BotMessage[], MessageUpdate> = {
  name: 'say',
  input: z.object({
    text: z.string(),
    channel: z.string(),
    metadata: object,
    streams: z.boolean(),
  }),
  result: z.array(z.custom<BotMessage>()),
  progress: z.custom<MessageUpdate>(),
  supersedes: true,
};

/**
 * Applies external events to the conversation.
 * @example console.log(recordCommand.name);
 */
export const recordCommand: AgentCommand<{ readonly events: readonly EventDraft[] }, boolean> = {
  name: 'record',
  input: z.object({ events: z.array(z.custom<EventDraft>()) }),
  result: z.boolean(),
};

/** Records that a conversation is inactive, for the timer that is due. Returns false when the timer is void. */
export const inactivityCommand: AgentCommand<{ readonly timer: string }, boolean> = {
  name: 'record-inactivity',
  input: z.object({ timer: z.string() }),
  result: z.boolean(),
};

/**
 * Cancels the tasks of remote agents; returns the agents' names.
 * @example console.log(cancelBackgroundCommand.name);
 */
export const cancelBackgroundCommand: AgentCommand<object, readonly string[]> = {
  name: 'cancel-background-tasks',
  input: z.object({}),
  result: z.array(z.string()),
};

/** Creates the timers that record inactivity. */
export interface InactivityTimerFactory {
  /** A timer, to be saved with the conversation that names it; undefined when sessions don't expire. */
  arm(
    caller: Caller,
    contextId: string,
    at: number,
  ): { readonly id: string; readonly record: RecordWrite } | undefined;
}

/** The conversation whose turn or command runs. */
export type Place = Pick<CommandTurn, 'contextId' | 'caller' | 'state' | 'signal'>;

/** The effects of a turn to save with its end, with a timer for a conversation that has none. */
export function saved(
  assistant: Assistant,
  { caller, contextId }: Place,
  { tracker, events, outcome }: TurnResult,
  timers: InactivityTimerFactory | undefined,
): ContextPatch {
  const needsNone = tracker['timer'] !== null || tracker['inactive'] === true || outcome.ended;
  const timer = needsNone
    ? undefined
    : timers?.arm(caller, contextId, assistant.inactiveAt(tracker));
  if (timer === undefined) return { value: tracker, log: events };
  return { value: { ...tracker, timer: timer.id }, log: events, records: [timer.record] };
}

/** The part of a turn request that identifies the sender and the conversation. */
export async function speakerOf(
  { contextId, state, signal }: Place,
  said: Required<Pick<TurnRequest, 'messageId' | 'metadata' | 'channel'>>,
): Promise<Omit<TurnRequest, 'text'>> {
  const userId = said.metadata['user_id'];
  return {
    ...said,
    senderId: contextId,
    tracker: await state.load(),
    ...(typeof userId === 'string' && { userId }),
    signal,
    history: async (options) => decodeEvents(await state.log(options)),
  };
}

/** Handles the commands that channels, the HTTP API and timers send to conversations. */
export function conversationCommands(options: {
  readonly assistant: () => Assistant | undefined;
  readonly timers?: InactivityTimerFactory | undefined;
}): readonly CommandHandler[] {
  const current = (): Assistant => {
    const assistant = options.assistant();
    if (assistant !== undefined) return assistant;
    throw new LegateError('UNAVAILABLE', 'the assistant has no model yet', { retryAfter: 5 });
  };
  const of = (turn: CommandTurn, channel: string, metadata: JsonObject = {}) =>
    speakerOf(turn, { messageId: turn.id, metadata, channel });
  return [
    handleCommand(sayCommand, async (turn, { text, channel, metadata, streams }) => {
      const assistant = current();
      const speaker = await of(turn, channel, metadata);
      const result = await assistant.handle({ ...speaker, text, ...(streams && reportTo(turn)) });
      const context = saved(assistant, turn, result, options.timers);
      return { result: result.messages.map(forUser), context };
    }),
    handleCommand(recordCommand, async (turn, { events }) => {
      const assistant = current();
      const result = await assistant.record(await of(turn, 'api'), events);
      return { result: true, context: saved(assistant, turn, result, options.timers) };
    }),
    handleCommand(inactivityCommand, async (turn, { timer }) => {
      const assistant = current();
      const recorded = assistant.recordInactivity(await of(turn, 'timer'), timer);
      if (recorded === undefined) return { result: false };
      return { result: true, context: saved(assistant, turn, recorded, options.timers) };
    }),
    handleCommand(cancelBackgroundCommand, async (turn) => {
      const assistant = current();
      const speaker = await of(turn, 'api');
      if (speaker.tracker === undefined) return { result: [] };
      const ended = await assistant.cancelBackgroundTasks(speaker);
      if (ended.agents.length === 0) return { result: [] };
      return { result: ended.agents, context: saved(assistant, turn, ended, options.timers) };
    }),
  ];
}

/** Reports chunks and messages while the turn runs. */
function reportTo(turn: CommandTurn): Pick<TurnRequest, 'onChunk' | 'onMessage'> {
  return {
    onChunk: (piece) => {
      if (piece.kind === 'chunk' && piece.text !== '') turn.report({ chunk: piece.text });
    },
    onMessage: (message) => {
      // The client has already received a streamed message as chunks.
      if (!wasStreamed(message)) turn.report({ message: forUser(message) });
    },
  };
}

function wasStreamed({ metadata }: BotMessage): boolean {
  return metadata?.['streamed'] === true;
}

/** Drops the metadata of a message except for `streamed`: the rest is internal. */
function forUser(message: BotMessage): BotMessage {
  const { metadata: _, ...rest } = message;
  return wasStreamed(message) ? { ...rest, metadata: { streamed: true } } : rest;
}
