import {
  type AgentCard,
  type AgentInterface,
  AnswerStream,
  type CancelTaskRequest,
  checkOptions,
  type DeleteTaskPushNotificationConfigRequest,
  type GetTaskPushNotificationConfigRequest,
  type GetTaskRequest,
  LegateError,
  type ListTaskPushNotificationConfigsRequest,
  type ListTaskPushNotificationConfigsResponse,
  type ListTasksRequest,
  type ListTasksResponse,
  type Message,
  type SendMessageRequest,
  type SendMessageResponse,
  type Task,
  type TaskPushNotificationConfig,
} from '../protocol/index.ts';
import { within } from '../time/index.ts';
import { type Answer, ask, askStreaming } from './ask.ts';
import { CancelOnAbort } from './cancel-on-abort.ts';
import { type FetchedCard, refetchCard } from './card.ts';
import { Delivery } from './delivery.ts';
import type { Http } from './http.ts';
import {
  callOptionNames,
  type CallOptions,
  type SendOptions,
  sendCallNames,
  sendStreamNames,
  type Settings,
  type StreamOptions,
  streamOptionNames,
} from './options.ts';
import { Peer, type Sendable, toRequest } from './peer.ts';
import { timeLimit, withRetry } from './retry.ts';
import { awaiting, sending, subscribing, TaskFollower, type TaskOpening } from './stream.ts';
import type {
  CallOperation,
  Exchanges,
  StreamEvent,
  Transport,
  TransportCall,
} from './transport.ts';

/** The parts of a client; `connect` assembles them. */
export interface ClientParts {
  readonly settings: Settings;
  readonly http: Http;
  readonly card: AgentCard;
  /** The fetched card; absent if the caller passed a card. */
  readonly fetched?: FetchedCard;
  /** Creates the transport for the best interface of a card. */
  readonly transportFor: (card: AgentCard) => Transport;
}

/**
 * Calls one agent in any binding and version. Created by `connect`.
 * @example
 * const client = await connect('https://agent.example')
 * for await (const { response } of client.sendStreamingMessage('Hello')) console.log(response)
 */
export class Client implements AsyncDisposable {
  readonly #parts: ClientParts;
  /** Replaced as a whole: a call in flight keeps the peer that it started with. */
  #peer: Peer;
  #fetched: FetchedCard | undefined;
  readonly #cancelOnAbort = new CancelOnAbort();

  constructor(parts: ClientParts) {
    this.#parts = parts;
    this.#peer = new Peer(parts.settings, parts.transportFor(parts.card), parts.card);
    this.#fetched = parts.fetched;
  }

  get card(): AgentCard {
    return this.#peer.card;
  }

  /** The interface in use. */
  get interface(): AgentInterface {
    return this.#peer.transport.interface;
  }

  /**
   * Sends a message and waits for the answer: text, data and files, or a question. Rejects if the task
   * fails, is rejected or is cancelled.
   */
  async ask(input: Sendable, options: StreamOptions & SendOptions = {}): Promise<Answer> {
    checkOptions('client.ask', options, sendStreamNames);
    return ask(this, input, options);
  }

  /** Sends a message and streams the text of its answer. */
  stream(input: Sendable, options: StreamOptions & SendOptions = {}): AnswerStream<Answer> {
    checkOptions('client.stream', options, sendStreamNames);
    return new AnswerStream(askStreaming(this, input, options));
  }

  /** Sends a message and returns the agent's response: a plain message, or a task. */
  async sendMessage(
    input: Sendable,
    options: CallOptions & SendOptions = {},
  ): Promise<SendMessageResponse> {
    checkOptions('client.sendMessage', options, sendCallNames);
    const { contextId, taskId, ...rest } = options;
    const request = toRequest(input, { contextId, taskId });
    return this.#within('sendMessage', rest, (call) => this.#peer.send(request, call));
  }

  /**
   * Sends a message and streams the events of its task, resuming broken connections. Polls the task
   * if the agent doesn't stream.
   */
  sendStreamingMessage(
    input: Sendable,
    options: StreamOptions & SendOptions = {},
  ): AsyncGenerator<StreamEvent, void> {
    checkOptions('client.sendStreamingMessage', options, sendStreamNames);
    return this.#send(toRequest(input, options), options).events();
  }

  /** Sends a message and waits until its task is terminal or interrupted. */
  async sendAndWait(
    input: Sendable,
    options: StreamOptions & SendOptions = {},
  ): Promise<SendMessageResponse> {
    checkOptions('client.sendAndWait', options, sendStreamNames);
    return this.#send(toRequest(input, options), options).result();
  }

  getTask(request: string | GetTaskRequest, options: CallOptions = {}): Promise<Task> {
    return this.#call('getTask', byId(request), options);
  }

  /** One page of the caller's tasks, the newest first. */
  listTasks(request: ListTasksRequest = {}, options: CallOptions = {}): Promise<ListTasksResponse> {
    return this.#call('listTasks', request, options);
  }

  /** All tasks of all pages; each page is fetched on demand. */
  async *listAllTasks(
    request: ListTasksRequest = {},
    options: CallOptions = {},
  ): AsyncGenerator<Task, void> {
    for (let page = request; ;) {
      const { tasks, nextPageToken } = await this.listTasks(page, options);
      yield* tasks;
      if (nextPageToken === '') return;
      if (nextPageToken === page.pageToken) {
        throw new LegateError('PEER_INVALID', 'the peer gave the same page of tasks twice');
      }
      page = { ...request, pageToken: nextPageToken };
    }
  }

  /** The task of a message, searched in the caller's newest tasks. The context narrows the search. */
  findTask(
    sent: Pick<Message, 'messageId' | 'contextId'>,
    options: CallOptions = {},
  ): Promise<Task | undefined> {
    return this.#within('listTasks', options, (call) => this.#peer.findTask(sent, call));
  }

  cancelTask(request: string | CancelTaskRequest, options: CallOptions = {}): Promise<Task> {
    return this.#call('cancelTask', byId(request), options);
  }

  /** Follows an existing task: a snapshot first, then its events. */
  subscribeToTask(taskId: string, options: StreamOptions = {}): AsyncGenerator<StreamEvent, void> {
    checkOptions('client.subscribeToTask', options, streamOptionNames);
    const { lastEventId } = options;
    const delivery = new Delivery({
      until: 'task',
      ...(lastEventId !== undefined && { lastEventId }),
    });
    return this.#follow(subscribing(this.#peer, taskId), delivery, options).events();
  }

  /** Like `subscribeToTask`, but yields a task that has already ended instead of throwing. */
  followTask(taskId: string, options: StreamOptions = {}): AsyncGenerator<StreamEvent, void> {
    return this.#await('followTask', taskId, options).events();
  }

  /** Waits until a task is terminal or interrupted; returns at once if it already is. */
  async waitForEnd(taskId: string, options: StreamOptions = {}): Promise<Task> {
    const result = await this.#await('waitForEnd', taskId, options).result();
    if ('task' in result) return result.task;
    throw new LegateError('PEER_INVALID', `the peer answered with a message about task ${taskId}`);
  }

  /** Registers a webhook. Retried only if it has an id, to prevent duplicates. */
  createTaskPushNotificationConfig(
    config: TaskPushNotificationConfig,
    options: CallOptions = {},
  ): Promise<TaskPushNotificationConfig> {
    return this.#call('createTaskPushNotificationConfig', config, options, config.id !== undefined);
  }

  getTaskPushNotificationConfig(
    request: GetTaskPushNotificationConfigRequest,
    options: CallOptions = {},
  ): Promise<TaskPushNotificationConfig> {
    return this.#call('getTaskPushNotificationConfig', request, options);
  }

  listTaskPushNotificationConfigs(
    request: ListTaskPushNotificationConfigsRequest,
    options: CallOptions = {},
  ): Promise<ListTaskPushNotificationConfigsResponse> {
    return this.#call('listTaskPushNotificationConfigs', request, options);
  }

  deleteTaskPushNotificationConfig(
    request: DeleteTaskPushNotificationConfigRequest,
    options: CallOptions = {},
  ): Promise<void> {
    return this.#call('deleteTaskPushNotificationConfig', request, options);
  }

  /**
   * The card for authenticated callers. The client uses it instead of the public card from then on
   * (13.3).
   */
  async getExtendedAgentCard(options: CallOptions = {}): Promise<AgentCard> {
    const card = await this.#call('getExtendedAgentCard', {}, options);
    this.#peer = new Peer(this.#parts.settings, this.#peer.transport, card);
    return card;
  }

  /**
   * Fetches the card again and switches to its interfaces. A card that was passed to `connect` is kept.
   */
  async refreshCard(options: CallOptions = {}): Promise<AgentCard> {
    const { settings, http, transportFor } = this.#parts;
    const known = this.#fetched;
    if (known === undefined) return this.card;
    const fetched = await this.#within('card', options, (call) =>
      withRetry(settings, call.signal, () => refetchCard(known, http, call)),
    );
    if (fetched !== known) {
      const { transport: former } = this.#peer;
      this.#peer = new Peer(settings, transportFor(fetched.card), fetched.card);
      this.#fetched = fetched;
      former.close?.();
    }
    return this.card;
  }

  /**
   * Closes the connections of its bindings when the calls in flight have ended; the runtime manages HTTP
   * connections. Waits at most `graceMs` (@default 5_000) for `cancelOnAbort` to cancel tasks. A later
   * call opens new connections.
   */
  async close({ graceMs = 5_000 }: { readonly graceMs?: number } = {}): Promise<void> {
    await this.#cancelOnAbort.end(graceMs);
    this.#peer.transport.close?.();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #call<O extends CallOperation>(
    operation: O,
    request: Exchanges[O][0],
    options: CallOptions,
    isRepeatable = true,
  ): Promise<Exchanges[O][1]> {
    return this.#within(operation, options, (call) =>
      this.#peer.call(operation, request, call, isRepeatable),
    );
  }

  #send(request: SendMessageRequest, options: StreamOptions): TaskFollower {
    const { messageId, taskId } = request.message;
    const delivery = new Delivery({ until: 'turn', messageId, isAnswer: taskId !== undefined });
    return this.#follow(sending(this.#peer, request, this.#cancelOnAbort), delivery, options);
  }

  #await(method: string, taskId: string, options: StreamOptions): TaskFollower {
    checkOptions(`client.${method}`, options, streamOptionNames);
    return this.#follow(awaiting(this.#peer, taskId), new Delivery({ until: 'task' }), options);
  }

  #follow(opening: TaskOpening, delivery: Delivery, options: StreamOptions): TaskFollower {
    return new TaskFollower(this.#peer, opening, delivery, options);
  }

  async #within<T>(
    operation: string,
    options: CallOptions,
    run: (call: TransportCall) => Promise<T>,
  ): Promise<T> {
    checkOptions(`client.${operation}`, options, callOptionNames);
    const { timeoutMs = this.#parts.settings.timeoutMs, signal, headers } = options;
    const { settings } = this.#parts;
    const limit = timeLimit(
      `${operation} at ${originOf(this.interface)} was not answered`,
      timeoutMs,
    );
    const deadline = timeoutMs > 0 ? settings.clock.now() + timeoutMs : undefined;
    return within({ signal, ...limit }, (signal) => run({ signal, headers, deadline }));
  }
}

/** The origin of an interface, for messages. Addresses of custom bindings can be other than URLs. */
function originOf({ url }: AgentInterface): string {
  return /^https?:/i.test(url) ? new URL(url).origin : url;
}

function byId<R extends { readonly id: string }>(request: string | R): R | { id: string } {
  return typeof request === 'string' ? { id: request } : request;
}
