import type { Caller } from '../agents/index.ts';
import {
  type Authenticator,
  authenticatorOption,
  type CallerLimitsOptions,
  callerLimitNames,
  type CardSigningKeys,
  type ClusterRateOptions,
  clusterRateNames,
  type SkillScopes,
} from '../auth/index.ts';
import type { AgentCapabilities, AgentCard, FileBytes, OptionNames } from '../protocol/index.ts';
import type { Store, StoreOptions } from '../store/index.ts';
import type { EngineOptions } from '../tasks/index.ts';
import {
  type Logger,
  loggerOption,
  type TelemetryOptions,
  telemetryOptions,
} from '../telemetry/index.ts';
import type { CardOptions, ExtendedCard } from './cards.ts';
import { type PushOptions, pushNames } from './push-service.ts';
import type { Requirement } from './readiness.ts';
import { type RequestLimits, requestLimitNames } from './service.ts';

/** Options of the engine that users of a transport can set. */
export type EngineTuning = Partial<
  Omit<
    EngineOptions,
    | 'agent'
    | 'store'
    | 'logger'
    | 'push'
    | 'replica'
    | 'inputModes'
    | 'extensions'
    | 'requiredExtensions'
  >
>;

/** Options that the agents of one process share. */
export interface SharedOptions {
  /** A store, or which one to open. @default { type: 'memory' } */
  store?: Store | StoreOptions;
  /** Limits of one caller, over all agents and transports of the process. */
  callerLimits?: CallerLimitsOptions;
  /** Counts the requests of a caller over all replicas, in the store, instead of in this process. */
  clusterRate?: Omit<ClusterRateOptions, 'records'>;
  /** Webhooks; without it the capability is off. */
  push?: PushOptions;
  /** Destination of log lines. @default warnings and errors on standard error */
  logger?: Logger;
  /**
   * Services that the process requires besides the store: `/ready` answers 503 while one of them
   * returns a reason.
   * @default []
   */
  requirements?: readonly Requirement[];
  /**
   * Turns telemetry on for the process while this is served: see `startTelemetry`. @default off,
   * unless another caller turned it on
   */
  telemetry?: TelemetryOptions;
  /**
   * Whether only this machine can reach the server: webhooks can then use loopback addresses, and the
   * inspector calls agents of your network. `serve` and `serveAll` derive it from `host`, `url` and
   * `hosts`. @default false
   */
  isLocalOnly?: boolean;
  /**
   * Clock, timers, random numbers and ids, for simulations.
   * @default the store's clock, the system's timers and ids
   */
  scheduler?: NonNullable<EngineOptions['scheduler']>;
}

/** Options of one agent. */
export interface AgentOptions extends Omit<EngineTuning, 'scheduler'> {
  /** The URL of the agent for callers, without a slash at the end. @default 'http://localhost' */
  url?: string;
  /** The path of JSON-RPC, below `url`; HTTP+JSON stays at `url`. @default '/' */
  rpcPath?: string;
  /** Parts of the card that the agent does not define. */
  card?: Partial<
    Omit<CardOptions, 'url' | 'capabilities' | 'securitySchemes' | 'securityRequirements'>
  > & {
    capabilities?: Omit<AgentCapabilities, 'streaming' | 'pushNotifications'>;
  };
  /** A card served as it is, instead of one made from the agent. */
  staticCard?: AgentCard;
  /**
   * The card for callers that name no version: one that 0.3 clients can read too, or pure 1.0.
   * @default 'superset'
   */
  unversionedCard?: 'superset' | '1.0';
  /**
   * The extended card of authenticated callers; `true` for the card itself. It has only the skills
   * whose scopes the caller has. Needs `auth` with a verifier.
   */
  extendedCard?: true | ExtendedCard;
  /**
   * Signs the card once for each of its versions. Keys of files that rotate (`signingKeyFiles`) sign it
   * again. @default unsigned
   */
  cardKeys?: CardSigningKeys;
  /** Authenticates callers. The card declares the same credentials. @default anonymous callers */
  auth?: Authenticator;
  /** Scopes that skills need, by skill id. */
  skillScopes?: SkillScopes;
  /** Whether the card is for authenticated callers only. @default false */
  protectsCard?: boolean;
  /** Accepts 1.0 requests without a version. @default false */
  isLenient?: boolean;
  /** The revision of the specification whose error statuses the server sends. @default '1.0.1' */
  errorProfile?: '1.0.1' | '1.0.0';
  /**
   * How often the bytes of files are encoded in base64 over HTTP+JSON and gRPC of 0.3, for all
   * callers or by caller. `twice` is for callers with a2a-sdk for Python 0.3, or with a2a-go 0.3 over
   * gRPC. @default 'once'
   */
  legacyFileBytes?: FileBytes | ((caller: Caller) => FileBytes);
  /** Limits of requests, see `RequestLimits`. */
  limits?: Partial<RequestLimits>;
}

const cardNames: OptionNames<NonNullable<AgentOptions['card']>> = {
  name: 'string',
  version: 'string',
  provider: 'object',
  documentationUrl: 'string',
  iconUrl: 'string',
  defaultInputModes: 'list',
  defaultOutputModes: 'list',
  rpcPath: 'string',
  capabilities: { names: { extensions: 'list', extendedAgentCard: 'boolean' } },
  moreInterfaces: 'list',
};

/** The names of options that the agents of one process share. */
export const sharedOptionNames: OptionNames<SharedOptions> = {
  // `openStore` checks its options.
  store: 'object',
  callerLimits: { names: callerLimitNames },
  clusterRate: { names: clusterRateNames, required: ['limit'] },
  push: { names: pushNames },
  logger: loggerOption,
  requirements: 'list',
  telemetry: telemetryOptions,
  isLocalOnly: 'boolean',
  scheduler: 'object',
};

/** The names of engine options that users of a transport can set. */
export const tuningNames: OptionNames<Omit<EngineTuning, 'scheduler'>> = {
  streaming: 'boolean',
  duplicateStreams: ['attach', 'refuse'],
  taskTimeoutMs: 'number',
  inactivityTimeoutMs: 'number',
  cancelGraceMs: 'number',
  messageCacheTtlMs: 'number',
  maxContexts: 'number',
  retentionMs: 'number',
  contextRetentionMs: 'number',
  sweepIntervalMs: 'number',
  maxEventSize: 'number',
  maxEvents: 'number',
  maxRunningTurns: 'number',
  maxAttempts: 'number',
  leaseMs: 'number',
  pollIntervalMs: 'number',
  pageTokenKey: 'string',
  showErrors: 'boolean',
  steps: ['off', 'record', 'share'],
};

/** The names of options of one agent. */
export const agentOptionNames: OptionNames<AgentOptions> = {
  url: 'string',
  rpcPath: 'string',
  card: { names: cardNames },
  staticCard: 'object',
  unversionedCard: ['superset', '1.0'],
  extendedCard: { oneOf: ['boolean', 'function'] },
  cardKeys: { oneOf: ['list', 'object'] },
  auth: authenticatorOption,
  skillScopes: 'object',
  protectsCard: 'boolean',
  isLenient: 'boolean',
  errorProfile: ['1.0.1', '1.0.0'],
  legacyFileBytes: { oneOf: [['once', 'twice'], 'function'] },
  limits: { names: requestLimitNames },
  ...tuningNames,
};
