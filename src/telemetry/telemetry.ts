import { context, metrics as openTelemetry, propagation, trace } from '@opentelemetry/api';
import type { OtlpExporter, OtlpOptions } from './otlp/index.ts';
import { type Logger, silentLogger } from './logger.ts';
import { meterProvider, toldNobody } from './meter.ts';
import { metricTable } from './metric-table.ts';
import { Metrics } from './metrics.ts';

/**
 * As whom a process reports, and where to.
 * @example
 * const options: TelemetryOptions = {
 *   serviceName: 'orders',
 *   resource: { 'deployment.environment.name': 'production' },
 *   otlp: { endpoint: 'http://localhost:4318' },
 *   sampleRatio: 0.1,
 * };
 */
export interface TelemetryOptions {
  /** As whom we report. @default 'legate' */
  readonly serviceName?: string;
  /** Further attributes of the resource, such as `deployment.environment.name`. */
  readonly resource?: Readonly<Record<string, string>>;
  /** Where spans and metrics are sent, over HTTP with JSON; without it nothing is traced. */
  readonly otlp?: OtlpOptions;
  /** Share of the traces that begin here which are recorded, from 0 to 1. @default 1 */
  readonly sampleRatio?: number;
  /** Where it is told that a collector is away. @default nowhere */
  readonly logger?: Logger;
  /** Milliseconds since 1970, with fractions. @default the system's clock */
  readonly now?: () => number;
}

/**
 * The telemetry of this process, while it is on.
 * @example
 * await using telemetry: Telemetry = await startTelemetry({ serviceName: 'orders' });
 * await telemetry.metrics.collect();
 * console.log(telemetry.metrics.render()); // as Prometheus reads it
 */
export interface Telemetry extends AsyncDisposable {
  /** Everything that is counted in this process. */
  readonly metrics: Metrics;
  /** Sends what has not been sent yet. */
  flush(): Promise<void>;
  /** Sends what is left and turns telemetry off, once all who asked for it have. */
  close(): Promise<void>;
}

interface Running {
  readonly metrics: Metrics;
  readonly flush: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

/** There is one OpenTelemetry in a process, so there is one of these. */
let running: Promise<Running> | undefined;
let users = 0;

/**
 * Turns telemetry on for the whole process: what counts anywhere goes to `metrics`, and with `otlp`
 * spans and metrics go to a collector. Start it before whatever shall be seen. A program with an
 * OpenTelemetry SDK of its own keeps it: that one is told everything, and nothing is sent from here.
 * Whoever starts it a second time gets the first one.
 * @example
 * await using telemetry = await startTelemetry({ otlp: { endpoint: 'http://localhost:4318' } });
 * await serve(agent, { metrics: telemetry.metrics, prometheus: true });
 */
export async function startTelemetry(options: TelemetryOptions = {}): Promise<Telemetry> {
  const { logger = silentLogger } = options;
  if (running !== undefined) logger.info({}, 'telemetry.shared');
  const mine = (running ??= start(options, logger));
  users += 1;
  const { metrics, flush, stop } = await mine.catch((error: unknown) => {
    // What could not be started is nobody's.
    users -= 1;
    if (running === mine) running = undefined;
    throw error;
  });
  let closed: Promise<void> | undefined;
  const leave = async (): Promise<void> => {
    users -= 1;
    if (users > 0 || running !== mine) return flush();
    running = undefined;
    await stop();
  };
  const close = (): Promise<void> => (closed ??= leave());
  return { metrics, flush, close, [Symbol.asyncDispose]: close };
}

async function start(options: TelemetryOptions, logger: Logger): Promise<Running> {
  const { now = systemNow, otlp, serviceName = 'legate', resource = {} } = options;
  if (otlp !== undefined) {
    const { checkEndpoint } = await import('./otlp/index.ts');
    checkEndpoint(otlp.endpoint, otlp.headers);
  }
  const own = new Metrics(toldNobody);
  const isOurs = openTelemetry.setGlobalMeterProvider(meterProvider(own));
  const metrics = isOurs ? own : new Metrics();
  if (!isOurs) logger.info({}, 'telemetry.another_sdk');
  watchProcess(metrics);
  const stops: (() => void)[] = isOurs ? [() => openTelemetry.disable()] : [];
  if (otlp === undefined) {
    return {
      metrics,
      flush: async () => undefined,
      stop: async () => stops.forEach((off) => off()),
    };
  }
  const { OtlpExporter } = await import('./otlp/index.ts');
  const exporter = new OtlpExporter(otlp, {
    resource: { 'service.name': serviceName, 'telemetry.sdk.language': 'nodejs', ...resource },
    metrics,
    logger,
    now,
  });
  if (otlp.traces !== false) stops.push(...(await startTracing(options, now, exporter)));
  return {
    metrics,
    flush: () => exporter.flush(),
    async stop() {
      for (const off of stops) off();
      await exporter.close();
    },
  };
}

/** What has to be undone when tracing ends. */
async function startTracing(
  { sampleRatio = 1 }: TelemetryOptions,
  now: () => number,
  exporter: OtlpExporter,
): Promise<readonly (() => void)[]> {
  const { randomBytes } = await import('node:crypto');
  const { tracerProvider } = await import('./tracer.ts');
  const { asyncContextManager } = await import('./async-context.ts');
  const { w3cPropagator } = await import('./w3c-context.ts');
  const provider = tracerProvider({
    sampleRatio,
    now,
    randomId: (bytes) => randomBytes(bytes).toString('hex'),
    onEnd: (span) => exporter.add(span),
  });
  const stops: (() => void)[] = [];
  if (trace.setGlobalTracerProvider(provider)) stops.push(() => trace.disable());
  if (context.setGlobalContextManager(asyncContextManager())) stops.push(() => context.disable());
  if (propagation.setGlobalPropagator(w3cPropagator)) stops.push(() => propagation.disable());
  return stops;
}

function watchProcess(metrics: Metrics): void {
  const help = (name: keyof typeof metricTable): string => metricTable[name].help;
  const cpu = metrics.counter('process.cpu', help('process.cpu'), { unit: 's' });
  let used = 0;
  const bytes = { unit: 'By' };
  metrics.observe(
    'process.resident_memory',
    help('process.resident_memory'),
    (observe) => {
      const { user, system } = process.cpuUsage();
      const total = (user + system) / 1e6;
      cpu.add(total - used);
      used = total;
      observe(process.memoryUsage.rss());
    },
    bytes,
  );
  const began = (Date.now() - process.uptime() * 1000) / 1000;
  metrics
    .gauge('process.start_time', help('process.start_time'), { unit: 's' })
    .set(Math.round(began));
}

function systemNow(): number {
  return performance.timeOrigin + performance.now();
}
