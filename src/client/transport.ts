import type {
  AgentCard,
  AgentInterface,
  CancelTaskRequest,
  DeleteTaskPushNotificationConfigRequest,
  GetExtendedAgentCardRequest,
  GetTaskPushNotificationConfigRequest,
  GetTaskRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsResponse,
  ListTasksRequest,
  ListTasksResponse,
  SendMessageRequest,
  SendMessageResponse,
  StreamResponse,
  SubscribeToTaskRequest,
  Task,
  TaskPushNotificationConfig,
} from '../protocol/index.ts';

/** Request and response of each operation; a stream has one response per event. */
export interface Exchanges {
  sendMessage: [SendMessageRequest, SendMessageResponse];
  sendStreamingMessage: [SendMessageRequest, StreamResponse];
  getTask: [GetTaskRequest, Task];
  listTasks: [ListTasksRequest, ListTasksResponse];
  cancelTask: [CancelTaskRequest, Task];
  subscribeToTask: [SubscribeToTaskRequest, StreamResponse];
  createTaskPushNotificationConfig: [TaskPushNotificationConfig, TaskPushNotificationConfig];
  getTaskPushNotificationConfig: [GetTaskPushNotificationConfigRequest, TaskPushNotificationConfig];
  listTaskPushNotificationConfigs: [
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
  ];
  deleteTaskPushNotificationConfig: [DeleteTaskPushNotificationConfigRequest, void];
  getExtendedAgentCard: [GetExtendedAgentCardRequest, AgentCard];
}
/**
 * An operation with a stream of responses.
 * @example const operation: StreamOperation = taskId === '' ? 'sendStreamingMessage' : 'subscribeToTask';
 */
export type StreamOperation = 'sendStreamingMessage' | 'subscribeToTask';
/**
 * An operation with one response.
 * @example const harmless: readonly CallOperation[] = ['getTask', 'listTasks', 'getExtendedAgentCard'];
 */
export type CallOperation = Exclude<keyof Exchanges, StreamOperation>;

export interface TransportCall {
  readonly signal?: AbortSignal | undefined;
  /** Aborting it prevents a request that is not sent yet; a request in flight continues. */
  readonly sendUntil?: AbortSignal | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * When the caller stops waiting, by the client's clock, for bindings that send deadlines to the peer.
   */
  readonly deadline?: number | undefined;
}

export interface TransportStream extends TransportCall {
  readonly lastEventId?: string | undefined;
  /** Called whenever bytes arrive, keep-alive comments included. */
  readonly onActivity?: () => void;
}

/**
 * One event of a stream, with its sequence number in the task's log if the peer sends it.
 * @example
 * const stateIn = ({ response }: StreamEvent) =>
 *   'statusUpdate' in response ? response.statusUpdate.status.state : undefined;
 */
export interface StreamEvent {
  readonly response: StreamResponse;
  /** The event's id; pass it as `lastEventId` to continue after the event. */
  readonly id?: string;
  /** The id as a number, if it is numeric. */
  readonly sequence?: number;
}

/** A received event; `isFinal` if the peer announces that the stream closes after it. */
export interface Frame extends StreamEvent {
  readonly isFinal?: boolean;
}

/**
 * One binding in one version. Sends each request once: the client retries, resumes and waits. Rejects
 * with the peer's error, `PEER_UNREACHABLE` without a response, or `PEER_INVALID` if the response is not
 * A2A.
 */
export interface Transport {
  readonly interface: AgentInterface;
  call<O extends CallOperation>(
    operation: O,
    request: Exchanges[O][0],
    call: TransportCall,
  ): Promise<Exchanges[O][1]>;
  /** Resolves when the stream is open. */
  stream<O extends StreamOperation>(
    operation: O,
    request: Exchanges[O][0],
    call: TransportStream,
  ): Promise<AsyncIterable<Frame>>;
  /** Closes its own connections; a later call opens new ones. */
  close?(): void;
}
