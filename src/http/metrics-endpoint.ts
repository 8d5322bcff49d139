import type { IncomingMessage, ServerResponse } from 'node:http';
import { isLocalRequest } from '../auth/index.ts';
import { LegateError } from '../protocol/index.ts';
import { prometheusType, type Telemetry } from '../telemetry/index.ts';
import type { HttpService } from './options.ts';
import { authenticateRequest } from './request.ts';

/**
 * The path of the metrics endpoint, and who may read it.
 * @example const prometheus: PrometheusOptions = { path: '/internal/metrics', access: 'local' };
 */
export interface PrometheusOptions {
  /** The path of the endpoint. @default '/metrics' */
  readonly path?: string;
  /**
   * Who may read. `callers`: authenticated callers of the agents, or this machine only where agents
   * accept anonymous callers. `local`: this machine only. `public`: any client, for networks that
   * restrict access themselves.
   * @default 'callers'
   */
  readonly access?: 'callers' | 'local' | 'public';
}

/** Serves the metrics of the process to Prometheus. */
export class MetricsEndpoint {
  readonly path: string;
  readonly #telemetry: Telemetry;
  readonly #access: 'callers' | 'local' | 'public';

  constructor(telemetry: Telemetry, options: PrometheusOptions = {}) {
    const { path = '/metrics', access = 'callers' } = options;
    MetricsEndpoint.check(options);
    this.path = path;
    this.#telemetry = telemetry;
    this.#access = access;
  }

  /** Throws `CONFIGURATION_INVALID` for an invalid path. */
  static check({ path = '/metrics' }: PrometheusOptions): void {
    if (!/^\/[\w./-]{1,200}$/.test(path)) {
      throw new LegateError(
        'CONFIGURATION_INVALID',
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
    if (this.#access === 'callers') await authenticateRequest(service, request, response, query);
    const isOpen = this.#access === 'callers' && service.auth.isOpen;
    if (isOpen || this.#access === 'local') requireLocal(request);
    await this.#send(request, response);
  }

  /** For a port without agents, and so without callers: this machine may read, unless `public`. */
  async sendStandalone(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.#access !== 'public') requireLocal(request);
    await this.#send(request, response);
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
      'set prometheus.access to allow other clients',
  );
}
