import {
  type AgentCard,
  invalidParams,
  type ListTasksRequest,
  type Message,
  message,
  type SendMessageRequest,
  type SendMessageResponse,
  type SubscribeToTaskRequest,
  type Task,
} from '../protocol/index.ts';
import { type InFlightMessage, taskInFlight } from './cancel-on-abort.ts';
import type { SendOptions, Settings } from './options.ts';
import { withRetry } from './retry.ts';
import type {
  CallOperation,
  Exchanges,
  Frame,
  Transport,
  TransportCall,
  TransportStream,
} from './transport.ts';

/** Pages searched for a message that was just sent: its task is one of the newest. */
const MAX_PAGES_SEARCHED = 3;

/** The agent of one client. Adds the tenant to every call, and retries calls where that is safe. */
export class Peer {
  readonly settings: Settings;
  readonly transport: Transport;
  readonly card: AgentCard;

  constructor(settings: Settings, transport: Transport, card: AgentCard) {
    this.settings = settings;
    this.transport = transport;
    this.card = card;
  }

  get streams(): boolean {
    return this.card.capabilities.streaming === true;
  }

  call<O extends CallOperation>(
    operation: O,
    request: Exchanges[O][0],
    call: TransportCall,
    isRepeatable = true,
  ): Promise<Exchanges[O][1]> {
    const run = () => this.transport.call(operation, this.#addressed(request), call);
    return isRepeatable ? withRetry(this.settings, call.signal, run) : run();
  }

  getTask(id: string, call: TransportCall): Promise<Task> {
    return this.call('getTask', { id }, call);
  }

  /** Searches the newest tasks that the peer lists for one with the message in its history. */
  async findTask(
    { messageId, contextId }: Pick<Message, 'messageId' | 'contextId'>,
    call: TransportCall,
  ): Promise<Task | undefined> {
    let page: ListTasksRequest = { pageSize: 20, historyLength: 20 };
    if (contextId !== undefined) page = { ...page, contextId };
    for (let pages = 0; pages < MAX_PAGES_SEARCHED; pages += 1) {
      const { tasks, nextPageToken } = await this.call('listTasks', page, call);
      const task = tasks.find(({ history = [] }) =>
        history.some((message) => message.messageId === messageId),
      );
      if (task !== undefined || nextPageToken === '') return task;
      page = { ...page, pageToken: nextPageToken };
    }
    return undefined;
  }

  /** Retries have the same message id, by which peers deduplicate them. */
  send(
    request: SendMessageRequest,
    call: TransportCall,
    inFlight?: InFlightMessage,
  ): Promise<SendMessageResponse> {
    const keyed = withKey(request, call);
    const send = (each: TransportCall) =>
      this.transport.call('sendMessage', this.#addressed(request), each);
    return withRetry(this.settings, call.signal, async () => {
      try {
        return await (inFlight === undefined ? send(keyed) : inFlight.call(keyed, send));
      } catch (error) {
        const taskId = taskInFlight(error);
        if (taskId === undefined || request.configuration?.returnImmediately !== true) throw error;
        return { task: await this.getTask(taskId, call) };
      }
    });
  }

  sendStreaming(
    request: SendMessageRequest,
    call: TransportStream,
    inFlight?: InFlightMessage,
  ): Promise<AsyncIterable<Frame>> {
    const keyed = withKey(request, call);
    const send = (each: TransportStream) =>
      this.transport.stream('sendStreamingMessage', this.#addressed(request), each);
    return withRetry(this.settings, call.signal, async () => {
      try {
        return await (inFlight === undefined ? send(keyed) : inFlight.stream(keyed, send));
      } catch (error) {
        const taskId = taskInFlight(error);
        if (taskId === undefined) throw error;
        // If subscribing fails, the task has ended: a retry of the message returns it.
        return this.subscribe(taskId, call).catch(() => {
          throw error;
        });
      }
    });
  }

  /** Doesn't retry: `TaskFollower` counts its own attempts. */
  subscribe(id: string, call: TransportStream): Promise<AsyncIterable<Frame>> {
    return this.transport.stream(
      'subscribeToTask',
      this.#addressed<SubscribeToTaskRequest>({ id }),
      call,
    );
  }

  /** Sets the tenant of the card's interface, or removes the tenant (8.3.2). */
  #addressed<R extends { tenant?: string }>(request: R): R {
    const { tenant } = this.transport.interface;
    if (tenant !== undefined) return { ...request, tenant };
    const withoutTenant = { ...request };
    delete withoutTenant.tenant;
    return withoutTenant;
  }
}

/** A key that the caller sets overrides the generated one. */
function withKey<C extends TransportCall>(request: SendMessageRequest, call: C): C {
  const given = Object.keys(call.headers ?? {}).map((name) => name.toLowerCase());
  if (given.includes('idempotency-key')) return call;
  return { ...call, headers: { ...idempotencyHeaders(request), ...call.headers } };
}

/**
 * The input of `sendMessage`: a text, a message, or a whole request.
 * @example
 * const question: Sendable = {
 *   message: message('Paint a sunset'),
 *   configuration: { acceptedOutputModes: ['image/png'], returnImmediately: true },
 * };
 */
export type Sendable = string | Message | SendMessageRequest;

/** Converts the input to a request in the conversation and task of the options. */
export function toRequest(
  input: Sendable,
  { contextId, taskId }: SendOptions = {},
): SendMessageRequest {
  const request = requestOf(input);
  if (contextId === undefined && taskId === undefined) return request;
  const wanted = {
    ...(contextId !== undefined && { contextId }),
    ...(taskId !== undefined && { taskId }),
  };
  for (const [name, id] of Object.entries(wanted)) {
    const own = name === 'taskId' ? request.message.taskId : request.message.contextId;
    if (own !== undefined && own !== id) {
      const description = `the message has ${own}, and the options say ${id}; give one of them`;
      throw invalidParams({ field: `message.${name}`, description });
    }
  }
  return { ...request, message: { ...request.message, ...wanted } };
}

function requestOf(input: Sendable): SendMessageRequest {
  if (typeof input === 'string') return { message: message(input) };
  return 'message' in input ? input : { message: input };
}

/** The longest key that servers accept, in characters. */
const maxKeyLength = 256;

/**
 * The `Idempotency-Key` of a message: the same for every attempt to send it. By ids alone, servers can't
 * distinguish the first messages of anonymous callers, so they deduplicate them by this key.
 */
export function idempotencyHeaders(request: SendMessageRequest): Record<string, string> {
  const { messageId } = request.message;
  const isHeaderValue = /^[\x21-\x7e]+$/.test(messageId);
  const key = isHeaderValue ? messageId : encodeURIComponent(messageId.toWellFormed());
  // Servers deduplicate by the message id as well, so truncating the key is safe.
  return { 'Idempotency-Key': key.slice(0, maxKeyLength) };
}
