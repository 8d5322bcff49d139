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

/** What each operation takes, and what it answers: once, or as often as its stream has events. */
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
 * An operation that is answered by a stream.
 * @example const operation: StreamOperation = taskId === '' ? 'sendStreamingMessage' : 'subscribeToTask';
 */
export type StreamOperation = 'sendStreamingMessage' | 'subscribeToTask';
/**
 * An operation that is answered once.
 * @example const harmless: readonly CallOperation[] = ['getTask', 'listTasks', 'getExtendedAgentCard'];
 */
export type CallOperation = Exclude<keyof Exchanges, StreamOperation>;

export interface TransportCall {
  readonly signal?: AbortSignal | undefined;
  /** Aborted, it keeps a request from leaving that has not left; one that has is not touched. */
  readonly sendUntil?: AbortSignal | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** When nobody waits any more, by the client's clock: for bindings that tell the peer. */
  readonly deadline?: number | undefined;
}

export interface TransportStream extends TransportCall {
  readonly lastEventId?: string | undefined;
  /** Told of every sign of life, keep-alive comments included. */
  readonly onActivity?: () => void;
}

/**
 * One event of a stream, with the number it has in the task's log where the peer tells.
 * @example
 * const stateIn = ({ response }: StreamEvent) =>
 *   'statusUpdate' in response ? response.statusUpdate.status.state : undefined;
 */
export interface StreamEvent {
  readonly response: StreamResponse;
  /** The event's id, to continue after it with `lastEventId`. */
  readonly id?: string;
  /** The id as a number, where it is one. */
  readonly sequence?: number;
}

/** An event as it came: `isFinal` where the peer says that its stream closes after it. */
export interface Frame extends StreamEvent {
  readonly isFinal?: boolean;
}

/**
 * One binding in one version. Makes each request once: repeating, resuming and waiting is the
 * client's business. Rejects with the error that the peer sent, `PEER_UNREACHABLE` where there was
 * no answer, `PEER_INVALID` where it was not A2A.
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
  /** Lets go of connections that are its own; a later call makes others. */
  close?(): void;
}
