import type { IncomingMessage, ServerResponse } from 'node:http';
import { bearerIn, isLocalRequest, isSameSecret } from '../auth/index.ts';
import {
  invalidConfiguration,
  LegateError,
  type NestedOptions,
  type OptionNames,
} from '../protocol/index.ts';
import { prometheusType, type Telemetry } from '../telemetry/index.ts';
import type { HttpService } from './options.ts';
import { authenticateRequest } from './request.ts';

/**
 * The path of the metrics endpoint, and the clients that can read it.
 * @example const prometheus: PrometheusOptions = { path: '/internal/metrics', access: 'local' };
 */
export interface PrometheusOptions {
  /** The path of the endpoint. @default '/metrics' */
  readonly path?: string;
  /**
   * Access to the metrics. `callers`: authenticated callers of the agents, or this machine only
   * where agents accept anonymous callers. `local`: this machine only. `public`: any client, for
   * networks that restrict access themselves.
   * @default 'callers'
   */
  readonly access?: 'callers' | 'local' | 'public';
  /**
   * A bearer token that allows reading metrics from any machine, besides `access`. It lets Prometheus read
   * metrics without being a caller of the agents (`authorization: {credentials_file: ...}`). @default none
   */
  readonly token?: string;
}

const optionNames: OptionNames<PrometheusOptions> = {
  path: 'string',
  access: ['callers', 'local', 'public'],
  token: 'string',
};
export const prometheusOptions: NestedOptions = { names: optionNames };

/** Serves the metrics of the process to Prometheus. */
export class MetricsEndpoint {
  readonly path: string;
  readonly #telemetry: Telemetry;
  readonly #access: 'callers' | 'local' | 'public';
  readonly #token: string | undefined;

  constructor(telemetry: Telemetry, options: PrometheusOptions = {}) {
    const { path = '/metrics', access = 'callers' } = options;
    MetricsEndpoint.check(options);
    this.path = path;
    this.#telemetry = telemetry;
    this.#access = access;
    this.#token = options.token;
  }

  /** Throws `CONFIGURATION_INVALID` for an invalid path or an empty token. */
  static check({ path = '/metrics', token }: PrometheusOptions): void {
    if (token === '') {
      throw invalidConfiguration('prometheus.token: the token is empty');
    }
    if (!/^\/[\w./-]{1,200}$/.test(path)) {
      throw invalidConfiguration(
        `prometheus.path: ${JSON.stringify(path)} is not a valid path; use one like /metrics`,
      );
    }
  }

  async send(
    service: HttpService,
    request: IncomingMessage,
    response: ServerResponse,
    query: URLSearchParams,
  ): Promise<void> {
    if (!this.#hasToken(request)) {
      if (this.#access === 'callers') await authenticateRequest(service, request, response, query);
      const isOpen = this.#access === 'callers' && service.auth.isOpen;
      if (isOpen || this.#access === 'local') requireLocal(request);
    }
    await this.#send(request, response);
  }

  /** For a port without agents. It has no callers, so only this machine can read, unless `public`. */
  async sendStandalone(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.#access !== 'public' && !this.#hasToken(request)) requireLocal(request);
    await this.#send(request, response);
  }

  #hasToken({ headers }: IncomingMessage): boolean {
    const given = bearerIn(headers.authorization);
    return this.#token !== undefined && given !== undefined && isSameSecret(this.#token, given);
  }

  async #send(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await this.#telemetry.prometheus();
    response.writeHead(200, {
      'content-type': prometheusType,
      'content-length': Buffer.byteLength(text),
      'cache-control': 'no-store',
    });
    response.end(request.method === 'HEAD' ? undefined : text);
  }
}

function requireLocal(request: IncomingMessage): void {
  if (isLocalRequest(request)) return;
  throw new LegateError(
    'PERMISSION_DENIED',
    'metrics are served to this machine only, under a local name and not through a proxy; ' +
      'set prometheus.token, or prometheus.access to allow other clients',
  );
}
