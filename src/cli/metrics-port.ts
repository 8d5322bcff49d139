import type { IncomingMessage, ServerResponse } from 'node:http';
import { present, type TelemetrySettings } from '../config/index.ts';
import { MetricsEndpoint } from '../http/index.ts';
import { toLegateError } from '../protocol/index.ts';
import type { Logger, Telemetry } from '../telemetry/index.ts';
import { openLocalServer } from './local-server.ts';
import { usage } from './usage.ts';

/** The default port of OpenTelemetry's Prometheus exporters. */
export const usualMetricsPort = 9464;

export interface MetricsPortOptions {
  readonly telemetry: Telemetry;
  readonly settings: NonNullable<TelemetrySettings['prometheus']>;
  /** 0 for any free port. */
  readonly port: number;
  readonly logger: Logger;
}

/** A port for Prometheus in a process without an HTTP server. */
export interface MetricsPort extends AsyncDisposable {
  readonly url: string;
}

/**
 * Serves the metrics of a process without an HTTP server. The port listens for other machines only
 * where `access` is `public`.
 */
export async function openMetricsPort(options: MetricsPortOptions): Promise<MetricsPort> {
  const { telemetry, settings, port, logger } = options;
  const endpoint = new MetricsEndpoint(telemetry, present(settings));
  const host = settings.access === 'public' ? '0.0.0.0' : '127.0.0.1';
  const server = await openLocalServer(
    (request, response) => {
      answer(endpoint, request, response).catch((error: unknown) => {
        const { message, code } = toLegateError(error);
        if (code !== 'PERMISSION_DENIED') logger.warn({ error }, 'cli.metrics.not_shown');
        refuse(response, code === 'PERMISSION_DENIED' ? 403 : 500, message);
      });
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

async function answer(
  endpoint: MetricsEndpoint,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [path] = (request.url ?? '').split('?', 1);
  if (path !== endpoint.path) return refuse(response, 404, `metrics are at ${endpoint.path}`);
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('allow', 'GET, HEAD');
    return refuse(response, 405, 'use GET to read metrics');
  }
  await endpoint.sendStandalone(request, response);
}

function refuse(response: ServerResponse, status: number, message: string): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(`${JSON.stringify({ error: { code: status, message } })}\n`);
}
