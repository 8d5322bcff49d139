import {
  type BotMessage,
  formerTrackerJson,
  messagesIn,
  trackerJson,
  type TrackerEvent,
} from '../../assistant/index.ts';
import { type JsonObject, LegateError, message, type Part } from '../../protocol/index.ts';
import { ownerKey, type Store } from '../../store/index.ts';
import type { Call, Engine, EventStream } from '../../tasks/index.ts';
import type { ModelHolder } from './model-holder.ts';

/** The agent's name for the store; the card has the assistant's own. */
export const assistantName = 'assistant';

export interface SayOptions {
  /** By which the user speaks. */
  readonly channel: string;
  /** @default {} */
  readonly metadata?: JsonObject;
  readonly signal?: AbortSignal;
  /** W3C trace context of whoever asked. */
  readonly traceparent?: string;
  readonly tracestate?: string;
}

/** A whole message, or a piece of one that comes to be. */
export type Spoken = { readonly message: BotMessage } | { readonly piece: string };

/**
 * Conversations as the doors beside A2A see them. Whatever changes one is a turn of the engine, so it
 * waits its place in the conversation's queue; a conversation begun here can go on over A2A.
 */
export class Conversations {
  readonly #engine: Engine;
  readonly #store: Store;
  readonly #models: ModelHolder;
  readonly #subject: string;

  /** `subject`: whose conversations; those of nobody in particular when empty. */
  constructor(engine: Engine, store: Store, models: ModelHolder, subject = '') {
    this.#engine = engine;
    this.#store = store;
    this.#models = models;
    this.#subject = subject;
  }

  /** The conversations of an A2A caller. */
  of(subject: string): Conversations {
    return new Conversations(this.#engine, this.#store, this.#models, subject);
  }

  /** Says something as the user; gives what the assistant says. */
  async say(id: string, text: string, options: SayOptions): Promise<readonly BotMessage[]> {
    const parts = await this.#turn(id, [{ text }], options);
    return messagesIn(parts.slice(1));
  }

  /**
   * The same, as it comes to be: pieces of messages that are streamed, and whole messages. What is
   * wrong from the start rejects, before there is a stream.
   */
  async stream(id: string, text: string, options: SayOptions): Promise<AsyncGenerator<Spoken>> {
    const { channel, metadata = {} } = options;
    this.#models.require();
    const events = await this.#engine.stream(
      { message: message(text, { contextId: id, metadata }), metadata: { channel } },
      this.#call(options),
    );
    return spoken(events);
  }

  /** Makes events of the outside part of the conversation. */
  async record(id: string, events: readonly JsonObject[]): Promise<void> {
    await this.#turn(id, [{ data: { events } }], { channel: 'api' });
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
    const saved = (await this.#store.loadContext(owner, id))?.value?.value as
      | JsonObject
      | undefined;
    const value =
      saved ?? (await assistant.record({ senderId: id, tracker: undefined }, [])).tracker;
    const isRead = withEvents || until !== undefined;
    const log = isRead ? await this.#store.readContextLog(owner, id) : [];
    const events = log.map((entry) => entry.value as TrackerEvent);
    const { domain } = assistant;
    if (until === undefined) return trackerJson(value, events, domain);
    const former = formerTrackerJson(value, events, domain, until);
    return withEvents ? former : { ...former, events: [] };
  }

  /**
   * Ends what is at work for the conversation, and the work of agents elsewhere with it. A question
   * that waits for its answer is no work. Gives the ids of the tasks that were ended.
   */
  async cancelWork(id: string): Promise<readonly string[]> {
    const ended: string[] = [];
    for (const status of ['TASK_STATE_WORKING', 'TASK_STATE_SUBMITTED'] as const) {
      const request = { contextId: id, status, pageSize: 100 };
      const { tasks } = await this.#engine.listTasks(request, this.#call({ channel: 'api' }));
      for (const task of tasks) if (await this.#cancel(task.id)) ended.push(task.id);
    }
    // Agents may also be at work while no turn is under way.
    if (await this.#hasWork(id)) {
      await this.#turn(id, [{ data: { endsWork: true } }], { channel: 'api' });
    }
    return ended;
  }

  async #hasWork(id: string): Promise<boolean> {
    const saved = (await this.#store.loadContext(this.#owner, id))?.value?.value;
    const assistant = this.#models.current?.assistant;
    return saved !== undefined && assistant?.hasWork(saved as JsonObject) === true;
  }

  /** False for a task that ended by itself in the meantime. */
  async #cancel(id: string): Promise<boolean> {
    try {
      const { value } = await this.#engine.cancelTask({ id }, this.#call({ channel: 'api' }));
      return value.status.state === 'TASK_STATE_CANCELED';
    } catch (error) {
      if (error instanceof LegateError && error.code === 'TASK_NOT_CANCELABLE') return false;
      throw error;
    }
  }

  async forget(id: string): Promise<boolean> {
    return this.#store.deleteContext(this.#owner, id);
  }

  get #caller() {
    return { tenant: '', subject: this.#subject, method: 'channel' } as const;
  }

  #call({ signal, traceparent, tracestate }: SayOptions): Call {
    return {
      caller: this.#caller,
      version: '1.0',
      // `max_contexts` is a matter of orchestrators: they leave tasks that wait, users of channels do not.
      isBeyondLimits: true,
      ...(signal !== undefined && { signal }),
      ...(traceparent !== undefined && { traceparent }),
      ...(tracestate !== undefined && { tracestate }),
    };
  }

  get #owner(): string {
    return ownerKey({ agent: assistantName, tenant: '', subject: this.#subject });
  }

  async #turn(
    contextId: string,
    parts: readonly Part[],
    options: SayOptions,
  ): Promise<readonly Part[]> {
    const { channel, metadata = {} } = options;
    this.#models.require();
    const outcome = await this.#engine.send(
      { message: message(parts, { contextId, metadata }), metadata: { channel, direct: true } },
      this.#call(options),
    );
    if ('message' in outcome) return outcome.message.value.parts;
    const { status } = outcome.task.value;
    const said = status.message?.parts ?? [];
    if (status.state === 'TASK_STATE_COMPLETED') return said;
    const why = messagesIn(said)[0]?.text ?? 'the conversation could not go on';
    throw new LegateError('UNAVAILABLE', why, { retryAfter: 5 });
  }
}

async function* spoken(events: EventStream): AsyncGenerator<Spoken> {
  for await (const { body } of events) {
    const event = body.value;
    if ('artifactUpdate' in event) {
      const piece = event.artifactUpdate.artifact.parts.map((part) => part.text ?? '').join('');
      if (piece !== '') yield { piece };
    } else if ('statusUpdate' in event) {
      const { parts = [] } = event.statusUpdate.status.message ?? {};
      for (const message of messagesIn(parts)) yield { message };
    }
  }
}
