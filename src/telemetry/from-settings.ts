import { present, type TelemetrySettings } from '../config/index.ts';
import type { TelemetryOptions } from './telemetry.ts';

/** What `telemetry:` of a project asks for. Without the block telemetry is off. */
export function telemetryOptionsOf(settings: TelemetrySettings): TelemetryOptions {
  const { serviceName, resource, sampleRatio, otlp } = settings;
  return present({
    serviceName,
    resource,
    sampleRatio,
    otlp:
      otlp === undefined
        ? undefined
        : present({
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
