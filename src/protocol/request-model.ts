/** The requests of the protocol, and the responses except tasks and cards. */
import type { JsonObject, Message, Task, TaskPushNotificationConfig, TaskState } from './model.ts';

/**
 * The response to a message: exactly one member.
 * @example
 * const answer: SendMessageResponse = await client.sendMessage('Two tickets to Rome');
 * if ('task' in answer) await client.waitForEnd(answer.task.id);
 * else console.log(answer.message.parts);
 */
export type SendMessageResponse = { readonly task: Task } | { readonly message: Message };

/**
 * How the agent answers a message.
 * @example
 * const configuration: SendMessageConfiguration = {
 *   acceptedOutputModes: ['text/plain', 'image/png'],
 *   returnImmediately: true, // with the submitted task, to be polled later
 * };
 */
export interface SendMessageConfiguration {
  readonly acceptedOutputModes?: readonly string[];
  readonly taskPushNotificationConfig?: TaskPushNotificationConfig;
  /** The number of messages. @default all; 0 for none */
  readonly historyLength?: number;
  readonly returnImmediately?: boolean;
}

/**
 * A message to an agent.
 * @example
 * const request: SendMessageRequest = {
 *   message: message('Two tickets to Rome', { contextId: 'trip-to-rome' }),
 *   configuration: { historyLength: 0 },
 * };
 */
export interface SendMessageRequest {
  readonly tenant?: string;
  readonly message: Message;
  readonly configuration?: SendMessageConfiguration;
  readonly metadata?: JsonObject;
}

/**
 * Requests the current state of a task.
 * @example const request: GetTaskRequest = { id: 'task-17', historyLength: 5 }; // the last five messages
 */
export interface GetTaskRequest {
  readonly tenant?: string;
  readonly id: string;
  readonly historyLength?: number;
}

/**
 * Requests a page of tasks.
 * @example const stalled: ListTasksRequest = { status: 'TASK_STATE_INPUT_REQUIRED', pageSize: 100 };
 */
export interface ListTasksRequest {
  readonly tenant?: string;
  readonly contextId?: string;
  readonly status?: TaskState;
  /** 1 to 100, 50 when unset. */
  readonly pageSize?: number;
  readonly pageToken?: string;
  readonly historyLength?: number;
  /** Inclusive, despite its name. */
  readonly statusTimestampAfter?: string;
  readonly includeArtifacts?: boolean;
}

/**
 * A page of tasks.
 * @example
 * const page: ListTasksResponse = await client.listTasks({ contextId: 'trip-to-rome' });
 * console.log(`${page.tasks.length} of ${page.totalSize}`);
 */
export interface ListTasksResponse {
  readonly tasks: readonly Task[];
  /** Empty on the last page. */
  readonly nextPageToken: string;
  readonly pageSize: number;
  readonly totalSize: number;
}

/**
 * Requests the cancellation of a task.
 * @example const request: CancelTaskRequest = { id: 'task-17', metadata: { reason: 'the trip is off' } };
 */
export interface CancelTaskRequest {
  readonly tenant?: string;
  readonly id: string;
  readonly metadata?: JsonObject;
}

/**
 * Subscribes to the events of a task.
 * @example const request: SubscribeToTaskRequest = { id: 'task-17' }; // refused once the task has ended
 */
export interface SubscribeToTaskRequest {
  readonly tenant?: string;
  readonly id: string;
}

/**
 * Requests one webhook.
 * @example const request: GetTaskPushNotificationConfigRequest = { taskId: 'task-17', id: 'hook-1' };
 */
export interface GetTaskPushNotificationConfigRequest {
  readonly tenant?: string;
  readonly taskId: string;
  /** 0.3 clients can omit it to get the only configuration of the task. */
  readonly id?: string;
}

/**
 * Requests the webhooks of a task.
 * @example const request: ListTaskPushNotificationConfigsRequest = { taskId: 'task-17', pageSize: 20 };
 */
export interface ListTaskPushNotificationConfigsRequest {
  readonly tenant?: string;
  readonly taskId: string;
  readonly pageSize?: number;
  readonly pageToken?: string;
}

/**
 * A page of webhooks.
 * @example
 * function hostsOf(page: ListTaskPushNotificationConfigsResponse): readonly string[] {
 *   return page.configs.map(({ url }) => new URL(url).host);
 * }
 */
export interface ListTaskPushNotificationConfigsResponse {
  readonly configs: readonly TaskPushNotificationConfig[];
  readonly nextPageToken: string;
}

/**
 * Deletes a webhook.
 * @example const request: DeleteTaskPushNotificationConfigRequest = { taskId: 'task-17', id: 'hook-1' };
 */
export interface DeleteTaskPushNotificationConfigRequest {
  readonly tenant?: string;
  readonly taskId: string;
  readonly id: string;
}

/**
 * Requests the extended card, which is for authenticated callers.
 * @example const request: GetExtendedAgentCardRequest = { tenant: 'acme' };
 */
export interface GetExtendedAgentCardRequest {
  readonly tenant?: string;
}
