import { z } from 'zod';
import {
  type AgentCommand,
  type Caller,
  type CommandHandler,
  type CommandTurn,
  type ContextPatch,
  handleCommand,
} from '../../agents/index.ts';
import type { ConversationOwner } from '../../http/index.ts';
import { isJsonObject, type JsonObject, LegateError } from '../../protocol/index.ts';
import { ownerKey, type RecordWrite, type Store } from '../../store/index.ts';
import type { Call, ContextKey, Engine } from '../../tasks/index.ts';
import type { TurnRequest } from '../assistant-options.ts';
import type { Assistant } from '../assistant.ts';
import { type BotMessage, botMessage, jsonObject } from '../conversation.ts';
import type { EventDraft } from '../tracker/events.ts';
import { trackerJson } from '../tracker/json.ts';
import { decodeEvents } from '../tracker/state.ts';
import { formerTrackerJson } from '../tracker/tracker.ts';
import type { TurnResult } from '../turn-result.ts';
import type { ModelHolder } from './model-holder.ts';

/** The agent's name in the store. The card shows the name of the assistant. */
export const assistantName = 'assistant';

export interface SayOptions {
  /** The name of the channel that the message comes from. */
  readonly channel: string;
  /** @default {} */
  readonly metadata?: JsonObject;
  readonly signal?: AbortSignal | undefined;
  /** W3C trace context of the request. */
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
}

/**
 * The conversations of one owner, for channels. Every change is a command of the engine, so it waits in
 * the queue of its conversation. A conversation that a channel starts can continue over A2A.
 */
export class Conversations {
  readonly #host: { readonly engine: Engine; readonly store: Store };
  readonly #models: ModelHolder;
  readonly #of: ConversationOwner;

  /** `owner`: anonymous by default. */
  constructor(
    host: { readonly engine: Engine; readonly store: Store },
    models: ModelHolder,
    owner: ConversationOwner = { tenant: '', subject: '' },
  ) {
    this.#host = host;
    this.#models = models;
    this.#of = owner;
  }

  /** The conversations of an A2A caller. */
  of(owner: ConversationOwner): Conversations {
    return new Conversations(this.#host, this.#models, owner);
  }

  /**
   * Sends a user message and returns the assistant's messages. `onUpdate` gets chunks of streamed messages
   * and whole messages as they arrive.
   */
  async say(
    id: string,
    text: string,
    options: SayOptions,
    onUpdate?: (update: MessageUpdate) => void,
  ): Promise<readonly BotMessage[]> {
    const { channel, metadata = {}, ...rest } = options;
    this.#models.require();
    let wasReported = false;
    const onProgress = (update: MessageUpdate): void => {
      wasReported = true;
      onUpdate?.(update);
    };
    const streams = onUpdate !== undefined;
    const reported = { ...rest, ...(streams && { onProgress }) };
    const input = { text, channel, metadata, streams };
    const messages = await this.#host.engine.command(this.#key(id), sayCommand, input, reported);
    // If another replica runs the command, its progress isn't reported here.
    if (!wasReported) for (const message of messages) onUpdate?.({ message });
    return messages;
  }

  /** Applies external events to the conversation. */
  async record(id: string, events: readonly JsonObject[]): Promise<void> {
    this.#models.require();
    await this.#host.engine.command(this.#key(id), recordCommand, { events });
  }

  /** Starts a conversation with a copy of the events of another one. */
  async import(id: string, events: readonly JsonObject[]): Promise<void> {
    this.#models.require();
    await this.#host.engine.command(this.#key(id), importCommand, { events });
  }

  /** The conversation as JSON; an unknown conversation is empty. */
  async tracker(
    id: string,
    options: {
      /** @default true */
      readonly withEvents?: boolean;
      /** Returns the conversation as of this time, in seconds since 1970. @default now */
      readonly until?: number;
    } = {},
  ): Promise<JsonObject> {
    const { withEvents = true, until } = options;
    const { assistant } = this.#models.require();
    const owner = this.#owner;
    const saved = await this.#load(id);
    const value =
      saved ?? (await assistant.record({ senderId: id, tracker: undefined }, [])).tracker;
    const isRead = withEvents || until !== undefined;
    const log = isRead ? await this.#host.store.readContextLog(owner, id) : [];
    const events = decodeEvents(log.map((entry) => entry.value));
    const { domain } = assistant;
    if (until === undefined) return trackerJson(value, events, domain);
    const former = formerTrackerJson(value, events, domain, until);
    return withEvents ? former : { ...former, events: [] };
  }

  /**
   * Cancels the running and queued tasks of the conversation, its commands, and its remote tasks. A task
   * that waits for input isn't cancelled. Returns the ids of the cancelled tasks and commands.
   */
  async cancelWork(id: string): Promise<readonly string[]> {
    const ended: string[] = [];
    const seen = new Set<string>();
    const cancelAll = async (tasks: readonly string[]): Promise<void> => {
      for (const task of tasks) {
        if (seen.has(task)) continue;
        seen.add(task);
        if (await this.#cancel(task)) ended.push(task);
      }
    };
    for (let known = -1; known < seen.size;) {
      known = seen.size;
      // A queued task that starts while it is listed is in the second list.
      const queued = await this.#tasksOf(id, 'TASK_STATE_SUBMITTED');
      const running = await this.#tasksOf(id, 'TASK_STATE_WORKING');
      // Queued tasks first: the end of the running one would start them.
      await cancelAll(queued);
      ended.push(...(await this.#host.engine.cancelCommands(this.#key(id))));
      await cancelAll(running);
    }
    // Remote agents can also work between turns.
    if (await this.#hasBackgroundTasks(id)) {
      await this.#host.engine.command(this.#key(id), cancelBackgroundCommand, {});
    }
    return ended;
  }

  /** The ids of all tasks of the conversation in a state. */
  async #tasksOf(
    contextId: string,
    status: 'TASK_STATE_SUBMITTED' | 'TASK_STATE_WORKING',
  ): Promise<readonly string[]> {
    const ids: string[] = [];
    let pageToken = '';
    do {
      const request = { contextId, status, pageSize: 100, pageToken };
      const page = await this.#host.engine.listTasks(request, this.#call);
      ids.push(...page.tasks.map((task) => task.id));
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    return ids;
  }

  async #load(id: string): Promise<JsonObject | undefined> {
    const saved = (await this.#host.store.loadContext(this.#owner, id))?.value?.value;
    return isJsonObject(saved) ? saved : undefined;
  }

  async #hasBackgroundTasks(id: string): Promise<boolean> {
    const saved = await this.#load(id);
    const assistant = this.#models.current?.assistant;
    return saved !== undefined && assistant?.hasBackgroundTasks(saved) === true;
  }

  /** Returns false if the task ended in the meantime. */
  async #cancel(id: string): Promise<boolean> {
    try {
      const { value } = await this.#host.engine.cancelTask({ id }, this.#call);
      return value.status.state === 'TASK_STATE_CANCELED';
    } catch (error) {
      if (error instanceof LegateError && error.code === 'TASK_NOT_CANCELABLE') return false;
      throw error;
    }
  }

  async forget(id: string): Promise<boolean> {
    return this.#host.store.deleteContext(this.#owner, id);
  }

  get #call(): Call {
    return { caller: this.#caller, version: '1.0' };
  }

  get #caller(): Caller {
    const { tenant, subject } = this.#of;
    return { tenant, subject, method: 'channel' };
  }

  #key(contextId: string): ContextKey {
    return { caller: this.#caller, contextId };
  }

  get #owner(): string {
    const { tenant, subject } = this.#of;
    return ownerKey({ agent: assistantName, tenant, subject });
  }
}

/** The input of `sayCommand`. */
const sayInput = z.object({
  text: z.string(),
  /** The name of the channel that the message comes from. */
  channel: z.string(),
  metadata: jsonObject,
  /** Whether chunks and messages are reported while the turn runs. */
  streams: z.boolean(),
});

/** A whole message, or a chunk of a streamed one. */
export type MessageUpdate = { readonly message: BotMessage } | { readonly chunk: string };

/** Sends a user message; returns the assistant's messages. */
export const sayCommand: AgentCommand<
  z.infer<typeof sayInput>,
  readonly BotMessage[],
  MessageUpdate
> = {
  name: 'say',
  input: sayInput,
  result: z.array(botMessage),
  progress: z.custom<MessageUpdate>(),
  supersedes: true,
};

/** Applies external events to the conversation. */
export const recordCommand: AgentCommand<{ readonly events: readonly EventDraft[] }, boolean> = {
  name: 'record',
  input: z.object({ events: z.array(z.custom<EventDraft>()) }),
  result: z.boolean(),
};

/** Starts a conversation with the events of another one. */
export const importCommand: AgentCommand<{ readonly events: readonly JsonObject[] }, boolean> = {
  name: 'import',
  input: z.object({ events: z.array(jsonObject) }),
  result: z.boolean(),
};

/** Records that a conversation is inactive, for a due timer. Returns false if the timer is void. */
export const inactivityCommand: AgentCommand<{ readonly timer: string }, boolean> = {
  name: 'record-inactivity',
  input: z.object({ timer: z.string() }),
  result: z.boolean(),
};

/** Cancels the tasks of remote agents; returns the agents' names. */
export const cancelBackgroundCommand: AgentCommand<object, readonly string[]> = {
  name: 'cancel-background-tasks',
  input: z.object({}),
  result: z.array(z.string()),
};

/** Creates the timers that record inactivity. */
export interface InactivityTimerFactory {
  /** A timer, which the caller saves with the conversation; undefined if sessions don't expire. */
  arm(
    caller: Caller,
    contextId: string,
    at: number,
  ): { readonly id: string; readonly record: RecordWrite } | undefined;
}

/** The conversation of a running turn or command. */
export type Place = Pick<CommandTurn, 'contextId' | 'caller' | 'state' | 'signal'>;

/** The context patch that ends a turn. Arms an inactivity timer if the conversation has none. */
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

/** A turn request without its text: the sender and the conversation. */
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
  /** Runs a command with the current assistant, which stays open until the command ends. */
  const withAssistant = async <T>(run: (assistant: Assistant) => Promise<T>): Promise<T> => {
    const assistant = options.assistant();
    if (assistant === undefined) {
      throw new LegateError('UNAVAILABLE', 'the assistant has no model yet', { retryAfter: 5 });
    }
    using _ = assistant.hold();
    return await run(assistant);
  };
  const of = (turn: CommandTurn, channel: string, metadata: JsonObject = {}) =>
    speakerOf(turn, { messageId: turn.id, metadata, channel });
  return [
    handleCommand(sayCommand, (turn, { text, channel, metadata, streams }) =>
      withAssistant(async (assistant) => {
        const speaker = await of(turn, channel, metadata);
        const result = await assistant.handle({ ...speaker, text, ...(streams && reportTo(turn)) });
        const context = saved(assistant, turn, result, options.timers);
        return { result: result.messages.map(forUser), context };
      }),
    ),
    handleCommand(recordCommand, (turn, { events }) =>
      withAssistant(async (assistant) => {
        const result = await assistant.record(await of(turn, 'api'), events);
        return { result: true, context: saved(assistant, turn, result, options.timers) };
      }),
    ),
    handleCommand(importCommand, async (turn, { events }) => {
      if ((await turn.state.load()) !== undefined) {
        throw new LegateError(
          'INVALID_PARAMS',
          `conversation ${turn.contextId} exists already; import the events into a new one`,
        );
      }
      return withAssistant(async (assistant) => {
        const { tracker } = assistant.copy(turn.contextId, decodeEvents(events));
        return { result: true, context: { value: tracker, log: events } };
      });
    }),
    handleCommand(inactivityCommand, (turn, { timer }) =>
      withAssistant(async (assistant) => {
        const recorded = assistant.recordInactivity(await of(turn, 'timer'), timer);
        if (recorded === undefined) return { result: false };
        return { result: true, context: saved(assistant, turn, recorded, options.timers) };
      }),
    ),
    handleCommand(cancelBackgroundCommand, (turn) =>
      withAssistant(async (assistant) => {
        const speaker = await of(turn, 'api');
        if (speaker.tracker === undefined) return { result: [] };
        const ended = await assistant.cancelBackgroundTasks(speaker);
        if (ended.agents.length === 0) return { result: [] };
        return { result: ended.agents, context: saved(assistant, turn, ended, options.timers) };
      }),
    ),
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
