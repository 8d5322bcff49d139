import { type JsonObject, LegateError, isJsonObject } from '../../protocol/index.ts';
import type { Caller } from '../../agents/index.ts';
import { ownerKey, type Store } from '../../store/index.ts';
import type { Call, ContextKey, Engine } from '../../tasks/index.ts';
import type { BotMessage } from '../bot-message.ts';
import { formerTrackerJson } from '../tracker/former.ts';
import { trackerJson } from '../tracker/json.ts';
import {
  cancelBackgroundCommand,
  recordCommand,
  sayCommand,
  type SayInput,
  type MessageUpdate,
} from './conversation-commands.ts';
import type { ModelHolder } from './model-holder.ts';
import { decodeEvents } from '../tracker/decode.ts';

/** The agent's name for the store; the card has the assistant's own. */
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
 * Conversations as channels see them. Every change is a command of the engine, so it waits in the
 * conversation's queue. A conversation started here can continue over A2A.
 */
export class Conversations {
  readonly #host: { readonly engine: Engine; readonly store: Store };
  readonly #models: ModelHolder;
  readonly #subject: string;

  /** `subject`: the owner of the conversations; empty for anonymous. */
  constructor(
    host: { readonly engine: Engine; readonly store: Store },
    models: ModelHolder,
    subject = '',
  ) {
    this.#host = host;
    this.#models = models;
    this.#subject = subject;
  }

  /** The conversations of an A2A caller. */
  of(subject: string): Conversations {
    return new Conversations(this.#host, this.#models, subject);
  }

  /** Sends a user message; returns the assistant's messages. */
  say(id: string, text: string, options: SayOptions): Promise<readonly BotMessage[]> {
    return this.#say(id, text, options, undefined);
  }

  /** Sends a user message; reports chunks of streamed messages and whole messages as they arrive. */
  async stream(
    id: string,
    text: string,
    options: SayOptions,
    onUpdate: (update: MessageUpdate) => void,
  ): Promise<void> {
    let wasReported = false;
    const messages = await this.#say(id, text, options, (update) => {
      wasReported = true;
      onUpdate(update);
    });
    // Another replica may have run the command; its progress isn't reported here.
    if (!wasReported) for (const message of messages) onUpdate({ message });
  }

  #say(
    id: string,
    text: string,
    options: SayOptions,
    onProgress: ((update: MessageUpdate) => void) | undefined,
  ): Promise<readonly BotMessage[]> {
    const { channel, metadata = {}, ...rest } = options;
    this.#models.require();
    const input: SayInput = { text, channel, metadata, streams: onProgress !== undefined };
    const told = onProgress === undefined ? rest : { ...rest, onProgress };
    return this.#host.engine.command(this.#key(id), sayCommand, input, told);
  }

  /** Applies external events to the conversation. */
  async record(id: string, events: readonly JsonObject[]): Promise<void> {
    this.#models.require();
    await this.#host.engine.command(this.#key(id), recordCommand, { events });
  }

  /** The conversation as JSON; an unknown conversation is empty. */
  async tracker(
    id: string,
    options: {
      /** @default true */
      readonly withEvents?: boolean;
      /** As it was then, in seconds since 1970. @default now */
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
   * Cancels the running tasks of the conversation and their remote tasks. A task that waits for input
   * isn't cancelled. Returns the ids of the cancelled tasks and calls.
   */
  async cancelWork(id: string): Promise<readonly string[]> {
    const ended = [...(await this.#host.engine.cancelCommands(this.#key(id)))];
    for (const status of ['TASK_STATE_WORKING', 'TASK_STATE_SUBMITTED'] as const) {
      const request = { contextId: id, status, pageSize: 100 };
      const { tasks } = await this.#host.engine.listTasks(request, this.#call);
      for (const task of tasks) if (await this.#cancel(task.id)) ended.push(task.id);
    }
    // Remote agents may also work between turns.
    if (await this.#hasBackgroundTasks(id)) {
      await this.#host.engine.command(this.#key(id), cancelBackgroundCommand, {});
    }
    return ended;
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

  /** Returns false when the task ended in the meantime. */
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
    return { tenant: '', subject: this.#subject, method: 'channel' };
  }

  #key(contextId: string): ContextKey {
    return { caller: this.#caller, contextId };
  }

  get #owner(): string {
    return ownerKey({ agent: assistantName, tenant: '', subject: this.#subject });
  }
}
