import type { IncomingMessage, ServerResponse } from 'node:http';
import { isLocalRequest } from '../auth/index.ts';
import { LegateError } from '../protocol/index.ts';
import { prometheusType, type Telemetry } from '../telemetry/index.ts';
import { authenticateRequest } from './request.ts';
import type { HttpService } from './service.ts';

/**
 * Where metrics are shown, and to whom.
 * @example const prometheus: PrometheusOptions = { path: '/internal/metrics', access: 'local' };
 */
export interface PrometheusOptions {
  /** Where metrics are shown. @default '/metrics' */
  readonly path?: string;
  /**
   * Who may read. `callers`: whoever may call the agents, and where everybody may, this machine only.
   * `local`: this machine only. `everybody`: no question asked, for networks that ask it themselves.
   * @default 'callers'
   */
  readonly access?: 'callers' | 'local' | 'everybody';
}

/** The metrics of the process, for Prometheus to read. */
export class MetricsDoor {
  readonly path: string;
  readonly #telemetry: Telemetry;
  readonly #access: 'callers' | 'local' | 'everybody';

  constructor(telemetry: Telemetry, options: PrometheusOptions = {}) {
    const { path = '/metrics', access = 'callers' } = options;
    MetricsDoor.check(options);
    this.path = path;
    this.#telemetry = telemetry;
    this.#access = access;
  }

  /** Throws where the door could not be opened. */
  static check({ path = '/metrics' }: PrometheusOptions): void {
    if (!/^\/[\w./-]{1,200}$/.test(path)) {
      throw new LegateError(
        'CONFIGURATION_INVALID',
        `prometheus.path: ${JSON.stringify(path)} is no path; write one like /metrics`,
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
    if (isOpen || this.#access === 'local') requireThisMachine(request);
    await this.#show(request, response);
  }

  /** For a port that serves nothing else: it has no callers, so that they are those of this machine. */
  async sendAlone(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.#access !== 'everybody') requireThisMachine(request);
    await this.#show(request, response);
  }

  async #show(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await this.#telemetry.prometheus();
    response.writeHead(200, {
      'content-type': prometheusType,
      'content-length': Buffer.byteLength(text),
      'cache-control': 'no-store',
    });
    response.end(request.method === 'HEAD' ? undefined : text);
  }
}

function requireThisMachine(request: IncomingMessage): void {
  if (isLocalRequest(request)) return;
  throw new LegateError(
    'PERMISSION_DENIED',
    'metrics are for this machine only, called by a local name and not through a proxy; ' +
      'set prometheus.access to let others read them',
  );
}
