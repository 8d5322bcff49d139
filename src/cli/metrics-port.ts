import { present, type TelemetrySettings } from '../config/index.ts';
import { MetricsEndpoint, sendJson } from '../http/index.ts';
import { errorTable, LegateError, toLegateError } from '../protocol/index.ts';
import type { Logger, Telemetry } from '../telemetry/index.ts';
import { openLocalServer } from './local-server.ts';
import { usage } from './usage.ts';

interface MetricsPortOptions {
  readonly telemetry: Telemetry;
  readonly settings: NonNullable<TelemetrySettings['prometheus']>;
  /** 0 for any free port. @default 9464, as OpenTelemetry's Prometheus exporters */
  readonly port?: number | undefined;
  readonly logger: Logger;
}

/**
 * Serves the metrics of a process without an HTTP server. The port listens for other machines only
 * where `access` is `public`.
 */
export async function openMetricsPort({
  telemetry,
  settings,
  port = 9464,
  logger,
}: MetricsPortOptions): Promise<AsyncDisposable & { readonly url: string }> {
  const endpoint = new MetricsEndpoint(telemetry, present(settings));
  const host = settings.access === 'public' ? '0.0.0.0' : '127.0.0.1';
  const server = await openLocalServer(
    async (request, response) => {
      try {
        if ((request.url ?? '').split('?', 1)[0] !== endpoint.path) {
          throw new LegateError('ROUTE_NOT_FOUND', `metrics are at ${endpoint.path}`);
        }
        if (request.method !== 'GET' && request.method !== 'HEAD') {
          response.setHeader('allow', 'GET, HEAD');
          throw new LegateError('METHOD_NOT_ALLOWED', 'use GET to read metrics');
        }
        await endpoint.sendStandalone(request, response);
      } catch (error) {
        const { message, code } = toLegateError(error);
        const status = errorTable[code].http;
        if (status >= 500) logger.warn({ error }, 'cli.metrics.not_shown');
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
        const message = `port ${port} for metrics ${reason}; choose another with --metrics-port`;
        return usage(message, cause);
      },
    },
  );
  return {
    url: `http://${host}:${server.port}${endpoint.path}`,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
