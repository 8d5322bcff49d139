import type {
  Authenticator,
  CallerLimitsOptions,
  ClusterRateOptions,
  SkillScopes,
} from '../auth/index.ts';
import type { AgentCapabilities, AgentCard } from '../protocol/index.ts';
import type { SigningKey } from '../push/index.ts';
import type { Store, StoreOptions } from '../store/index.ts';
import type { EngineOptions } from '../tasks/index.ts';
import type { Logger, TelemetryOptions } from '../telemetry/index.ts';
import type { CardOptions, ExtendedCard } from './cards.ts';
import type { Channel } from './channel.ts';
import type { HandlerOptions } from './handler.ts';
import type { PrometheusOptions } from './metrics-door.ts';
import type { PushOptions } from './push-service.ts';
import type { HttpLimits } from './service.ts';

/** What the engine may be told besides what the doors tell it. */
export type EngineTuning = Partial<
  Omit<
    EngineOptions,
    'agent' | 'store' | 'logger' | 'push' | 'replica' | 'extensions' | 'requiredExtensions'
  >
>;

/** What agents of one process have in common. */
export interface SharedOptions {
  /** A store, or which one to open. @default { type: 'memory' } */
  store?: Store | StoreOptions;
  /** What one caller may ask for at a time, over all agents and doors of the process. */
  callerLimits?: CallerLimitsOptions;
  /** Counts the requests of a caller over all replicas, in the store, instead of in this process. */
  clusterRate?: Omit<ClusterRateOptions, 'records'>;
  /** Webhooks; without it the capability is off. */
  push?: PushOptions;
  /** Where lines go. @default warnings and errors on standard error */
  logger?: Logger;
  /**
   * Turns telemetry on for the process while this is served: see `startTelemetry`. @default off,
   * unless somebody else turned it on
   */
  telemetry?: TelemetryOptions;
  /** Shows the metrics to Prometheus at `/metrics`. @default false */
  prometheus?: boolean | PrometheusOptions;
  /**
   * Whether only this machine can reach the server: webhooks may then be on loopback, and the
   * inspector calls agents of your network. `serve` and `serveAll` decide it by `host`, `url` and
   * `hosts`. @default false
   */
  isLocalOnly?: boolean;
  /**
   * Names under which browsers on this machine may call channels, besides localhost. `serve` decides
   * it by `host`, `url` and `hosts`. @default any
   */
  hostNames?: readonly string[];
  /** Time and chance, for simulations. @default the store's clock, the system's timers and ids */
  scheduler?: NonNullable<EngineOptions['scheduler']>;
}

/** What may differ from agent to agent. */
export interface AgentOptions extends Omit<EngineTuning, 'scheduler'> {
  /** Where callers reach the agent, without a slash at the end. @default 'http://localhost' */
  url?: string;
  /** Parts of the card beside what the agent says. */
  card?: Partial<
    Omit<CardOptions, 'url' | 'capabilities' | 'securitySchemes' | 'securityRequirements'>
  > & {
    capabilities?: Omit<AgentCapabilities, 'streaming' | 'pushNotifications'>;
  };
  /** A card served as it is, instead of one made from the agent. */
  staticCard?: AgentCard;
  /**
   * The card of callers who name no version: one that 0.3 readers understand too, or pure 1.0.
   * @default 'superset'
   */
  unversionedCard?: 'superset' | '1.0';
  /**
   * The extended card, for those who may see it; `true` for the card itself. Either way it has only
   * the skills whose scopes the caller has.
   */
  extendedCard?: true | ExtendedCard;
  /** Signs the card once for each of its versions. */
  cardKeys?: readonly [SigningKey, ...SigningKey[]];
  /** Who may call. The card declares what it verifies. @default everybody */
  auth?: Authenticator;
  /** Scopes that skills need, by skill id. */
  skillScopes?: SkillScopes;
  /** Whether the card is for authenticated callers only. @default false */
  protectsCard?: boolean;
  /**
   * Origins of web pages that may call, as browsers name them, or `*`. The card and the public keys
   * are open to all pages anyway. @default none
   */
  cors?: readonly string[];
  /** Takes 1.0 requests that do not state their version. @default false */
  isLenient?: boolean;
  /** Which revision of the specification's table of errors is answered with. @default '1.0.1' */
  errorProfile?: '1.0.1' | '1.0.0';
  /** Names the context of an answer in a header and a cookie, for ingress rules. @default false */
  setsContextHints?: boolean;
  /** Bounds of requests, see `HttpLimits`. */
  limits?: Partial<HttpLimits>;
  /** Answers A2A requests and shows the card; without it only channels and health. @default true */
  a2a?: boolean;
}

/**
 * Everything about an agent that is served, but for the port.
 * @example
 * const options: RouterOptions = {
 *   url: 'https://example.com/agent',
 *   store: { type: 'sqlite', path: 'tasks.db' },
 *   cors: ['https://app.example.com'],
 *   retentionMs: 24 * 60 * 60 * 1000,
 * };
 */
export interface RouterOptions extends SharedOptions, AgentOptions {
  before?: HandlerOptions['before'];
  /** Endpoints beside A2A: chat webhooks, APIs, pages. @default none */
  channels?: readonly Channel[];
}

/** The options without those that are not the agent's own. */
export function agentOptionsOf(options: RouterOptions): Omit<RouterOptions, keyof SharedOptions> {
  const {
    store: _store,
    callerLimits: _callerLimits,
    clusterRate: _clusterRate,
    push: _push,
    logger: _logger,
    telemetry: _telemetry,
    prometheus: _prometheus,
    isLocalOnly: _isLocalOnly,
    hostNames: _hostNames,
    scheduler: _scheduler,
    ...rest
  } = options;
  return rest;
}
