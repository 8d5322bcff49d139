import { signal, type Signal } from '@preact/signals';
import { type Client, connect } from '../../../src/client/index.ts';
import {
  type AgentCard,
  message,
  type Part,
  type SendMessageRequest,
} from '../../../src/protocol/index.ts';
import { about } from '../api/about.ts';
import { agentFetch, nameAgent } from '../api/agent-fetch.ts';
import { reasonOf } from '../api/api.ts';
import { Breather } from '../api/breather.ts';
import { Changes } from '../api/changes.ts';
import { WireLog } from '../wire/exchange.ts';
import { recordingFetch } from '../wire/recording-fetch.ts';
import { clientOptions, ownCard, secretsOf, type Target } from './target.ts';
import { TalkTurn } from './turn.ts';

/** How messages are sent. */
export interface Sending {
  readonly streams: boolean;
  /** The webhook URL; undefined for none. */
  readonly pushUrl: string | undefined;
}

interface Said {
  readonly parts: readonly Part[];
  readonly metadata?: SendMessageRequest['metadata'];
  /** Shown instead of the parts: the title of a button. */
  readonly shown?: string;
}

/**
 * A conversation with one agent. It is idle, or busy with one message; while the agent waits for
 * input, the next message continues its task. Another target, or `restart`, starts a new context.
 */
export class TalkConversation extends Changes {
  readonly number: number;
  readonly target: Signal<Target>;
  readonly sending: Signal<Sending> = signal({ streams: true, pushUrl: undefined });
  readonly wire = new WireLog();
  readonly turns: TalkTurn[] = [];
  /** The welcome of an assistant, which is not a turn. */
  readonly welcome: Signal<TalkTurn | undefined> = signal(undefined);
  readonly isBusy: Signal<boolean> = signal(false);
  readonly contextId: Signal<string | undefined> = signal(undefined);
  readonly card: Signal<AgentCard | undefined> = signal(undefined);
  /** Binding and version. */
  readonly interfaceInUse: Signal<string> = signal('');
  readonly problem: Signal<string> = signal('');
  #client: Promise<Client> | undefined;
  #stopping: AbortController | undefined;
  /** The running welcome; the first message waits for it, so as not to overtake it. */
  #opening: { readonly stopping: AbortController; readonly ended: Promise<void> } | undefined;

  constructor(number: number, target: Target) {
    super();
    this.number = number;
    this.target = signal(target);
  }

  /** Changes the agent or its transport, and clears the conversation. */
  retarget(target: Target): void {
    this.target.value = target;
    this.#client = undefined;
    this.card.value = undefined;
    this.interfaceInUse.value = '';
    this.restart();
  }

  /** Clears the conversation, and starts a new context or continues an existing one. */
  restart(contextId?: string): void {
    this.#stopping?.abort();
    this.#opening?.stopping.abort();
    this.#opening = undefined;
    this.turns.length = 0;
    this.contextId.value = contextId;
    this.problem.value = '';
    this.wire.clear();
    this.welcome.value = undefined;
    this.#open();
    this.changed();
  }

  /** Fetches the card, if there is one; then an assistant opens the conversation. */
  async meet(): Promise<void> {
    this.#open();
    try {
      await this.#connected();
      this.problem.value = '';
    } catch (error) {
      this.problem.value = reasonOf(error, 'something went wrong');
    }
  }

  /**
   * Starts the session of a new conversation with an assistant of this server, once: it answers with its
   * welcome. For any other agent `/session_start` would be an ordinary message.
   */
  #open(): void {
    const { own } = this.target.peek();
    const agent = about.peek()?.agents.find(({ name }) => name === own);
    const isNew = this.turns.length === 0 && this.contextId.peek() === undefined;
    if (agent?.isAssistant !== true || !isNew) return;
    const contextId = crypto.randomUUID();
    const welcome = new TalkTurn(0, message('/session_start', { contextId }));
    const stopping = new AbortController();
    this.contextId.value = contextId;
    this.welcome.value = welcome;
    this.#opening = { stopping, ended: this.#greet(welcome, stopping.signal) };
  }

  async #greet(welcome: TalkTurn, signal: AbortSignal): Promise<void> {
    try {
      const client = await this.#connected();
      const request = { message: welcome.message };
      for await (const { response } of client.sendStreamingMessage(request, { signal })) {
        welcome.take(response);
        this.changed();
      }
      welcome.close();
    } catch (error) {
      welcome.close(signal.aborted ? '' : reasonOf(error, 'something went wrong'));
    }
    this.changed();
  }

  async say({ parts, metadata, shown }: Said): Promise<void> {
    if (this.isBusy.peek()) return;
    this.isBusy.value = true;
    const waiting = this.turns.at(-1);
    const contextId = this.contextId.peek();
    const taskId = waiting?.isWaiting === true ? waiting.taskId : undefined;
    const said = message(parts, {
      ...(contextId !== undefined && { contextId }),
      ...(taskId !== undefined && { taskId }),
      ...(metadata !== undefined && { metadata }),
    });
    const turn = new TalkTurn(this.turns.length + 1, said, shown);
    this.turns.push(turn);
    this.changed();
    await this.#follow(turn, async (client, signal) => {
      const request = this.#requestOf(said);
      await this.#opening?.ended;
      if (this.sending.peek().streams) return client.sendStreamingMessage(request, { signal });
      return once(client.sendMessage(request, { signal }));
    });
  }

  /** Resubscribes to the last task. */
  async resubscribe(): Promise<void> {
    const turn = this.turns.at(-1);
    if (turn?.taskId === undefined || this.isBusy.peek()) return;
    const { taskId } = turn;
    this.isBusy.value = true;
    turn.isOpen = true;
    await this.#follow(turn, async (client, signal) => client.subscribeToTask(taskId, { signal }));
  }

  /** Closes the stream; the task continues. */
  leave(): void {
    this.#stopping?.abort();
  }

  async cancel(): Promise<void> {
    const taskId = this.turns.at(-1)?.taskId;
    if (taskId === undefined) return this.leave();
    try {
      const client = await this.#connected();
      const task = await client.cancelTask(taskId);
      this.turns.at(-1)?.take({ task });
      this.changed();
    } catch (error) {
      this.problem.value = reasonOf(error, 'something went wrong');
    }
  }

  async #follow(
    turn: TalkTurn,
    open: (
      client: Client,
      signal: AbortSignal,
    ) => Promise<AsyncIterable<{ readonly response: Parameters<TalkTurn['take']>[0] }>>,
  ): Promise<void> {
    const stopping = new AbortController();
    this.#stopping = stopping;
    try {
      const client = await this.#connected();
      const breather = new Breather();
      for await (const { response } of await open(client, stopping.signal)) {
        turn.take(response);
        this.changed();
        await breather.breathe();
      }
      turn.close();
    } catch (error) {
      turn.close(stopping.signal.aborted ? '' : reasonOf(error, 'something went wrong'));
    } finally {
      if (this.turns.includes(turn)) this.contextId.value = turn.contextId ?? this.contextId.peek();
      this.isBusy.value = false;
      this.changed();
    }
  }

  #requestOf(said: SendMessageRequest['message']): SendMessageRequest {
    const { pushUrl } = this.sending.peek();
    if (pushUrl === undefined) return { message: said };
    return {
      message: said,
      configuration: {
        taskPushNotificationConfig: { url: pushUrl, id: `inspector-${this.number}` },
      },
    };
  }

  async #connected(): Promise<Client> {
    this.#client ??= this.#connect();
    try {
      return await this.#client;
    } catch (error) {
      this.#client = undefined;
      throw error;
    }
  }

  async #connect(): Promise<Client> {
    const target = this.target.peek();
    const fetch = recordingFetch(agentFetch, this.wire, () => secretsOf(this.target.peek()));
    const known = target.own === undefined ? undefined : ownCard(target.own);
    if (known === undefined) await nameAgent(target.url);
    const client = await connect(known ?? target.url, { ...clientOptions(target), fetch });
    const { protocolBinding, protocolVersion } = client.interface;
    this.card.value = client.card;
    this.interfaceInUse.value = `${protocolBinding} ${protocolVersion}`;
    return client;
  }
}

async function* once<T>(answer: Promise<T>): AsyncGenerator<{ response: T }> {
  yield { response: await answer };
}
