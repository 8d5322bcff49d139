/**
 * The internal model: A2A 1.x as plain JSON, spelled exactly as on the 1.x wire, so that
 * encoding for a 1.x peer is the identity. 0.3 is translated at the edge (`dialects/v03`).
 *
 * Values of these types are immutable once made: whoever needs another value makes another object.
 */

/**
 * Anything that JSON can say.
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
 * An object of JSON.
 * @example const metadata: JsonObject = { 'https://example.com/extensions/priority/v1': { level: 2 } };
 */
export type JsonObject = { readonly [key: string]: JsonValue };

/**
 * All states that a task can have.
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
 * All roles there are.
 * @example roles.includes('ROLE_USER');
 */
export const roles = ['ROLE_UNSPECIFIED', 'ROLE_USER', 'ROLE_AGENT'] as const;
/**
 * Who said a message.
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
 * Something that a user or an agent said.
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
 * The state of a task, since when, and what was said with it.
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
 * The record of one or several turns: a status, results, and what was said.
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
 * A task has another status.
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
 * An artifact, or a piece of one, has come.
 * @example
 * const piece: TaskArtifactUpdateEvent = {
 *   taskId: 'task-17',
 *   contextId: 'trip-to-rome',
 *   artifact: { artifactId: 'diary', parts: [{ text: ' and on to Naples.' }] },
 *   append: true, // goes on where the last piece of `diary` ended
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
 * What a stream carries: exactly one member.
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
 * What a send answers: exactly one member.
 * @example
 * const answer: SendMessageResponse = await client.sendMessage('Two tickets to Rome');
 * if ('task' in answer) await client.waitForEnd(answer.task.id);
 * else console.log(answer.message.parts);
 */
export type SendMessageResponse = { readonly task: Task } | { readonly message: Message };

/**
 * How we show a webhook who we are.
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
 * How the answer to a message shall come.
 * @example
 * const configuration: SendMessageConfiguration = {
 *   acceptedOutputModes: ['text/plain', 'image/png'],
 *   returnImmediately: true, // with the task as it begins, to be asked for later
 * };
 */
export interface SendMessageConfiguration {
  readonly acceptedOutputModes?: readonly string[];
  readonly taskPushNotificationConfig?: TaskPushNotificationConfig;
  /** Unset: all of it. 0: none. */
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
 * Asks for a task as it is.
 * @example const request: GetTaskRequest = { id: 'task-17', historyLength: 5 }; // the last five messages
 */
export interface GetTaskRequest {
  readonly tenant?: string;
  readonly id: string;
  readonly historyLength?: number;
}

/**
 * Asks for tasks, page by page.
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
  /** Inclusive, in spite of its name. */
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
 * Asks for an end of a task.
 * @example const request: CancelTaskRequest = { id: 'task-17', metadata: { reason: 'the trip is off' } };
 */
export interface CancelTaskRequest {
  readonly tenant?: string;
  readonly id: string;
  readonly metadata?: JsonObject;
}

/**
 * Asks for what comes of a task from now on.
 * @example const request: SubscribeToTaskRequest = { id: 'task-17' }; // refused once the task has ended
 */
export interface SubscribeToTaskRequest {
  readonly tenant?: string;
  readonly id: string;
}

/**
 * Asks for one webhook.
 * @example const request: GetTaskPushNotificationConfigRequest = { taskId: 'task-17', id: 'hook-1' };
 */
export interface GetTaskPushNotificationConfigRequest {
  readonly tenant?: string;
  readonly taskId: string;
  /** 0.3 lets it out and means "the" configuration of the task. */
  readonly id?: string;
}

/**
 * Asks for the webhooks of a task.
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
 * Takes a webhook away.
 * @example const request: DeleteTaskPushNotificationConfigRequest = { taskId: 'task-17', id: 'hook-1' };
 */
export interface DeleteTaskPushNotificationConfigRequest {
  readonly tenant?: string;
  readonly taskId: string;
  readonly id: string;
}

/**
 * Asks for the card of those who proved who they are.
 * @example const request: GetExtendedAgentCardRequest = { tenant: 'acme' };
 */
export interface GetExtendedAgentCardRequest {
  readonly tenant?: string;
}

// The agent card.

/**
 * Who runs the agent.
 * @example const provider: AgentProvider = { organization: 'Acme Travel', url: 'https://acme.example' };
 */
export interface AgentProvider {
  readonly url: string;
  readonly organization: string;
}

/**
 * How A2A is spoken at an address.
 * @example const preferred: readonly ProtocolBinding[] = ['GRPC', 'HTTP+JSON', 'JSONRPC'];
 */
export type ProtocolBinding = 'JSONRPC' | 'HTTP+JSON' | 'GRPC' | (string & {});

/**
 * One address of an agent, with its binding and version.
 * @example
 * const door: AgentInterface = {
 *   url: 'https://acme.example/a2a',
 *   protocolBinding: 'JSONRPC',
 *   protocolVersion: '1.0',
 * };
 */
export interface AgentInterface {
  readonly url: string;
  readonly protocolBinding: ProtocolBinding;
  readonly tenant?: string;
  /** `Major.Minor`. */
  readonly protocolVersion: string;
}

/**
 * An extension that an agent knows, or insists on.
 * @example
 * const extension: AgentExtension = {
 *   uri: 'https://example.com/extensions/priority/v1',
 *   required: true, // callers that do not name it are refused
 *   params: { levels: 3 },
 * };
 */
export interface AgentExtension {
  readonly uri: string;
  readonly description?: string;
  readonly required?: boolean;
  readonly params?: JsonObject;
}

/**
 * What an agent can do beyond answering.
 * @example const capabilities: AgentCapabilities = { streaming: true, extendedAgentCard: true };
 */
export interface AgentCapabilities {
  readonly streaming?: boolean;
  readonly pushNotifications?: boolean;
  readonly extensions?: readonly AgentExtension[];
  readonly extendedAgentCard?: boolean;
}

/**
 * Schemes that must all be met, each with its scopes.
 * @example
 * const either: readonly SecurityRequirement[] = [
 *   { schemes: { oauth: { list: ['orders:read'] } } },
 *   { schemes: { apiKey: { list: [] }, mtls: { list: [] } } }, // or both of these
 * ];
 */
export type SecurityRequirement = {
  readonly schemes: { readonly [name: string]: { readonly list: readonly string[] } };
};

/**
 * One thing that an agent can do.
 * @example const skill: AgentSkill = { id: 'latin', name: 'Latin', description: 'English to Latin', tags: [] };
 */
export interface AgentSkill {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly examples?: readonly string[];
  readonly inputModes?: readonly string[];
  readonly outputModes?: readonly string[];
  readonly securityRequirements?: readonly SecurityRequirement[];
}

/**
 * A JWS over the card.
 * @example
 * function claimedKey({ protected: header }: AgentCardSignature): unknown {
 *   return JSON.parse(Buffer.from(header, 'base64url').toString()).kid; // nothing is verified yet
 * }
 */
export interface AgentCardSignature {
  readonly protected: string;
  readonly signature: string;
  readonly header?: JsonObject;
}

/**
 * Exactly one member, named for the kind of scheme.
 * @example
 * const scheme: SecurityScheme = {
 *   httpAuthSecurityScheme: { scheme: 'Bearer', bearerFormat: 'JWT' },
 * };
 */
export type SecurityScheme =
  | {
      readonly apiKeySecurityScheme: {
        readonly location: 'query' | 'header' | 'cookie';
        readonly name: string;
        readonly description?: string;
      };
    }
  | {
      readonly httpAuthSecurityScheme: {
        readonly scheme: string;
        readonly bearerFormat?: string;
        readonly description?: string;
      };
    }
  | {
      readonly oauth2SecurityScheme: {
        readonly flows: OAuthFlows;
        readonly oauth2MetadataUrl?: string;
        readonly description?: string;
      };
    }
  | {
      readonly openIdConnectSecurityScheme: {
        readonly openIdConnectUrl: string;
        readonly description?: string;
      };
    }
  | { readonly mtlsSecurityScheme: { readonly description?: string } };

type Scopes = { readonly [scope: string]: string };

/**
 * Exactly one member.
 * @example
 * const flows: OAuthFlows = {
 *   clientCredentials: {
 *     tokenUrl: 'https://login.example.com/token',
 *     scopes: { 'orders:read': 'See orders' },
 *   },
 * };
 */
export type OAuthFlows =
  | {
      readonly authorizationCode: {
        readonly authorizationUrl: string;
        readonly tokenUrl: string;
        readonly scopes: Scopes;
        readonly refreshUrl?: string;
        readonly pkceRequired?: boolean;
      };
    }
  | {
      readonly clientCredentials: {
        readonly tokenUrl: string;
        readonly scopes: Scopes;
        readonly refreshUrl?: string;
      };
    }
  | {
      readonly deviceCode: {
        readonly deviceAuthorizationUrl: string;
        readonly tokenUrl: string;
        readonly scopes: Scopes;
        readonly refreshUrl?: string;
      };
    }
  | {
      readonly implicit: {
        readonly authorizationUrl: string;
        readonly scopes: Scopes;
        readonly refreshUrl?: string;
      };
    }
  | {
      readonly password: {
        readonly tokenUrl: string;
        readonly scopes: Scopes;
        readonly refreshUrl?: string;
      };
    };

/**
 * What an agent says of itself: who it is, what it can do, where and how it is called.
 * @example
 * function speaksGrpc(card: AgentCard): boolean {
 *   return card.supportedInterfaces.some(({ protocolBinding }) => protocolBinding === 'GRPC');
 * }
 */
export interface AgentCard {
  readonly name: string;
  readonly description: string;
  readonly supportedInterfaces: readonly AgentInterface[];
  readonly provider?: AgentProvider;
  readonly version: string;
  readonly documentationUrl?: string;
  readonly capabilities: AgentCapabilities;
  readonly securitySchemes?: { readonly [name: string]: SecurityScheme };
  readonly securityRequirements?: readonly SecurityRequirement[];
  readonly defaultInputModes: readonly string[];
  readonly defaultOutputModes: readonly string[];
  readonly skills: readonly AgentSkill[];
  readonly signatures?: readonly AgentCardSignature[];
  readonly iconUrl?: string;
}
