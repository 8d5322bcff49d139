import { type Client, connect } from '../../src/client/index.ts';
import { isTerminal, message, type Task } from '../../src/protocol/index.ts';
import type { Cluster } from '../replicas/cluster.ts';
import type { Random } from './random.ts';

/** How a conversation is held. */
export type Manner = 'blocking' | 'streaming' | 'crowded' | 'webhook' | 'first';

/** One message and what its sender was told. */
export interface Said {
  /** That of the answer for first messages, which name none. */
  contextId: string;
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
  /** By turns. @default all but `first` */
  readonly manners?: readonly Manner[];
}

const usualManners: readonly Manner[] = ['blocking', 'streaming', 'crowded', 'webhook'];
/** How often a first message is sent before its sender gives up. */
const mostAttempts = 200;

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
  readonly #manners: readonly Manner[];
  readonly #fetch: typeof fetch;
  readonly #speakers: Promise<void>[] = [];
  #isOver = false;

  private constructor(
    client: Client,
    options: ConversationsPlan & {
      readonly cluster: Cluster;
      readonly random: Random;
      readonly webhook: string;
    },
  ) {
    this.#client = client;
    this.#random = options.random;
    this.#webhook = options.webhook;
    this.#longestPauseMs = options.longestPauseMs ?? 40;
    this.#manners = options.manners ?? usualManners;
    this.#fetch = options.cluster.fetch;
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
    const manner = this.#manners[index % this.#manners.length] ?? 'blocking';
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
      if (manner === 'first') {
        await this.#sayFirst();
        continue;
      }
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

  /** A message without a context, repeated under one key until an answer comes. */
  async #sayFirst(): Promise<void> {
    const said = message(`pause ${this.#random.between(0, this.#longestPauseMs)}`);
    const { messageId } = said;
    const record: Said = { contextId: '', manner: 'first', messageId, events: [] };
    this.said.push(record);
    for (let attempt = 1; attempt <= mostAttempts; attempt += 1) {
      try {
        const response = await this.#fetch('http://127.0.0.1/message:send', {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            'a2a-version': '1.0',
            'idempotency-key': messageId,
          },
          body: JSON.stringify({ message: said }),
          signal: AbortSignal.timeout(10_000),
        });
        const answer = (await response.json()) as { readonly task?: Task };
        if (response.ok && answer.task !== undefined && isTerminal(answer.task.status.state)) {
          record.task = answer.task;
          record.contextId = answer.task.contextId;
          return;
        }
        record.failure = JSON.stringify(answer);
      } catch (failure) {
        record.failure = failure;
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
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
