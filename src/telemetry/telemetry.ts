import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { present, type TelemetrySettings } from '../config/index.ts';
import {
  checkOptions,
  invalidConfiguration,
  isEncryptedOrLocal,
  type LegateError,
  type NestedOptions,
  type OptionNames,
} from '../protocol/index.ts';
import { waitAtMost } from '../time/index.ts';
import { observeCounter, observeGauge, registerObservations } from './instruments.ts';
import { type Logger, loggerOption, silentLogger } from './logger.ts';
import type { Sdk } from './sdk.ts';

/**
 * Where spans and metrics are sent.
 * @example
 * const otlp: OtlpOptions = {
 *   endpoint: 'https://otlp.example.com',
 *   headers: { 'x-api-key': process.env.OTLP_KEY ?? '' },
 *   metrics: false, // Prometheus scrapes them
 * };
 */
export interface OtlpOptions {
  /** Base URL of the collector; `/v1/traces` and `/v1/metrics` are appended. */
  readonly endpoint: string;
  /** Sent with each request, such as credentials. @default none */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether spans are sent. @default true */
  readonly traces?: boolean;
  /** Whether metrics are sent. @default true */
  readonly metrics?: boolean;
  /** Delay between two batches of spans, in milliseconds. @default 5_000 */
  readonly batchDelayMs?: number;
  /** Spans per batch. @default 512 */
  readonly batchSize?: number;
  /** Most queued spans; further ones are dropped. @default 2_048 */
  readonly maxQueue?: number;
  /** Interval between two exports of metrics, in milliseconds. @default 60_000 */
  readonly metricsIntervalMs?: number;
  /** Timeout of one export, retries included, in milliseconds. @default 10_000 */
  readonly timeoutMs?: number;
}

/**
 * The identity of a process in telemetry, and the destination of its spans and metrics.
 * @example
 * const options: TelemetryOptions = {
 *   serviceName: 'orders',
 *   resource: { 'deployment.environment.name': 'production' },
 *   otlp: { endpoint: 'http://localhost:4318' },
 *   sampleRatio: 0.1,
 * };
 */
export interface TelemetryOptions {
  /** The `service.name` of the resource. @default 'legate' */
  readonly serviceName?: string;
  /** Further attributes of the resource, such as `deployment.environment.name`. */
  readonly resource?: Readonly<Record<string, string>>;
  /** Destination of spans and metrics, over HTTP with JSON. Without it there are no traces. */
  readonly otlp?: OtlpOptions;
  /** Fraction of the traces started here that are recorded, from 0 to 1. @default 1 */
  readonly sampleRatio?: number;
  /** Logs outages of the collector. @default none */
  readonly logger?: Logger;
}

const otlpNames: OptionNames<OtlpOptions> = {
  endpoint: 'string',
  headers: 'object',
  traces: 'boolean',
  metrics: 'boolean',
  batchDelayMs: 'number',
  batchSize: 'number',
  maxQueue: 'number',
  metricsIntervalMs: 'number',
  timeoutMs: 'number',
};
const optionNames: OptionNames<TelemetryOptions> = {
  serviceName: 'string',
  resource: 'object',
  otlp: { names: otlpNames, required: ['endpoint'] },
  sampleRatio: 'number',
  logger: loggerOption,
};
export const telemetryOptions: NestedOptions = { names: optionNames };

/**
 * The telemetry of this process, while it is on.
 * @example
 * await using telemetry: Telemetry = await startTelemetry({ serviceName: 'orders' });
 * console.log(await telemetry.prometheus());
 */
export interface Telemetry extends AsyncDisposable {
  /** The metrics of this process in the Prometheus text format. */
  prometheus(): Promise<string>;
  /** Exports pending spans and metrics. */
  flush(): Promise<void>;
  /** Exports the rest, and stops telemetry once every `startTelemetry` has been closed. */
  close(): Promise<void>;
}

/** The SDK of the process: OpenTelemetry has one global SDK. */
let running: Promise<Sdk> | undefined;
let users = 0;
/** The end of the former SDK. The next one registers after it. */
let stopping: Promise<unknown> = Promise.resolve();

/** How long shutdown waits for a collector that does not answer, in milliseconds. */
const shutdownMs = 3_000;

/**
 * Starts the OpenTelemetry SDK for the whole process: metrics for Prometheus, and with `otlp` spans and
 * metrics to a collector. Start it before the agents that it observes. If the program has registered its
 * own SDK, that one stays and receives the spans and metrics of Legate. A second call shares the first SDK.
 * @example
 * await using telemetry = await startTelemetry({ otlp: { endpoint: 'http://localhost:4318' } });
 * await serve(agent, { prometheus: true });
 */
export async function startTelemetry(options: TelemetryOptions = {}): Promise<Telemetry> {
  checkOptions('startTelemetry', options, optionNames);
  const { logger = silentLogger, otlp } = options;
  if (otlp !== undefined) checkEndpoint(otlp);
  if (running !== undefined) logger.info({}, 'telemetry.shared');
  const mine = (running ??= stopping.then(() => start(options, logger)));
  users += 1;
  const sdk = await mine.catch((error: unknown) => {
    users -= 1;
    if (running === mine) running = undefined;
    throw error;
  });
  let closed: Promise<void> | undefined;
  const leave = async (): Promise<void> => {
    users -= 1;
    if (users > 0 || running !== mine) return sdk.flush();
    running = undefined;
    const stopped = sdk.shutdown();
    stopping = stopped.catch(() => undefined);
    await stopped;
  };
  const close = (): Promise<void> => (closed ??= leave());
  return {
    prometheus: async () => (await sdk.prometheus?.render()) ?? anotherSdk,
    flush: () => sdk.flush(),
    close,
    [Symbol.asyncDispose]: close,
  };
}

const anotherSdk = '# this program exports its metrics with an OpenTelemetry SDK of its own\n';

async function start(options: TelemetryOptions, logger: Logger): Promise<Sdk> {
  const { startSdk } = await import('./sdk.ts');
  const sdk = startSdk(options, logger);
  registerObservations();
  const stops = observeProcess();
  return {
    ...sdk,
    async shutdown() {
      for (const stop of stops) stop();
      await waitAtMost(shutdownMs, sdk.shutdown());
      // After the final exports, which may take longer: a later start must find no SDK registered.
      sdk.unregister();
    },
  };
}

function observeProcess(): readonly (() => void)[] {
  const started = Math.round(Date.now() / 1000 - process.uptime());
  const delay = monitorEventLoopDelay({ resolution: 20 });
  delay.enable();
  let before = performance.eventLoopUtilization();
  return [
    () => delay.disable(),
    observeGauge('nodejs.eventloop.delay.p99', (result) => {
      // The histogram includes the 20 ms between two samples.
      result.observe(Math.max(0, delay.percentile(99) / 1e9 - 0.02));
      delay.reset();
    }),
    observeGauge('nodejs.eventloop.utilization', (result) => {
      const now = performance.eventLoopUtilization();
      result.observe(performance.eventLoopUtilization(now, before).utilization);
      before = now;
    }),
    observeGauge('process.heap_used', (result) => result.observe(process.memoryUsage().heapUsed)),
    observeGauge('process.heap_limit', (result) =>
      result.observe(getHeapStatistics().heap_size_limit),
    ),
    observeGauge('process.resident_memory', (result) => result.observe(process.memoryUsage.rss())),
    observeGauge('process.start_time', (result) => result.observe(started)),
    observeCounter('process.cpu', (result) => {
      const { user, system } = process.cpuUsage();
      result.observe((user + system) / 1e6);
    }),
  ];
}

/**
 * Refuses invalid endpoints, endpoints with a password in the URL, and credentials over unencrypted
 * connections.
 */
function checkEndpoint({ endpoint, headers = {} }: OtlpOptions): void {
  const url = URL.parse(endpoint);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '') {
    throw invalid('must be an http or https URL without a user, such as http://localhost:4318');
  }
  if (!isEncryptedOrLocal(url) && Object.keys(headers).length > 0) {
    throw invalid(`headers are not sent to ${url.origin} over plain http; use https`);
  }
}

function invalid(what: string): LegateError {
  return invalidConfiguration(`otlp.endpoint: ${what}`);
}

/** The options in the `telemetry:` section of a project. Without the section, telemetry is off. */
export function telemetryOptionsOf(settings: TelemetrySettings): TelemetryOptions {
  const { serviceName, resource, sampleRatio, otlp } = settings;
  return present({
    serviceName,
    resource,
    sampleRatio,
    otlp:
      otlp &&
      present({
        endpoint: otlp.endpoint,
        headers: otlp.headers,
        traces: otlp.traces,
        metrics: otlp.metrics,
        batchDelayMs: inMs(otlp.batchDelaySeconds),
        metricsIntervalMs: inMs(otlp.metricsIntervalSeconds),
        timeoutMs: inMs(otlp.timeoutSeconds),
        maxQueue: otlp.maxQueue,
      }),
  });
}

function inMs(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1000;
}
