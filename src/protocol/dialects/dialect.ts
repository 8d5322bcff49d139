import type { AgentCard } from '../card-model.ts';
import type { Message, StreamResponse, Task, TaskPushNotificationConfig } from '../model.ts';
import type {
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
  SubscribeToTaskRequest,
} from '../request-model.ts';
import type { DecodeOptions } from '../decode/options.ts';

/**
 * One kind of object on one wire. `decode` accepts any value, and returns a valid one or throws
 * `INVALID_PARAMS` with the paths of the invalid fields. `decode(encode(x))` equals `x` except for the
 * losses that the dialect documents.
 */
export interface Codec<T> {
  decode(wire: unknown, options?: DecodeOptions): T;
  encode(value: T): unknown;
}

/**
 * How one protocol version spells the model in JSON. A server decodes requests and encodes responses, a
 * client the other way round. Code outside `dialects/` doesn't depend on the version.
 */
export interface Dialect {
  /** `Major.Minor`, as in the `A2A-Version` header. */
  readonly version: '1.0' | '0.3';

  readonly message: Codec<Message>;
  readonly task: Codec<Task>;
  readonly sendMessageResponse: Codec<SendMessageResponse>;
  readonly streamResponse: {
    decode(wire: unknown, options?: DecodeOptions): StreamResponse;
    /** `final`: the stream closes after this event (0.3 sends this flag, 1.x doesn't). */
    encode(value: StreamResponse, final: boolean): unknown;
  };
  readonly agentCard: Codec<AgentCard>;

  readonly sendMessageRequest: Codec<SendMessageRequest>;
  readonly getTaskRequest: Codec<GetTaskRequest>;
  readonly listTasksRequest: Codec<ListTasksRequest>;
  readonly listTasksResponse: Codec<ListTasksResponse>;
  readonly cancelTaskRequest: Codec<CancelTaskRequest>;
  readonly subscribeToTaskRequest: Codec<SubscribeToTaskRequest>;
  readonly taskPushNotificationConfig: Codec<TaskPushNotificationConfig>;
  readonly getTaskPushNotificationConfigRequest: Codec<GetTaskPushNotificationConfigRequest>;
  readonly listTaskPushNotificationConfigsRequest: Codec<ListTaskPushNotificationConfigsRequest>;
  readonly listTaskPushNotificationConfigsResponse: Codec<ListTaskPushNotificationConfigsResponse>;
  readonly deleteTaskPushNotificationConfigRequest: Codec<DeleteTaskPushNotificationConfigRequest>;
  readonly getExtendedAgentCardRequest: Codec<GetExtendedAgentCardRequest>;
}
