import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from '../logger.ts';
import type { Metrics } from '../metrics.ts';
import { metricTable } from '../metric-table.ts';
import type { SpanData } from '../recorded-span.ts';
import { encodeMetrics, encodeSpans, type Resource } from './encode.ts';

/**
 * Where spans and metrics are sent, and how patiently.
 * @example
 * const otlp: OtlpOptions = {
 *   endpoint: 'https://otlp.example.com',
 *   headers: { 'x-api-key': process.env.OTLP_KEY ?? '' },
 *   metrics: false, // Prometheus reads them
 * };
 */
export interface OtlpOptions {
  /** Where the collector is; `/v1/traces` and `/v1/metrics` are added. */
  readonly endpoint: string;
  /** Sent with each request, such as credentials. @default none */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether spans are sent. @default true */
  readonly traces?: boolean;
  /** Whether metrics are sent. @default true */
  readonly metrics?: boolean;
  /** Pause between two batches of spans, in milliseconds. @default 5_000 */
  readonly batchDelayMs?: number;
  /** Spans of one batch. @default 512 */
  readonly batchSize?: number;
  /** Spans that may wait; further ones are dropped and counted. @default 2_048 */
  readonly maxQueue?: number;
  /** Pause between two reports of the metrics, in milliseconds. @default 60_000 */
  readonly metricsIntervalMs?: number;
  /** Longest time that one request may take, in milliseconds. @default 10_000 */
  readonly timeoutMs?: number;
  /** Carries the requests. @default globalThis.fetch */
  readonly fetch?: typeof globalThis.fetch;
}

/** How often one batch is tried. */
const maxAttempts = 3;
/** A collector that does not answer must not hold up the end of the process, in milliseconds. */
const lastWordsMs = 3_000;
const worthRepeating = new Set([408, 429, 502, 503, 504]);

/**
 * Sends spans and metrics to a collector, in the background.
 *
 * *Open* from the start: spans are queued, bounded in number, and sent as soon as a batch is full or
 * its time has come; one request at a time. A collector that is away costs the spans that do not fit,
 * never a turn. *Closed* by `close`, which sends what is left, once.
 */
export class OtlpExporter {
  readonly #options: OtlpOptions;
  readonly #resource: Resource;
  readonly #metrics: Metrics;
  readonly #logger: Logger;
  readonly #now: () => number;
  readonly #startedAt: number;
  readonly #dropped: (reason: 'queue_full' | 'not_delivered', count: number) => void;
  #queue: SpanData[] = [];
  #timer: NodeJS.Timeout | undefined;
  #metricsTimer: NodeJS.Timeout | undefined;
  #sending: Promise<void> = Promise.resolve();
  #isClosed = false;
  /** Ends the wait before another attempt. */
  readonly #patience = new AbortController();
  /** Whether the last request went well; said once for each change. */
  #isWell = true;

  constructor(
    options: OtlpOptions,
    means: {
      readonly resource: Resource;
      readonly metrics: Metrics;
      readonly logger: Logger;
      readonly now: () => number;
    },
  ) {
    this.#options = options;
    this.#resource = means.resource;
    this.#metrics = means.metrics;
    this.#logger = means.logger;
    this.#now = means.now;
    this.#startedAt = means.now();
    const dropped = this.#metrics.counter(
      'legate.telemetry.dropped',
      metricTable['legate.telemetry.dropped'].help,
    );
    this.#dropped = (reason, count) => dropped.add(count, { reason });
    if (options.metrics !== false) {
      this.#metricsTimer = setInterval(
        () => this.#later(() => this.#sendMetrics()),
        options.metricsIntervalMs ?? 60_000,
      ).unref();
    }
  }

  /** Takes a span that has ended. Never waits, never throws. */
  add(span: SpanData): void {
    if (this.#isClosed || this.#options.traces === false) return;
    const { maxQueue = 2_048, batchSize = 512, batchDelayMs = 5_000 } = this.#options;
    if (this.#queue.length >= maxQueue) return this.#dropped('queue_full', 1);
    this.#queue.push(span);
    if (this.#queue.length === batchSize) return this.#later(() => this.#sendSpans());
    this.#timer ??= setTimeout(() => this.#later(() => this.#sendSpans()), batchDelayMs).unref();
  }

  /** Sends all there is. */
  async flush(): Promise<void> {
    this.#later(async () => {
      await this.#sendSpans();
      if (this.#options.metrics !== false) await this.#sendMetrics();
    });
    await this.#sending;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return this.#sending;
    clearInterval(this.#metricsTimer);
    clearTimeout(this.#timer);
    this.#isClosed = true;
    this.#patience.abort();
    await this.flush();
  }

  /** One after the other, so that a slow collector is not asked more, and nothing is ever awaited. */
  #later(work: () => Promise<void>): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sending = this.#sending.then(work);
  }

  async #sendSpans(): Promise<void> {
    const { batchSize = 512 } = this.#options;
    while (this.#queue.length > 0) {
      const batch = this.#queue.slice(0, batchSize);
      this.#queue = this.#queue.slice(batchSize);
      if (!(await this.#post('/v1/traces', encodeSpans(this.#resource, batch)))) {
        this.#dropped('not_delivered', batch.length);
      }
    }
  }

  async #sendMetrics(): Promise<void> {
    const metrics = await this.#metrics.collect();
    const body = encodeMetrics(this.#resource, metrics, this.#startedAt, this.#now());
    await this.#post('/v1/metrics', body);
  }

  /** Whether the collector took it. */
  async #post(path: string, body: string): Promise<boolean> {
    let failure = '';
    for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
      const outcome = await this.#try(path, body);
      if (outcome === 'taken') {
        if (!this.#isWell) this.#logger.info({ path }, 'telemetry.export.recovered');
        this.#isWell = true;
        return true;
      }
      failure = outcome.failure;
      // On the way out there is no time for patience.
      if (!outcome.isWorthRepeating || this.#isClosed || attempt === maxAttempts) break;
      await wait(500 * 2 ** attempt, undefined, {
        ref: false,
        signal: this.#patience.signal,
      }).catch(() => undefined);
    }
    if (this.#isWell) this.#logger.warn({ path, failure }, 'telemetry.export.failed');
    this.#isWell = false;
    return false;
  }

  async #try(
    path: string,
    body: string,
  ): Promise<'taken' | { readonly failure: string; readonly isWorthRepeating: boolean }> {
    const { endpoint, headers, timeoutMs = 10_000, fetch = globalThis.fetch } = this.#options;
    try {
      const response = await fetch(`${endpoint.replace(/\/+$/, '')}${path}`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body,
        redirect: 'error',
        signal: AbortSignal.timeout(this.#isClosed ? Math.min(timeoutMs, lastWordsMs) : timeoutMs),
      });
      await response.body?.cancel();
      if (response.ok) return 'taken';
      const isWorthRepeating = worthRepeating.has(response.status);
      return { failure: `the collector answered ${response.status}`, isWorthRepeating };
    } catch (error) {
      const { message, cause } = error as Error;
      const why = cause instanceof Error ? `${message}: ${cause.message}` : message;
      return { failure: why, isWorthRepeating: true };
    }
  }
}
