import type { IncomingMessage, ServerResponse } from 'node:http';
import { present, type TelemetrySettings } from '../config/index.ts';
import { type Handler, MetricsEndpoint, sendHealth, sendJson } from '../http/index.ts';
import { errorTable, LegateError, toLegateError } from '../protocol/index.ts';
import type { ReadyReport } from '../service/index.ts';
import type { Logger, Telemetry } from '../telemetry/index.ts';
import { openLocalServer } from './local-server.ts';
import { usage } from './usage.ts';

interface WorkerPortOptions {
  /** The readiness check of `/ready`. */
  readonly ready: () => Promise<ReadyReport>;
  /** Undefined if metrics are disabled. */
  readonly metrics:
    | {
        readonly telemetry: Telemetry;
        readonly settings: NonNullable<TelemetrySettings['prometheus']>;
      }
    | undefined;
  readonly host: string;
  /** 0 for any free port. @default 9464, as OpenTelemetry's Prometheus exporters */
  readonly port?: number | undefined;
  readonly logger: Logger;
}

export interface WorkerPort extends AsyncDisposable {
  readonly url: string;
  readonly host: string;
  readonly metricsPath: string | undefined;
  /** Answers requests below `/inspect` from now on. */
  inspect(handler: Handler): void;
}

interface Served {
  readonly metrics: MetricsEndpoint | undefined;
  readonly ready: () => Promise<ReadyReport>;
  inspector: Handler | undefined;
}

/** Opens the HTTP port of a worker: `/health`, `/ready`, metrics and the inspector. */
export async function openWorkerPort(options: WorkerPortOptions): Promise<WorkerPort> {
  const { metrics, port = 9464, host, logger, ready } = options;
  const endpoint = metrics && new MetricsEndpoint(metrics.telemetry, present(metrics.settings));
  const served: Served = { metrics: endpoint, ready, inspector: undefined };
  const server = await openLocalServer(
    async (request, response) => {
      try {
        await answer(request, response, served);
      } catch (error) {
        const { message, code } = toLegateError(error);
        const status = errorTable[code].http;
        if (status >= 500) logger.warn({ error }, 'cli.worker_port.failed');
        sendJson(response, status, JSON.stringify({ error: { code: status, message } }));
      }
    },
    {
      port,
      host,
      requestTimeout: 10_000,
      maxHeaderSize: 16_384,
      refused: (cause) => {
        const reason = cause.code === 'EADDRINUSE' ? 'is taken' : 'cannot be used';
        const message = `port ${port} on ${host} ${reason}; choose another with --port`;
        return usage(message, cause);
      },
    },
  );
  return {
    url: `http://${host}:${server.port}`,
    host,
    metricsPath: endpoint?.path,
    inspect(handler) {
      served.inspector = handler;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { metrics, ready, inspector }: Served,
): Promise<void> {
  const path = (request.url ?? '').split('?', 1)[0] ?? '';
  if (inspector !== undefined && (path === '/inspect' || path.startsWith('/inspect/'))) {
    return inspector(request, response);
  }
  const isMetrics = path === metrics?.path;
  if (!isMetrics && path !== '/health' && path !== '/ready') {
    const paths = [
      '/health',
      '/ready',
      ...(metrics === undefined ? [] : [metrics.path]),
      ...(inspector === undefined ? [] : ['/inspect/']),
    ];
    throw new LegateError('ROUTE_NOT_FOUND', `a worker serves ${paths.join(', ')} here`);
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('allow', 'GET, HEAD');
    throw new LegateError('METHOD_NOT_ALLOWED', 'use GET');
  }
  if (isMetrics) await metrics.sendStandalone(request, response);
  else sendHealth(response, path === '/health' ? { isReady: true } : await ready());
}
