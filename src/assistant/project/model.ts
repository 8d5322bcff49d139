import type { Place, StoreSettings, TelemetrySettings } from '../../config/index.ts';
import type { JsonObject } from '../../protocol/index.ts';
import type { Domain, Flow } from '../model.ts';

/**
 * A project folder or a packed one, read whole. Holds secrets: never log it.
 * @example const label = ({ name, modelId }: Project) => `${name}@${modelId.slice(0, 12)}`;
 */
export interface Project {
  /** `assistant_id`, else the name of the folder. */
  readonly name: string;
  /** Where modules are looked for: code is not part of a package. */
  readonly directory: string;
  /** SHA-256 of the content, in hex; the same content has the same id, wherever and whenever. */
  readonly modelId: string;
  readonly config: AssistantConfig;
  readonly domain: Domain;
  /** By id, default patterns included. */
  readonly flows: ReadonlyMap<string, Flow>;
  readonly endpoints: Endpoints;
  /** Channels of credentials.yml by name. */
  readonly credentials: ReadonlyMap<string, JsonObject>;
  /** By name. */
  readonly subAgents: ReadonlyMap<string, SubAgent>;
  /** Where the modules of sub agents are looked for, each in the agent's folder. */
  readonly subAgentsDirectory: string;
  /** Texts that the project refers to: prompts and agent cards. */
  readonly files: ReadonlyMap<string, string>;
}

// ---- config.yml ---------------------------------------------------------------------------------

export interface AssistantConfig {
  readonly recipe: string | undefined;
  /** @default 'en' */
  readonly language: string;
  readonly additionalLanguages: readonly string[];
  readonly assistantId: string | undefined;
  /** The command generator of the pipeline; undefined for the one that needs no model. */
  readonly generator: GeneratorConfig | undefined;
}

/** A command generator that asks a model. */
export interface GeneratorConfig {
  /** As the pipeline names it. */
  readonly component: string;
  /** The command language that the model is asked to answer in. */
  readonly commands: 'v2' | 'v3';
  readonly modelGroup: string | undefined;
  /** A key of `Project.files`. */
  readonly promptTemplate: string | undefined;
  readonly flowRetrieval: {
    readonly isActive: boolean;
    readonly numFlows: number;
    readonly turnsToEmbed: number;
    readonly shouldEmbedSlots: boolean;
  };
  readonly maxCharacters: number;
  readonly includeDateTime: boolean;
  /** An IANA name. */
  readonly timezone: string;
}

// ---- endpoints.yml ------------------------------------------------------------------------------

export interface Endpoints {
  readonly actionEndpoint: ActionEndpoint | undefined;
  readonly nlg: NlgEndpoint | undefined;
  /** By id, as `createModel` takes them. */
  readonly modelGroups: ReadonlyMap<string, JsonObject>;
  /** By name. */
  readonly mcpServers: ReadonlyMap<string, McpServer>;
  readonly a2aServer: A2aServer | undefined;
  /** The store and its retention; undefined for a file in the project folder. */
  readonly store: StoreSettings | undefined;
  /** Telemetry; undefined when it is off. */
  readonly telemetry: TelemetrySettings | undefined;
  /** Undefined where calls may go anywhere. */
  readonly outbound: OutboundRules | undefined;
  /** Sections that their owners read themselves: `bus`. */
  readonly sections: ReadonlyMap<string, JsonObject>;
}

/** Where calls to sub agents and MCP servers may go; public addresses always. */
export interface OutboundRules {
  readonly allowLoopback: boolean;
  readonly allowPrivate: boolean;
  /** Only these hosts and their subdomains. */
  readonly allowedHosts?: readonly string[];
  /** Hosts that are trusted as that name, wherever it leads. */
  readonly allowedNames: readonly string[];
}

export interface ActionEndpoint {
  /** Its key in endpoints.yml. */
  readonly place: Place;
  /** An action server. */
  readonly url: string | undefined;
  /** A module in this process; wins over the URL. */
  readonly actionsModule: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly basicAuth: { readonly username: string; readonly password: string } | undefined;
  readonly token: string | undefined;
  /** The query parameter that carries the token. */
  readonly tokenName: string;
  readonly enableSelectiveDomain: boolean;
  /** Seconds. */
  readonly timeout: number;
}

export type NlgEndpoint =
  | { readonly type: 'server'; readonly url: string; readonly token: string | undefined }
  | {
      readonly type: 'rephrase';
      readonly rephraseAll: boolean;
      readonly maxHistoricalTurns: number;
      readonly modelGroup: string | undefined;
      /** A key of `Project.files`. */
      readonly prompt: string | undefined;
    };

interface McpServerBase {
  readonly name: string;
  /** What goes into `_meta` of each tool call. */
  readonly metaMap: {
    readonly static: JsonObject;
    readonly fromSlots: readonly { readonly slot: string; readonly param: string }[];
  };
}

/** A server with a URL, or a program that communicates over stdio. */
export type McpServer = McpServerBase &
  (
    | { readonly url: string; readonly auth: Authentication | undefined }
    | {
        /** Started in the folder of the project; `node` is the one that runs us. */
        readonly command: string;
        readonly args: readonly string[];
        readonly env: Readonly<Record<string, string>>;
      }
  );

/** Credentials for a server. */
export type Authentication =
  | {
      readonly kind: 'api_key';
      readonly key: string;
      /** @default 'Authorization' */
      readonly headerName: string;
      /** With `{key}` in it. @default 'Bearer {key}' */
      readonly headerFormat: string;
    }
  | { readonly kind: 'token'; readonly token: string }
  | {
      readonly kind: 'oauth';
      readonly clientId: string;
      readonly clientSecret: string;
      readonly tokenUrl: string;
      readonly scope: string | undefined;
      readonly audience: string | undefined;
      /** Seconds. */
      readonly timeout: number | undefined;
    };

export const jwtAlgorithms = [
  'HS256',
  'HS512',
  'RS256',
  'RS512',
  'ES256',
  'ES512',
  'PS256',
] as const;

/**
 * The assistant as an A2A agent.
 * @example const isOpenToAll = (server: A2aServer) => server.auth === undefined;
 */
export interface A2aServer {
  readonly description: string;
  /** The public URL; undefined to infer it from the address listened on. */
  readonly url: string | undefined;
  readonly agentCardPath: string | undefined;
  readonly includeConversationRepair: boolean;
  /** 0 for no timeout. */
  readonly taskTimeoutSeconds: number;
  /** 0 for no replay. */
  readonly messageCacheTtlSeconds: number;
  /** 0 for no limit. */
  readonly maxContexts: number;
  readonly pushNotificationsEnabled: boolean;
  readonly pushNotificationAllowedHosts: readonly string[] | undefined;
  readonly auth:
    | {
        readonly type: 'bearer';
        readonly jwt: {
          readonly algorithm: (typeof jwtAlgorithms)[number];
          readonly publicKeyPath: string | undefined;
          readonly secret: string | undefined;
          readonly issuer: string | undefined;
          readonly audience: string | undefined;
        };
      }
    | undefined;
}

// ---- sub_agents/ --------------------------------------------------------------------------------

interface SubAgentBase {
  readonly name: string;
  readonly description: string;
  /** The folder under sub_agents. */
  readonly folder: string;
  /** A module that adapts the agent. */
  readonly module: string | undefined;
  /** Seconds. */
  readonly timeout: number | undefined;
  readonly maxRetries: number;
  /** Whether an agent that does not answer keeps the assistant from starting. */
  readonly startupCheck: 'fail' | 'warn' | 'lazy';
}

/** An agent elsewhere, called over A2A. */
export interface ExternalAgent extends SubAgentBase {
  readonly protocol: 'A2A';
  /** A URL, or a key of `Project.files`. */
  readonly agentCard: string;
  readonly auth: Authentication | undefined;
  /** Seconds. */
  readonly maxPollingTime: number;
  /** Seconds. */
  readonly pollingInitialDelay: number;
  /** Seconds after which the agent's task continues in the background; undefined for never. */
  readonly backgroundAfter: number | undefined;
}

/** A model in a loop with tools. */
export interface ReactAgent extends SubAgentBase {
  readonly protocol: 'RASA';
  readonly modelGroup: string | undefined;
  /** A key of `Project.files`. */
  readonly promptTemplate: string | undefined;
  readonly includeDateTime: boolean;
  /** An IANA name. */
  readonly timezone: string;
  readonly enableFillerMessages: boolean;
  /** Seconds. */
  readonly toolTimeout: number | undefined;
  readonly maxIterations: number;
  readonly mcpServers: readonly {
    readonly name: string;
    readonly includeTools: readonly string[] | undefined;
    readonly excludeTools: readonly string[] | undefined;
  }[];
}

export type SubAgent = ExternalAgent | ReactAgent;
