/**
 * The internal model: A2A 1.x as plain JSON, spelled exactly as on the 1.x wire, so that encoding for a
 * 1.x peer is the identity. `dialects/` translates 0.3 at the boundary.
 *
 * Values of these types are immutable: create a new object to change one.
 */
/**
 * Any JSON value.
 * @example const value: JsonValue = { order: 4711, items: ['pen', 'ink'], paidAt: null };
 */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

/**
 * A JSON object.
 * @example const metadata: JsonObject = { 'https://example.com/extensions/priority/v1': { level: 2 } };
 */
export type JsonObject = { readonly [key: string]: JsonValue };

/**
 * All task states, in the order of the protocol's enum numbers.
 * @example for (const state of taskStates) console.log(state);
 */
export const taskStates = [
  'TASK_STATE_UNSPECIFIED',
  'TASK_STATE_SUBMITTED',
  'TASK_STATE_WORKING',
  'TASK_STATE_COMPLETED',
  'TASK_STATE_FAILED',
  'TASK_STATE_CANCELED',
  'TASK_STATE_INPUT_REQUIRED',
  'TASK_STATE_REJECTED',
  'TASK_STATE_AUTH_REQUIRED',
] as const;

/**
 * Listed in the order of the protocol's enum numbers.
 * @example
 * const state: TaskState = 'TASK_STATE_INPUT_REQUIRED'; // a message with the task's id continues it
 */
export type TaskState = (typeof taskStates)[number];

/**
 * All roles.
 * @example roles.includes('ROLE_USER');
 */
export const roles = ['ROLE_UNSPECIFIED', 'ROLE_USER', 'ROLE_AGENT'] as const;

/**
 * The sender of a message.
 * @example const role: Role = 'ROLE_AGENT'; // goes to 0.3 peers as 'agent'
 */
export type Role = (typeof roles)[number];

/**
 * Exactly one of `text`, `raw`, `url` and `data` is present; `data: null` counts as present.
 * @example
 * const parts: readonly Part[] = [
 *   { text: 'Here is your invoice.' },
 *   { raw: 'JVBERi0xLjc=', filename: 'invoice-17.pdf', mediaType: 'application/pdf' },
 *   { data: { total: 129.5, currency: 'EUR' } },
 * ];
 */
export interface Part {
  readonly text?: string;
  /** Base64, standard alphabet, padded. */
  readonly raw?: string;
  readonly url?: string;
  readonly data?: JsonValue;
  readonly metadata?: JsonObject;
  readonly filename?: string;
  readonly mediaType?: string;
}

/**
 * A message of a user or an agent.
 * @example
 * const answer: Message = {
 *   messageId: crypto.randomUUID(),
 *   taskId: task.id, // the task that asked
 *   role: 'ROLE_USER',
 *   parts: [{ text: 'Friday at eight' }],
 * };
 */
export interface Message {
  readonly messageId: string;
  readonly contextId?: string;
  readonly taskId?: string;
  readonly role: Role;
  readonly parts: readonly Part[];
  readonly metadata?: JsonObject;
  readonly extensions?: readonly string[];
  readonly referenceTaskIds?: readonly string[];
}

/**
 * A result of a task.
 * @example
 * const report: Artifact = {
 *   artifactId: 'report',
 *   name: 'sales-in-may.md',
 *   parts: [{ text: '# Sales in May', mediaType: 'text/markdown' }],
 * };
 */
export interface Artifact {
  readonly artifactId: string;
  readonly name?: string;
  readonly description?: string;
  readonly parts: readonly Part[];
  readonly metadata?: JsonObject;
  readonly extensions?: readonly string[];
}

/**
 * The state of a task, the time of its last change, and a message.
 * @example
 * const status: TaskStatus = { state: 'TASK_STATE_WORKING', timestamp: '2026-05-04T12:00:00.000Z' };
 */
export interface TaskStatus {
  readonly state: TaskState;
  readonly message?: Message;
  /** UTC, milliseconds, `Z`. */
  readonly timestamp?: string;
}

/**
 * The record of one or several turns: a status, results and messages.
 * @example
 * const task: Task = {
 *   id: 'task-17',
 *   contextId: 'trip-to-rome', // other tasks of the same conversation have it too
 *   status: { state: 'TASK_STATE_COMPLETED', timestamp: '2026-05-04T12:00:00.000Z' },
 *   artifacts: [{ artifactId: 'ticket', parts: [{ url: 'https://example.com/tickets/17.pdf' }] }],
 * };
 */
export interface Task {
  readonly id: string;
  readonly contextId: string;
  readonly status: TaskStatus;
  readonly artifacts?: readonly Artifact[];
  readonly history?: readonly Message[];
  readonly metadata?: JsonObject;
}

/**
 * The status of a task changed.
 * @example
 * const event: TaskStatusUpdateEvent = {
 *   taskId: 'task-17',
 *   contextId: 'trip-to-rome',
 *   status: { state: 'TASK_STATE_INPUT_REQUIRED', message: message('When?', { role: 'ROLE_AGENT' }) },
 * };
 */
export interface TaskStatusUpdateEvent {
  readonly taskId: string;
  readonly contextId: string;
  readonly status: TaskStatus;
  readonly metadata?: JsonObject;
}

/**
 * An artifact, or a chunk of one, was added.
 * @example
 * const piece: TaskArtifactUpdateEvent = {
 *   taskId: 'task-17',
 *   contextId: 'trip-to-rome',
 *   artifact: { artifactId: 'diary', parts: [{ text: ' and on to Naples.' }] },
 *   append: true, // continues where the last piece of `diary` ended
 * };
 */
export interface TaskArtifactUpdateEvent {
  readonly taskId: string;
  readonly contextId: string;
  readonly artifact: Artifact;
  readonly append?: boolean;
  readonly lastChunk?: boolean;
  readonly metadata?: JsonObject;
}

/**
 * One event of a stream: exactly one member.
 * @example
 * function show(response: StreamResponse): void {
 *   if ('artifactUpdate' in response) render(response.artifactUpdate.artifact.parts);
 *   else if ('statusUpdate' in response) announce(response.statusUpdate.status.state);
 * }
 */
export type StreamResponse =
  | { readonly task: Task }
  | { readonly message: Message }
  | { readonly statusUpdate: TaskStatusUpdateEvent }
  | { readonly artifactUpdate: TaskArtifactUpdateEvent };

/**
 * The credentials that the agent sends to a webhook.
 * @example
 * const info: AuthenticationInfo = { scheme: 'Bearer', credentials: process.env.HOOK_TOKEN ?? '' };
 */
export interface AuthenticationInfo {
  readonly scheme: string;
  readonly credentials?: string;
}

/**
 * A webhook of a task.
 * @example
 * const hook: TaskPushNotificationConfig = {
 *   taskId: 'task-17',
 *   url: 'https://example.com/hooks/a2a',
 *   token: crypto.randomUUID(), // comes back in the header X-A2A-Notification-Token
 * };
 */
export interface TaskPushNotificationConfig {
  readonly tenant?: string;
  readonly id?: string;
  readonly taskId?: string;
  readonly url: string;
  readonly token?: string;
  readonly authentication?: AuthenticationInfo;
}

/**
 * Whether a state is terminal: a task in a terminal state never changes again.
 * @example isTerminal('TASK_STATE_COMPLETED') // true
 */
export function isTerminal(state: TaskState): boolean {
  return (
    state === 'TASK_STATE_COMPLETED' ||
    state === 'TASK_STATE_FAILED' ||
    state === 'TASK_STATE_CANCELED' ||
    state === 'TASK_STATE_REJECTED'
  );
}

/**
 * Whether a state is interrupted: the task waits for the caller's next message.
 * @example isInterrupted('TASK_STATE_INPUT_REQUIRED') // true
 */
export function isInterrupted(state: TaskState): boolean {
  return state === 'TASK_STATE_INPUT_REQUIRED' || state === 'TASK_STATE_AUTH_REQUIRED';
}

/**
 * Whether a turn ends in a state: it is terminal or interrupted.
 * @example isTurnEnd('TASK_STATE_WORKING') // false
 */
export function isTurnEnd(state: TaskState): boolean {
  return isTerminal(state) || isInterrupted(state);
}
