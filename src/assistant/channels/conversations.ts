import { type JsonObject, LegateError } from '../../protocol/index.ts';
import type { Caller } from '../../agents/index.ts';
import { ownerKey, type Store } from '../../store/index.ts';
import type { Call, ContextKey, Engine } from '../../tasks/index.ts';
import type { BotMessage } from '../bot-message.ts';
import type { TrackerEvent } from '../conversation.ts';
import { formerTrackerJson } from '../tracker/former.ts';
import { trackerJson } from '../tracker/json.ts';
import {
  endWorkCommand,
  recordCommand,
  sayCommand,
  type SayInput,
  type Spoken,
} from './conversation-commands.ts';
import type { ModelHolder } from './model-holder.ts';

/** The agent's name for the store; the card has the assistant's own. */
export const assistantName = 'assistant';

export interface SayOptions {
  /** By which the user speaks. */
  readonly channel: string;
  /** @default {} */
  readonly metadata?: JsonObject;
  readonly signal?: AbortSignal | undefined;
  /** W3C trace context of whoever asked. */
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
}

/**
 * Conversations as channels see them. Whatever changes one is a command of the engine, so it
 * waits its place in the conversation's queue; a conversation begun here can go on over A2A.
 */
export class Conversations {
  readonly #host: { readonly engine: Engine; readonly store: Store };
  readonly #models: ModelHolder;
  readonly #subject: string;

  /** `subject`: whose conversations; those of nobody in particular when empty. */
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

  /** Says something as the user; gives what the assistant says. */
  say(id: string, text: string, options: SayOptions): Promise<readonly BotMessage[]> {
    return this.#say(id, text, options, undefined);
  }

  /** The same, as it comes to be: pieces of messages that are streamed, and whole messages. */
  async stream(
    id: string,
    text: string,
    options: SayOptions,
    onSpoken: (spoken: Spoken) => void,
  ): Promise<void> {
    let wasTold = false;
    const messages = await this.#say(id, text, options, (spoken) => {
      wasTold = true;
      onSpoken(spoken);
    });
    // Another replica may have run it, which tells nobody here on the way.
    if (!wasTold) for (const message of messages) onSpoken({ message });
  }

  #say(
    id: string,
    text: string,
    options: SayOptions,
    onProgress: ((spoken: Spoken) => void) | undefined,
  ): Promise<readonly BotMessage[]> {
    const { channel, metadata = {}, ...rest } = options;
    this.#models.require();
    const input: SayInput = { text, channel, metadata, streams: onProgress !== undefined };
    const told = onProgress === undefined ? rest : { ...rest, onProgress };
    return this.#host.engine.command(this.#key(id), sayCommand, input, told);
  }

  /** Makes events of the outside part of the conversation. */
  async record(id: string, events: readonly JsonObject[]): Promise<void> {
    this.#models.require();
    await this.#host.engine.command(this.#key(id), recordCommand, { events });
  }

  /** The conversation as JSON; one that was never held is empty. */
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
    const saved = (await this.#host.store.loadContext(owner, id))?.value?.value as
      | JsonObject
      | undefined;
    const value =
      saved ?? (await assistant.record({ senderId: id, tracker: undefined }, [])).tracker;
    const isRead = withEvents || until !== undefined;
    const log = isRead ? await this.#host.store.readContextLog(owner, id) : [];
    const events = log.map((entry) => entry.value as TrackerEvent);
    const { domain } = assistant;
    if (until === undefined) return trackerJson(value, events, domain);
    const former = formerTrackerJson(value, events, domain, until);
    return withEvents ? former : { ...former, events: [] };
  }

  /**
   * Ends what is at work for the conversation, and the work of agents elsewhere with it. A question
   * that waits for its answer is no work. Gives the ids of the tasks and calls that were ended.
   */
  async cancelWork(id: string): Promise<readonly string[]> {
    const ended = [...(await this.#host.engine.cancelCommands(this.#key(id)))];
    for (const status of ['TASK_STATE_WORKING', 'TASK_STATE_SUBMITTED'] as const) {
      const request = { contextId: id, status, pageSize: 100 };
      const { tasks } = await this.#host.engine.listTasks(request, this.#call);
      for (const task of tasks) if (await this.#cancel(task.id)) ended.push(task.id);
    }
    // Agents may also be at work while no turn is under way.
    if (await this.#hasWork(id)) {
      await this.#host.engine.command(this.#key(id), endWorkCommand, {});
    }
    return ended;
  }

  async #hasWork(id: string): Promise<boolean> {
    const saved = (await this.#host.store.loadContext(this.#owner, id))?.value?.value;
    const assistant = this.#models.current?.assistant;
    return saved !== undefined && assistant?.hasWork(saved as JsonObject) === true;
  }

  /** False for a task that ended by itself in the meantime. */
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
