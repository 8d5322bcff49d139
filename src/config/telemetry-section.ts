import { isEncryptedOrLocal } from '../protocol/index.ts';
import type { Section } from './field.ts';
import { readUrl } from './url-field.ts';

const accesses = ['callers', 'local', 'public'] as const;

/** `telemetry:` of endpoints.yml as it is written, without defaults. */
export interface TelemetrySettings {
  readonly serviceName: string | undefined;
  readonly resource: Readonly<Record<string, string>>;
  readonly sampleRatio: number | undefined;
  /** Undefined if there is no metrics endpoint. */
  readonly prometheus:
    | {
        readonly path: string | undefined;
        readonly access: (typeof accesses)[number] | undefined;
        readonly token: string | undefined;
      }
    | undefined;
  /** Undefined if nothing is exported. */
  readonly otlp: OtlpSettings | undefined;
}

interface OtlpSettings {
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly traces: boolean | undefined;
  readonly metrics: boolean | undefined;
  readonly batchDelaySeconds: number | undefined;
  readonly metricsIntervalSeconds: number | undefined;
  readonly timeoutSeconds: number | undefined;
  readonly maxQueue: number | undefined;
}

export function readTelemetry(section: Section): TelemetrySettings {
  const settings = {
    serviceName: section.name('service_name'),
    resource: section.record('resource', (field) => field.text()) ?? {},
    sampleRatio: section.number('sample_ratio', { minimum: 0, maximum: 1 }),
    prometheus: readPrometheus(section),
    otlp: section.mapping('otlp', readOtlp),
  };
  section.finish();
  return settings;
}

/** Reads `prometheus: true`, or a mapping. */
function readPrometheus(section: Section): TelemetrySettings['prometheus'] {
  const field = section.get('prometheus');
  if (field === undefined) return undefined;
  if (!field.isMapping()) {
    return field.boolean() === true
      ? { path: undefined, access: undefined, token: undefined }
      : undefined;
  }
  return section.mapping('prometheus', (inner) => {
    const path = inner.get('path');
    const text = path?.name();
    if (text !== undefined && !/^\/[\w./-]{1,200}$/.test(text)) {
      path?.error('must be a path such as /metrics');
    }
    return {
      path: text,
      access: inner.get('access')?.oneOf(accesses),
      token: inner.get('token')?.secret(),
    };
  });
}

function readOtlp(section: Section): OtlpSettings | undefined {
  const field = section.require('endpoint');
  const endpoint = readUrl(field);
  const seconds = { minimum: 0.1, maximum: 3_600 };
  const settings = {
    // Headers of collectors are mostly credentials, so their values must come from the environment.
    headers: section.record('headers', (header) => header.secret()) ?? {},
    traces: section.boolean('traces'),
    metrics: section.boolean('metrics'),
    batchDelaySeconds: section.number('batch_delay_seconds', seconds),
    metricsIntervalSeconds: section.number('metrics_interval_seconds', seconds),
    timeoutSeconds: section.number('timeout_seconds', seconds),
    maxQueue: section.number('max_queue', { minimum: 1, maximum: 1_000_000, isInteger: true }),
  };
  const isReadable = endpoint !== undefined && !isEncryptedOrLocal(new URL(endpoint));
  if (isReadable && Object.keys(settings.headers).length > 0) {
    field?.error('headers are not sent over plain http to other machines', 'use https');
  }
  return endpoint === undefined ? undefined : { endpoint, ...settings };
}
