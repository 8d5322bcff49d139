import { signal, type Signal } from '@preact/signals';
import { type Client, connect } from '../../../src/client/index.ts';
import {
  type AgentCard,
  message,
  type Part,
  type SendMessageRequest,
  type StreamResponse,
} from '../../../src/protocol/index.ts';
import { ownAgent } from '../api/about.ts';
import { agentFetch, allowAgent } from '../api/agent-fetch.ts';
import { reasonOf } from '../api/api.ts';
import { Changes, TimeSlice } from '../api/changes.ts';
import { recordingFetch, WireLog } from '../wire/wire-log.ts';
import {
  clientOptions,
  foreignTarget,
  ownCard,
  ownTarget,
  secretsOf,
  type Target,
} from './target.ts';
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
   * Starts the session of a new conversation with an assistant of this server, once: it answers with its
   * welcome. For any other agent `/session_start` would be an ordinary message.
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

  async say({ parts, metadata, shown }: Outgoing): Promise<void> {
    if (this.isBusy.peek()) return;
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
    const known = target.own === undefined ? undefined : ownCard(target.own);
    if (known === undefined) await allowAgent(target.url);
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

/** The conversations of this page, side by side. */
export const talks: Signal<readonly TalkConversation[]> = signal([]);
/** The number of the selected conversation, which the panel shows. */
export const currentNumber: Signal<number> = signal(0);
let count = 0;

/** Starts a conversation, by default with the server's own agent. */
export function startTalk(target?: Target): TalkConversation {
  count += 1;
  const own = ownAgent();
  const chosen = target ?? (own === undefined ? foreignTarget('') : ownTarget(own.name));
  const talk = new TalkConversation(count, chosen);
  talks.value = [...talks.peek(), talk];
  currentNumber.value = talk.number;
  if (chosen.own !== undefined || chosen.url !== '') void talk.connect();
  return talk;
}

export function endTalk(talk: TalkConversation): void {
  talk.leave();
  talks.value = talks.peek().filter((one) => one !== talk);
  if (currentNumber.peek() === talk.number) currentNumber.value = talks.peek().at(-1)?.number ?? 0;
}
