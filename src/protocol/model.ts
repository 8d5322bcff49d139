/**
 * The internal model: A2A 1.x as plain JSON, spelled exactly as on the 1.x wire, so that
 * encoding for a 1.x peer is the identity. 0.3 is translated at the edge (`dialects/v03`).
 *
 * Values of these types are immutable once made: whoever needs another value makes another object.
 */

/** Anything that JSON can say. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };
/** An object of JSON. */
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
/** Listed in the order of the protocol's enum numbers. */
export type TaskState = (typeof taskStates)[number];

/**
 * All roles there are.
 * @example roles.includes('ROLE_USER');
 */
export const roles = ['ROLE_UNSPECIFIED', 'ROLE_USER', 'ROLE_AGENT'] as const;
/** Who said a message. */
export type Role = (typeof roles)[number];

/** Exactly one of `text`, `raw`, `url` and `data` is present; `data: null` counts as present. */
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

/** Something that a user or an agent said. */
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

/** A result of a task. */
export interface Artifact {
  readonly artifactId: string;
  readonly name?: string;
  readonly description?: string;
  readonly parts: readonly Part[];
  readonly metadata?: JsonObject;
  readonly extensions?: readonly string[];
}

/** The state of a task, since when, and what was said with it. */
export interface TaskStatus {
  readonly state: TaskState;
  readonly message?: Message;
  /** UTC, milliseconds, `Z`. */
  readonly timestamp?: string;
}

/** The record of one or several turns: a status, results, and what was said. */
export interface Task {
  readonly id: string;
  readonly contextId: string;
  readonly status: TaskStatus;
  readonly artifacts?: readonly Artifact[];
  readonly history?: readonly Message[];
  readonly metadata?: JsonObject;
}

/** A task has another status. */
export interface TaskStatusUpdateEvent {
  readonly taskId: string;
  readonly contextId: string;
  readonly status: TaskStatus;
  readonly metadata?: JsonObject;
}

/** An artifact, or a piece of one, has come. */
export interface TaskArtifactUpdateEvent {
  readonly taskId: string;
  readonly contextId: string;
  readonly artifact: Artifact;
  readonly append?: boolean;
  readonly lastChunk?: boolean;
  readonly metadata?: JsonObject;
}

/** What a stream carries: exactly one member. */
export type StreamResponse =
  | { readonly task: Task }
  | { readonly message: Message }
  | { readonly statusUpdate: TaskStatusUpdateEvent }
  | { readonly artifactUpdate: TaskArtifactUpdateEvent };

/** What a send answers: exactly one member. */
export type SendMessageResponse = { readonly task: Task } | { readonly message: Message };

/** How we show a webhook who we are. */
export interface AuthenticationInfo {
  readonly scheme: string;
  readonly credentials?: string;
}

/** A webhook of a task. */
export interface TaskPushNotificationConfig {
  readonly tenant?: string;
  readonly id?: string;
  readonly taskId?: string;
  readonly url: string;
  readonly token?: string;
  readonly authentication?: AuthenticationInfo;
}

/** How the answer to a message shall come. */
export interface SendMessageConfiguration {
  readonly acceptedOutputModes?: readonly string[];
  readonly taskPushNotificationConfig?: TaskPushNotificationConfig;
  /** Unset: all of it. 0: none. */
  readonly historyLength?: number;
  readonly returnImmediately?: boolean;
}

/** A message to an agent. */
export interface SendMessageRequest {
  readonly tenant?: string;
  readonly message: Message;
  readonly configuration?: SendMessageConfiguration;
  readonly metadata?: JsonObject;
}

/** Asks for a task as it is. */
export interface GetTaskRequest {
  readonly tenant?: string;
  readonly id: string;
  readonly historyLength?: number;
}

/** Asks for tasks, page by page. */
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

/** A page of tasks. */
export interface ListTasksResponse {
  readonly tasks: readonly Task[];
  /** Empty on the last page. */
  readonly nextPageToken: string;
  readonly pageSize: number;
  readonly totalSize: number;
}

/** Asks for an end of a task. */
export interface CancelTaskRequest {
  readonly tenant?: string;
  readonly id: string;
  readonly metadata?: JsonObject;
}

/** Asks for what comes of a task from now on. */
export interface SubscribeToTaskRequest {
  readonly tenant?: string;
  readonly id: string;
}

/** Asks for one webhook. */
export interface GetTaskPushNotificationConfigRequest {
  readonly tenant?: string;
  readonly taskId: string;
  /** 0.3 lets it out and means "the" configuration of the task. */
  readonly id?: string;
}

/** Asks for the webhooks of a task. */
export interface ListTaskPushNotificationConfigsRequest {
  readonly tenant?: string;
  readonly taskId: string;
  readonly pageSize?: number;
  readonly pageToken?: string;
}

/** A page of webhooks. */
export interface ListTaskPushNotificationConfigsResponse {
  readonly configs: readonly TaskPushNotificationConfig[];
  readonly nextPageToken: string;
}

/** Takes a webhook away. */
export interface DeleteTaskPushNotificationConfigRequest {
  readonly tenant?: string;
  readonly taskId: string;
  readonly id: string;
}

/** Asks for the card of those who proved who they are. */
export interface GetExtendedAgentCardRequest {
  readonly tenant?: string;
}

// The agent card.

/** Who runs the agent. */
export interface AgentProvider {
  readonly url: string;
  readonly organization: string;
}

/** How A2A is spoken at an address. */
export type ProtocolBinding = 'JSONRPC' | 'HTTP+JSON' | 'GRPC' | (string & {});

/** One address of an agent, with its binding and version. */
export interface AgentInterface {
  readonly url: string;
  readonly protocolBinding: ProtocolBinding;
  readonly tenant?: string;
  /** `Major.Minor`. */
  readonly protocolVersion: string;
}

/** An extension that an agent knows, or insists on. */
export interface AgentExtension {
  readonly uri: string;
  readonly description?: string;
  readonly required?: boolean;
  readonly params?: JsonObject;
}

/** What an agent can do beyond answering. */
export interface AgentCapabilities {
  readonly streaming?: boolean;
  readonly pushNotifications?: boolean;
  readonly extensions?: readonly AgentExtension[];
  readonly extendedAgentCard?: boolean;
}

/** Schemes that must all be met, each with its scopes. */
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

/** A JWS over the card. */
export interface AgentCardSignature {
  readonly protected: string;
  readonly signature: string;
  readonly header?: JsonObject;
}

/** Exactly one member, named for the kind of scheme. */
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

/** Exactly one member. */
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

/** What an agent says of itself: who it is, what it can do, where and how it is called. */
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
