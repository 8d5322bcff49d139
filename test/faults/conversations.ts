import { type Client, connect } from '../../src/client/index.ts';
import { message, type Task } from '../../src/protocol/index.ts';
import type { Cluster } from '../replicas/cluster.ts';
import type { Random } from './random.ts';

/** How a conversation is held. */
export type Manner = 'blocking' | 'streaming' | 'crowded' | 'webhook';

/** One message and what its sender was told. */
export interface Said {
  readonly contextId: string;
  readonly manner: Manner;
  readonly messageId: string;
  /** The task as it was acknowledged; unset when the sender gave up. */
  task?: Task;
  /** The numbers of the events that a stream brought. */
  readonly events: number[];
  failure?: unknown;
}

/** How many conversations are held at a time, and how. */
export interface ConversationsPlan {
  /** @default 40 */
  readonly count?: number;
  /** The most milliseconds that a turn takes. @default 40 */
  readonly longestPauseMs?: number;
}

const manners: readonly Manner[] = ['blocking', 'streaming', 'crowded', 'webhook'];

/** One or more speakers who hold one conversation after the other. */
interface Group {
  readonly name: string;
  readonly manner: Manner;
  /** Conversations so far. */
  conversation: number;
  /** Messages until the next one. */
  left: number;
}

/**
 * Conversations in the manners above, held through clients that repeat what fails. Each has one
 * speaker who waits for every answer; a crowded one has three. So many are held at a time, and when
 * one is over the next begins.
 */
export class Conversations {
  readonly said: Said[] = [];
  readonly #client: Client;
  readonly #random: Random;
  readonly #webhook: string;
  readonly #longestPauseMs: number;
  readonly #speakers: Promise<void>[] = [];
  #isOver = false;

  private constructor(
    client: Client,
    options: ConversationsPlan & { readonly random: Random; readonly webhook: string },
  ) {
    this.#client = client;
    this.#random = options.random;
    this.#webhook = options.webhook;
    this.#longestPauseMs = options.longestPauseMs ?? 40;
  }

  static async start(
    options: ConversationsPlan & {
      readonly cluster: Cluster;
      readonly random: Random;
      /** Where webhooks of the conversations go. */
      readonly webhook: string;
    },
  ): Promise<Conversations> {
    const { cluster, count = 40 } = options;
    const client = await connect('http://127.0.0.1/', {
      fetch: cluster.fetch,
      retry: { attempts: 100, initialMs: 50, maximumMs: 1_000 },
      poll: { initialMs: 50, maximumMs: 500 },
      inactivityTimeoutMs: 10_000,
      timeoutMs: 120_000,
    });
    const conversations = new Conversations(client, options);
    for (let index = 0; index < count; index += 1) conversations.#begin(index);
    return conversations;
  }

  get acknowledged(): number {
    return this.said.filter(({ task }) => task !== undefined).length;
  }

  get conversations(): number {
    return new Set(this.said.map(({ contextId }) => contextId)).size;
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#speakers);
  }

  #begin(index: number): void {
    const manner = manners[index % manners.length] ?? 'blocking';
    const group: Group = { name: `${manner}-${index}`, manner, conversation: 0, left: 0 };
    const speakers = manner === 'crowded' ? 3 : 1;
    for (let each = 0; each < speakers; each += 1) this.#speakers.push(this.#speak(group));
  }

  async #speak(group: Group): Promise<void> {
    const { manner } = group;
    while (!this.#isOver) {
      if (group.left === 0) {
        group.conversation += 1;
        group.left = this.#random.between(5, 20);
      }
      group.left -= 1;
      const contextId = `${group.name}-${group.conversation}`;
      const said = message(`pause ${this.#random.between(0, this.#longestPauseMs)}`, { contextId });
      const record: Said = { contextId, manner, messageId: said.messageId, events: [] };
      this.said.push(record);
      try {
        record.task =
          manner === 'streaming'
            ? await this.#stream(said, record)
            : await this.#send(said, manner === 'webhook');
      } catch (failure) {
        record.failure = failure;
      }
    }
  }

  async #send(said: ReturnType<typeof message>, hasWebhook: boolean): Promise<Task> {
    const answer = await this.#client.sendMessage({
      message: said,
      ...(hasWebhook && {
        configuration: { taskPushNotificationConfig: { id: 'w', url: this.#webhook } },
      }),
    });
    if (!('task' in answer)) throw new Error('a task was expected');
    return answer.task;
  }

  async #stream(said: ReturnType<typeof message>, record: Said): Promise<Task> {
    let id = '';
    for await (const { response, sequence } of this.#client.sendStreamingMessage({
      message: said,
    })) {
      if (sequence !== undefined) record.events.push(sequence);
      if ('task' in response) ({ id } = response.task);
    }
    return this.#client.getTask(id);
  }
}
