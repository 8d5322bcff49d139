import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { loadSync } from '@grpc/proto-loader';

/** One request to a collector. */
export interface Received {
  readonly path: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A span as OTLP writes it. */
export interface WireSpan {
  /** `service.name` of the resource that it came with. */
  readonly service?: unknown;
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

/** A collector for OTLP over HTTP with JSON, and traces with protobuf: stores the requests, and returns scripted responses. */
export class OtlpCollector implements AsyncDisposable {
  readonly received: Received[] = [];
  readonly #server;

  private constructor(answer: () => number) {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const type = request.headers['content-type'] ?? '';
        const isBinary = type.startsWith('application/x-protobuf');
        const content = unpacked(Buffer.concat(chunks), request.headers['content-encoding']);
        const body = isBinary ? readTraces(content) : JSON.parse(content.toString());
        this.received.push({ path: request.url ?? '', headers: request.headers, body });
        response.writeHead(answer(), { 'content-type': type }).end(isBinary ? '' : '{}');
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
      const { resourceSpans } = body as WireTraces;
      return resourceSpans.flatMap(({ resource, scopeSpans }) => {
        const named = resource?.attributes?.find(({ key }) => key === 'service.name');
        const service = named?.value['stringValue'];
        return scopeSpans.flatMap(({ spans }) => spans.map((span) => ({ ...span, service })));
      });
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

/** A request to `/v1/traces`. */
type WireTraces = {
  readonly resourceSpans: readonly {
    readonly resource?: {
      readonly attributes?: readonly {
        readonly key: string;
        readonly value: Readonly<Record<string, unknown>>;
      }[];
    };
    readonly scopeSpans: readonly { readonly spans: readonly WireSpan[] }[];
  }[];
};

function unpacked(body: Buffer, encoding: string | undefined): Buffer {
  return encoding === 'gzip' ? gunzipSync(body) : body;
}

/** Spans in protobuf, as OTLP writes them in JSON: ids in hexadecimal. */
function readTraces(body: Buffer): Received['body'] {
  const file = join(import.meta.dirname, 'otlp.proto');
  const service = loadSync(file, { longs: String, bytes: String, defaults: true })['otlp.Traces'];
  if (service === undefined || 'format' in service) throw new Error(`${file} has no service`);
  const request = service['Export']?.requestDeserialize(body) as WireTraces;
  const resourceSpans = request.resourceSpans.map(({ resource, scopeSpans }) => ({
    resource,
    scopeSpans: scopeSpans.map(({ spans }) => ({
      spans: spans.map((span) => ({
        ...span,
        traceId: hexadecimal(span.traceId),
        spanId: hexadecimal(span.spanId),
        parentSpanId: hexadecimal(span.parentSpanId ?? ''),
      })),
    })),
  }));
  return { resourceSpans };
}

function hexadecimal(base64: string): string {
  return Buffer.from(base64, 'base64').toString('hex');
}
