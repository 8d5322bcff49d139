import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request to a collector. */
export interface Received {
  readonly path: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A span as OTLP writes it. */
export interface WireSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly traceState?: string;
  readonly parentSpanId?: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: object }[];
  readonly status: object;
}

/** A metric as OTLP writes it. */
export interface WireMetric {
  readonly name: string;
  readonly [kind: string]: unknown;
}

/** The data points of a metric, whatever its kind. */
export function pointsOf(metric: WireMetric): readonly WirePoint[] {
  const kinds = ['sum', 'gauge', 'histogram'].map((kind) => metric[kind]);
  return kinds.flatMap(
    (data) => (data as { dataPoints?: WirePoint[] } | undefined)?.dataPoints ?? [],
  );
}

export interface WirePoint {
  readonly attributes: readonly { readonly key: string; readonly value: object }[];
}

/** A collector for OTLP over HTTP with JSON: stores the requests, and returns scripted responses. */
export class OtlpCollector implements AsyncDisposable {
  readonly received: Received[] = [];
  readonly #server;

  private constructor(answer: () => number) {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = JSON.parse(Buffer.concat(chunks).toString()) as Received['body'];
        this.received.push({ path: request.url ?? '', headers: request.headers, body });
        response.writeHead(answer(), { 'content-type': 'application/json' }).end('{}');
      });
    });
  }

  static async open(answer: () => number = () => 200): Promise<OtlpCollector> {
    const collector = new OtlpCollector(answer);
    collector.#server.listen(0, '127.0.0.1');
    await once(collector.#server, 'listening');
    return collector;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get spans(): readonly WireSpan[] {
    return this.#of('/v1/traces').flatMap((body) => {
      const { resourceSpans } = body as {
        resourceSpans: { scopeSpans: { spans: WireSpan[] }[] }[];
      };
      return resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));
    });
  }

  /** Those of the last report. */
  get metrics(): ReadonlyMap<string, WireMetric> {
    const { resourceMetrics = [] } = (this.#of('/v1/metrics').at(-1) ?? {}) as {
      resourceMetrics?: { scopeMetrics: { metrics: WireMetric[] }[] }[];
    };
    const all = resourceMetrics.flatMap(({ scopeMetrics }) =>
      scopeMetrics.flatMap(({ metrics }) => metrics),
    );
    return new Map(all.map((metric) => [metric.name, metric]));
  }

  #of(path: string): readonly Received['body'][] {
    return this.received.filter((one) => one.path === path).map(({ body }) => body);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
