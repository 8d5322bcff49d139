import type { Attributes } from '@opentelemetry/api';
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import { counter } from './instruments.ts';
import { hideSecrets } from './redact.ts';

const dropped = counter('legate.telemetry.dropped');

/** Hides secrets in spans before they leave the process, and counts those that could not be sent. */
export class RedactingSpanExporter implements SpanExporter {
  readonly #exporter: SpanExporter;
  readonly #onResult: (result: ExportResult) => void;

  constructor(exporter: SpanExporter, onResult: (result: ExportResult) => void) {
    this.#exporter = exporter;
    this.#onResult = onResult;
  }

  export(spans: ReadableSpan[], resultCallback: (result: ExportResult) => void): void {
    this.#exporter.export(spans.map(redacted), (result) => {
      if (result.code === ExportResultCode.FAILED) {
        dropped.add(spans.length, { reason: 'not_delivered' });
      }
      this.#onResult(result);
      resultCallback(result);
    });
  }

  async forceFlush(): Promise<void> {
    await this.#exporter.forceFlush?.();
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown();
  }
}

function redacted(span: ReadableSpan): ReadableSpan {
  const attributes = redactedAll(span.attributes);
  const events = span.events.map((event) => ({
    ...event,
    ...(event.attributes !== undefined && { attributes: redactedAll(event.attributes) }),
  }));
  // A view: the fields of a span are getters on its prototype.
  return Object.create(span, {
    attributes: { value: attributes, enumerable: true },
    events: { value: events, enumerable: true },
  }) as ReadableSpan;
}

function redactedAll(attributes: Attributes): Attributes {
  return Object.fromEntries(
    Object.entries(attributes).map(([key, value]) => [
      key,
      typeof value === 'string' ? hideSecrets(value) : value,
    ]),
  );
}
