import { present, type TelemetrySettings } from '../config/index.ts';
import type { NestedOptions, OptionNames } from '../protocol/index.ts';
import {
  type AgentOptions,
  agentOptionNames,
  type Service,
  type SharedOptions,
  sharedOptionNames,
} from '../service/index.ts';
import { telemetryOptionsOf } from '../telemetry/index.ts';
import type { Channel } from './channel.ts';
import {
  type MetricsEndpoint,
  type PrometheusOptions,
  prometheusOptions,
} from './metrics-endpoint.ts';

/** How one agent is served over HTTP. */
export interface HttpOptions {
  /**
   * Origins of web pages that may call, as browsers name them, or `*`. The card and the public keys
   * are open to all pages anyway. @default none
   */
  cors?: readonly string[];
  /** Names the context of an answer in a header and a cookie, for ingress rules. @default false */
  setsContextHints?: boolean;
  /**
   * `rockbot`: also takes requests as clients of RockBot's gateway write them, which have method names of
   * its own, roles in small letters, and neither a version nor an id of the message. @default none
   */
  compatibility?: 'rockbot';
  /** Answers A2A requests and shows the card; without it only channels and health. @default true */
  a2a?: boolean;
  /** Where the card is, in place of its well-known paths. @default '/.well-known/agent-card.json' and '/.well-known/agent.json' */
  cardPath?: string;
  /** Serves the agent as an MCP server too, at `/mcp` or the path given. @default false */
  mcp?: boolean | { readonly path: string };
  /**
   * Answers the chat of web pages that `useChat` of the AI SDK makes, at `/chat` or the path given.
   * @default false
   */
  chat?: boolean | { readonly path: string };
  /** Endpoints beside A2A: chat webhooks, APIs, pages. @default none */
  channels?: readonly Channel[];
}

/** What the endpoints of one process have in common. */
export interface HttpSharedOptions {
  /** Shows the metrics to Prometheus at `/metrics`. @default false */
  prometheus?: boolean | PrometheusOptions;
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
export interface RouterOptions extends SharedOptions, AgentOptions, HttpOptions, HttpSharedOptions {
  /**
   * Names under which browsers on this machine may call channels, besides localhost. `serve` decides
   * it by `host`, `url` and `hosts`. @default any
   */
  hostNames?: readonly string[];
}

const atPath: NestedOptions = { names: { path: 'string' }, required: ['path'] };

/** The names of how one agent is served. */
export const httpOptionNames: OptionNames<HttpOptions> = {
  cors: 'list',
  setsContextHints: 'boolean',
  compatibility: ['rockbot'],
  a2a: 'boolean',
  cardPath: 'string',
  mcp: { oneOf: ['boolean', atPath] },
  chat: { oneOf: ['boolean', atPath] },
  channels: 'list',
};

/** The names of the options of `router`. */
export const routerOptionNames: OptionNames<RouterOptions> = {
  ...sharedOptionNames,
  ...agentOptionNames,
  ...httpOptionNames,
  prometheus: { oneOf: ['boolean', prometheusOptions] },
  hostNames: 'list',
};

/** One agent as it is served over HTTP. */
export interface HttpService extends Service {
  /** Where Prometheus reads the metrics of the process; undefined unless asked for. */
  readonly metricsEndpoint: MetricsEndpoint | undefined;
  /** Tells ingress rules the context of an answer: `X-A2A-Context-Id` and a cookie. */
  readonly setsContextHints: boolean;
  readonly compatibility: 'rockbot' | undefined;
  /** Origins of web pages that may call; `*` for all. */
  readonly corsOrigins: readonly string[];
}

/** What `telemetry:` of a project means for its server; without a name it reports as the project. */
export function telemetryOf(
  settings: TelemetrySettings | undefined,
  name: string,
): Pick<RouterOptions, 'telemetry' | 'prometheus'> {
  if (settings === undefined) return {};
  const { prometheus } = settings;
  return {
    telemetry: { serviceName: name, ...telemetryOptionsOf(settings) },
    ...(prometheus !== undefined && { prometheus: present(prometheus) }),
  };
}
