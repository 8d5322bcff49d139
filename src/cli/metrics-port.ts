import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { present, type TelemetrySettings } from '../config/index.ts';
import { MetricsDoor } from '../http/index.ts';
import { LegateError, toLegateError } from '../protocol/index.ts';
import type { Logger, Telemetry } from '../telemetry/index.ts';

/** Where OpenTelemetry's own exporters for Prometheus listen, unless told otherwise. */
export const usualMetricsPort = 9464;

export interface MetricsPortOptions {
  readonly telemetry: Telemetry;
  readonly settings: NonNullable<TelemetrySettings['prometheus']>;
  /** 0 for any that is free. */
  readonly port: number;
  readonly logger: Logger;
}

/** A port for Prometheus, of a process that has no other. */
export interface MetricsPort extends AsyncDisposable {
  readonly url: string;
}

/**
 * Shows the metrics of a process that serves nothing. Other machines reach the port only where
 * everybody may read.
 */
export async function openMetricsPort(options: MetricsPortOptions): Promise<MetricsPort> {
  const { telemetry, settings, port, logger } = options;
  const door = new MetricsDoor(telemetry, present(settings));
  const server = createServer({ requestTimeout: 10_000, maxHeaderSize: 16_384 });
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    answer(door, request, response).catch((error: unknown) => {
      const { message, code } = toLegateError(error);
      if (code !== 'PERMISSION_DENIED') logger.warn({ error }, 'cli.metrics.not_shown');
      refuse(response, code === 'PERMISSION_DENIED' ? 403 : 500, message);
    });
  });
  const host = settings.access === 'everybody' ? '0.0.0.0' : '127.0.0.1';
  await listen(server, port, host);
  const { port: opened } = server.address() as AddressInfo;
  return {
    url: `http://${host}:${opened}${door.path}`,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(
  door: MetricsDoor,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [path] = (request.url ?? '').split('?', 1);
  if (path !== door.path) return refuse(response, 404, `metrics are at ${door.path}`);
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('allow', 'GET, HEAD');
    return refuse(response, 405, 'metrics are read with GET');
  }
  await door.sendAlone(request, response);
}

function refuse(response: ServerResponse, status: number, message: string): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(`${JSON.stringify({ error: { code: status, message } })}\n`);
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) => {
      const reason = 'code' in cause && cause.code === 'EADDRINUSE' ? 'is taken' : 'cannot be used';
      const message = `port ${port} for metrics ${reason}; name another with --metrics-port`;
      reject(new LegateError('CONFIGURATION_INVALID', message, { cause }));
    });
    server.listen(port, host, () => resolve());
  });
}
