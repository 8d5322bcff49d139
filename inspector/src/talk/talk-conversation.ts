import { signal, type Signal } from '@preact/signals';
import type { OwnerView, TranscriptView } from '../../../src/http/inspector/model.ts';
import type { Client } from '../../../src/client/index.ts';
import {
  type AgentCard,
  message,
  type Part,
  type SendMessageRequest,
  type StreamResponse,
} from '../../../src/protocol/index.ts';
import { about, ownAgent } from '../api/about.ts';
import { agentFetch } from '../api/agent-fetch.ts';
import { get, path, reasonOf } from '../api/api.ts';
import { Changes, TimeSlice } from '../api/changes.ts';
import { recordingFetch, WireLog } from '../wire/wire-log.ts';
import { historyOf, turnsOfTask } from './history.ts';
import { type KeptTurn, turnOf } from './kept-turn.ts';
import { connectTo } from './connect-to.ts';
import { grpcThroughServer } from './grpc-channel.ts';
import { clientOptions, secretsOf, type Target } from './target.ts';
import { TalkTurn } from './turn.ts';

/** How messages are sent. */
export interface Sending {
  readonly streams: boolean;
  /** The webhook URL; undefined for none. */
  readonly pushUrl: string | undefined;
}

interface Outgoing {
  readonly parts: readonly Part[];
  readonly metadata?: SendMessageRequest['metadata'];
  /** Shown instead of the parts: the title of a button. */
  readonly shown?: string;
}

type Responses = AsyncIterable<{ readonly response: StreamResponse }>;

/**
 * A conversation with one agent. It is idle, or busy with one message. While the agent waits for input,
 * the next message continues its task. Another target, or `restart`, starts a new context.
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
  /** The owner of a stored conversation that is not the operator's: it is read-only. */
  readonly otherOwner: Signal<OwnerView | undefined> = signal(undefined);
  /** The owner of a stored conversation; undefined for a new one. */
  readonly owner: Signal<OwnerView | undefined> = signal(undefined);
  #client: Promise<Client> | undefined;
  /** Loads the history of a stored conversation; new messages wait for it. */
  #loaded: Promise<void> = Promise.resolve();
  #stopping: AbortController | undefined;
  /** The running welcome; the first message waits until it has ended. */
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

  /**
   * Clears the conversation, and starts a new context or continues an existing one, with its history if
   * the server has it.
   */
  restart(contextId?: string, owner?: string): void {
    this.#stopping?.abort();
    this.#opening?.stopping.abort();
    this.#opening = undefined;
    this.turns.length = 0;
    this.contextId.value = contextId;
    this.problem.value = '';
    this.wire.clear();
    this.welcome.value = undefined;
    this.owner.value = undefined;
    this.otherOwner.value = undefined;
    if (contextId === undefined) this.#open();
    else this.#loaded = this.#load(contextId, owner);
    this.changed();
  }

  /** Continues a conversation with a remote agent, from the tasks that the agent stores. */
  async resume(contextId: string, kept: readonly KeptTurn[]): Promise<void> {
    this.contextId.value = contextId;
    const load = async (): Promise<void> => {
      try {
        for (const each of kept) {
          const number = this.turns.length;
          if ('message' in each) this.turns.push(turnOf(each, number + 1));
          else {
            const client = await this.#connected();
            this.turns.push(...turnsOfTask(await client.getTask(each.taskId), number));
          }
        }
        // Without tasks, the client is not connected yet.
        await this.#connected();
      } catch (error) {
        this.problem.value = reasonOf(error);
      }
      this.changed();
    };
    this.#loaded = load();
    await this.#loaded;
  }

  /** Loads the messages that arrived over other channels, unless a turn is in flight here. */
  async refresh(): Promise<void> {
    const contextId = this.contextId.peek();
    const isOwn = this.target.peek().own !== undefined;
    if (contextId === undefined || !isOwn || this.isBusy.peek()) return;
    await this.#load(contextId, this.owner.peek()?.key);
  }

  async #load(contextId: string, owner: string | undefined): Promise<void> {
    const { own } = this.target.peek();
    if (own === undefined) return;
    const isCurrent = (): boolean => this.contextId.peek() === contextId && !this.isBusy.peek();
    const before = this.turns.length;
    try {
      const query = owner === undefined ? '' : path`?owner=${owner}`;
      const view = await get<TranscriptView>(path`conversations/${contextId}` + query);
      if (!isCurrent() || this.turns.length !== before) return;
      const { welcome, turns } = historyOf(view);
      // Turns that were streamed have more details than the stored ones, so they are kept.
      this.turns.push(...turns.slice(before));
      this.welcome.value ??= welcome;
      this.owner.value = view.summary.owner;
      this.otherOwner.value = view.summary.isOwn ? undefined : view.summary.owner;
      // Signals only new turns: a user who reads earlier messages must not be notified of nothing.
      if (this.turns.length > before) this.changed();
    } catch (error) {
      // An unused context id starts a new conversation.
      if (isCurrent() && owner !== undefined) this.problem.value = reasonOf(error);
    }
  }

  /** Fetches the card, if there is one; then an assistant opens the conversation. */
  async connect(): Promise<void> {
    this.#open();
    try {
      await this.#connected();
      this.problem.value = '';
    } catch (error) {
      this.problem.value = reasonOf(error);
    }
  }

  /**
   * Starts the session of a new conversation with an assistant of this server, once; the assistant
   * responds with its welcome. For other agents, `/session_start` would be an ordinary message.
   */
  #open(): void {
    const { own } = this.target.peek();
    const isNew = this.turns.length === 0 && this.contextId.peek() === undefined;
    if (own === undefined || ownAgent(own)?.isAssistant !== true || !isNew) return;
    const contextId = crypto.randomUUID();
    const welcome = new TalkTurn(0, message('/session_start', { contextId }));
    const stopping = new AbortController();
    const { signal: stopped } = stopping;
    this.contextId.value = contextId;
    this.welcome.value = welcome;
    const ended = this.#run(welcome, stopped, (client) =>
      client.sendStreamingMessage({ message: welcome.message }, { signal: stopped }),
    );
    this.#opening = { stopping, ended };
  }

  /**
   * Sends a message as soon as the history is loaded, and follows its task to its end. Returns false
   * without sending it if the conversation is busy or read-only by then.
   */
  async say({ parts, metadata, shown }: Outgoing): Promise<boolean> {
    await this.#loaded;
    if (this.isBusy.peek() || this.otherOwner.peek() !== undefined) return false;
    const waiting = this.turns.at(-1);
    const contextId = this.contextId.peek();
    const taskId = waiting?.isWaiting === true ? waiting.taskId : undefined;
    const outgoing = message(parts, {
      ...(contextId !== undefined && { contextId }),
      ...(taskId !== undefined && { taskId }),
      ...(metadata !== undefined && { metadata }),
    });
    const turn = new TalkTurn(this.turns.length + 1, outgoing, shown);
    this.turns.push(turn);
    this.changed();
    await this.#follow(turn, async (client, stopped) => {
      const request = this.#requestOf(outgoing);
      await this.#opening?.ended;
      return this.sending.peek().streams
        ? client.sendStreamingMessage(request, { signal: stopped })
        : once(client.sendMessage(request, { signal: stopped }));
    });
    return true;
  }

  /** Resubscribes to the last task. */
  async resubscribe(): Promise<void> {
    const turn = this.turns.at(-1);
    if (turn?.taskId === undefined || this.isBusy.peek()) return;
    const { taskId } = turn;
    turn.isOpen = true;
    await this.#follow(turn, (client, stopped) =>
      client.subscribeToTask(taskId, { signal: stopped }),
    );
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
      this.problem.value = reasonOf(error);
    }
  }

  async #follow(
    turn: TalkTurn,
    open: (client: Client, stopped: AbortSignal) => Responses | Promise<Responses>,
  ): Promise<void> {
    const stopping = new AbortController();
    this.#stopping = stopping;
    this.isBusy.value = true;
    await this.#run(turn, stopping.signal, (client) => open(client, stopping.signal));
    if (this.turns.includes(turn)) this.contextId.value = turn.contextId ?? this.contextId.peek();
    this.isBusy.value = false;
  }

  /** Feeds a turn with the responses of the agent; errors after `stopped` are expected. */
  async #run(
    turn: TalkTurn,
    stopped: AbortSignal,
    open: (client: Client) => Responses | Promise<Responses>,
  ): Promise<void> {
    try {
      const client = await this.#connected();
      const slice = new TimeSlice();
      for await (const { response } of await open(client)) {
        turn.take(response);
        this.changed();
        await slice.yieldToBrowser();
      }
      turn.close();
    } catch (error) {
      turn.close(stopped.aborted ? '' : reasonOf(error));
    }
    this.changed();
  }

  #requestOf(outgoing: SendMessageRequest['message']): SendMessageRequest {
    const { pushUrl } = this.sending.peek();
    if (pushUrl === undefined) return { message: outgoing };
    return {
      message: outgoing,
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
    const client = await connectTo(target, {
      ...clientOptions(target),
      fetch,
      ...(about.peek()?.hasGrpc === true && { bindings: [grpcThroughServer(this.wire)] }),
    });
    const { protocolBinding, protocolVersion } = client.interface;
    this.card.value = client.card;
    this.interfaceInUse.value = `${protocolBinding} ${protocolVersion}`;
    const { binding } = target;
    // The client ignores a binding that the card doesn't list.
    if (binding !== 'auto' && binding !== protocolBinding) {
      this.interfaceInUse.value += ` (the card has no ${binding})`;
    }
    return client;
  }
}

async function* once<T>(answer: Promise<T>): AsyncGenerator<{ response: T }> {
  yield { response: await answer };
}
