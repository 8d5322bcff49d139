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
   * Origins of web pages that can call the agent, as in the `Origin` header, or `*`. All pages can read
   * the card and the public keys. @default none
   */
  cors?: readonly string[];
  /** Sends the context id of a result in a header and a cookie, for ingress rules. @default false */
  setsContextHints?: boolean;
  /**
   * `rockbot`: also accepts requests of clients of RockBot's gateway. These have different method names,
   * lower-case roles, and neither a version nor a message id. @default none
   */
  compatibility?: 'rockbot';
  /** Serves A2A and the card; `false` serves only channels and health. @default true */
  a2a?: boolean;
  /**
   * The path of the card, in place of its well-known paths.
   * @default '/.well-known/agent-card.json' and '/.well-known/agent.json'
   */
  cardPath?: string;
  /** Also serves the agent as an MCP server, at `/mcp` or the given path. @default false */
  mcp?: boolean | { readonly path: string };
  /**
   * Serves web pages that use `useChat` of the AI SDK, at `/chat` or the given path.
   * @default false
   */
  chat?: boolean | { readonly path: string };
  /** Endpoints beside A2A: chat webhooks, APIs, pages. @default none */
  channels?: readonly Channel[];
}

/** HTTP options that all agents of one process share. */
export interface HttpSharedOptions {
  /** Serves metrics to Prometheus at `/metrics`. @default false */
  prometheus?: boolean | PrometheusOptions;
}

/**
 * All options of a served agent except the port.
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
   * Host names that browsers on this machine can use to call channels, besides localhost. `serve` derives
   * them from `host`, `url` and `hosts`. @default any
   */
  hostNames?: readonly string[];
}

const atPath: NestedOptions = { names: { path: 'string' }, required: ['path'] };

/** The names of the options in `HttpOptions`. */
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

/** The service of one agent, with its HTTP options. */
export interface HttpService extends Service {
  /** Serves the metrics of the process to Prometheus; undefined unless enabled. */
  readonly metricsEndpoint: MetricsEndpoint | undefined;
  /** Whether responses have the context id in `X-A2A-Context-Id` and a cookie, for ingress rules. */
  readonly setsContextHints: boolean;
  readonly compatibility: 'rockbot' | undefined;
  /** Origins of web pages that can call the agent; `*` for all. */
  readonly corsOrigins: readonly string[];
}

/** Converts `telemetry:` of a project to server options. `name` is the default service name. */
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
