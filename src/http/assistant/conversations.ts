import { ownerKey, type Store } from '../../store/index.ts';
import type { Engine } from '../../tasks/index.ts';
import {
  type BotMessage,
  messagesIn,
  trackerJson,
  type TrackerEvent,
} from '../../assistant/index.ts';
import { type JsonObject, LegateError, message, type Part } from '../../protocol/index.ts';
import type { ModelHolder } from './model-holder.ts';

/** The agent's name for the store; the card has the assistant's own. */
export const assistantName = 'assistant';

const caller = { tenant: '', subject: '', method: 'channel' } as const;
const owner = ownerKey({ agent: assistantName, tenant: '', subject: '' });

/**
 * Conversations as the doors beside A2A see them. Whatever changes one is a turn of the engine, so it
 * waits its place in the conversation's queue; a conversation begun here can go on over A2A.
 */
export class Conversations {
  readonly #engine: Engine;
  readonly #store: Store;
  readonly #models: ModelHolder;

  constructor(engine: Engine, store: Store, models: ModelHolder) {
    this.#engine = engine;
    this.#store = store;
    this.#models = models;
  }

  /** Says something as the user; gives what the assistant says. */
  async say(
    id: string,
    text: string,
    options: {
      readonly channel: string;
      readonly metadata?: JsonObject;
      readonly signal?: AbortSignal;
    },
  ): Promise<readonly BotMessage[]> {
    const { channel, metadata, signal } = options;
    const parts = await this.#turn(id, [{ text }], { channel, metadata, signal });
    return messagesIn(parts.slice(1));
  }

  /** The same, as it comes to be: pieces of messages that are streamed, then whole messages. */
  async *stream(
    id: string,
    text: string,
    options: {
      readonly channel: string;
      readonly metadata?: JsonObject;
      readonly signal: AbortSignal;
    },
  ): AsyncGenerator<BotMessage> {
    const { channel, metadata, signal } = options;
    const said = message(text, { contextId: id, ...(metadata !== undefined && { metadata }) });
    const events = await this.#engine.stream(
      { message: said, metadata: { channel } },
      { caller, version: '1.0', signal },
    );
    for await (const { body } of events) {
      const event = body.value;
      if ('artifactUpdate' in event) {
        const piece = event.artifactUpdate.artifact.parts.map((part) => part.text ?? '').join('');
        if (piece !== '') yield { text: piece };
      } else if ('statusUpdate' in event) {
        const parts = event.statusUpdate.status.message?.parts ?? [];
        // What was shown piece by piece is not shown again.
        for (const whole of messagesIn(parts))
          if (whole.metadata?.['streamed'] !== true) yield whole;
      }
    }
  }

  /** Makes events of the outside part of the conversation. */
  async record(id: string, events: readonly JsonObject[]): Promise<void> {
    await this.#turn(id, [{ data: { events } }], { channel: 'api' });
  }

  /** The conversation as JSON, with its last `events` events (all when unset). */
  async tracker(id: string, events?: number): Promise<JsonObject> {
    const { assistant } = this.#models.require();
    const saved = (await this.#store.loadContext(owner, id))?.value?.value as
      | JsonObject
      | undefined;
    const value = saved ?? assistant.record({ senderId: id, tracker: undefined }, []).tracker;
    const log = events === 0 ? [] : await this.#store.readContextLog(owner, id, events);
    return trackerJson(
      value,
      log.map((entry) => entry.value as TrackerEvent),
      assistant.domain,
    );
  }

  async forget(id: string): Promise<boolean> {
    return this.#store.deleteContext(owner, id);
  }

  async #turn(
    contextId: string,
    parts: readonly Part[],
    options: {
      readonly channel: string;
      readonly metadata?: JsonObject | undefined;
      readonly signal?: AbortSignal | undefined;
    },
  ): Promise<readonly Part[]> {
    const { channel, metadata, signal } = options;
    const outcome = await this.#engine.send(
      {
        message: message(parts, { contextId, ...(metadata !== undefined && { metadata }) }),
        metadata: { channel, direct: true },
      },
      { caller, version: '1.0', ...(signal !== undefined && { signal }) },
    );
    if ('message' in outcome) return outcome.message.value.parts;
    const { status } = outcome.task.value;
    const said = status.message?.parts ?? [];
    if (status.state === 'TASK_STATE_COMPLETED') return said;
    throw new LegateError(
      'UNAVAILABLE',
      messagesIn(said)[0]?.text ?? 'the conversation could not go on',
      {
        retryAfter: 5,
      },
    );
  }
}
