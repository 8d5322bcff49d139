import {
  type Attributes,
  type AttributeValue,
  type Exception,
  type Span,
  type SpanContext,
  SpanKind,
  type SpanStatus,
  SpanStatusCode,
  type TimeInput,
} from '@opentelemetry/api';
import { hideSecrets } from './redact.ts';

/** Bounds of one span; what is beyond them is left out. */
const maxAttributes = 64;
const maxEvents = 32;
const longestText = 1_024;

export interface SpanEvent {
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly attributes: Attributes;
}

/** A span that has ended, as it is exported. */
export interface SpanData {
  readonly context: SpanContext;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: SpanKind;
  /** Milliseconds since 1970, with fractions. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly attributes: Attributes;
  readonly events: readonly SpanEvent[];
  readonly status: SpanStatus;
}

export interface RecordedSpanOptions {
  readonly context: SpanContext;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes: Attributes;
  readonly now: () => number;
  readonly onEnd: (span: SpanData) => void;
}

/** A span from its start to its end. It takes changes until it is ended, once. */
export class RecordedSpan implements Span {
  readonly #options: RecordedSpanOptions;
  readonly #startedAt: number;
  readonly #attributes = new Map<string, AttributeValue>();
  readonly #events: SpanEvent[] = [];
  #name: string;
  #status: SpanStatus = { code: SpanStatusCode.UNSET };
  #isEnded = false;

  constructor(options: RecordedSpanOptions) {
    this.#options = options;
    this.#name = options.name;
    this.#startedAt = options.now();
    this.setAttributes(options.attributes);
  }

  spanContext(): SpanContext {
    return this.#options.context;
  }

  setAttribute(key: string, value: AttributeValue): this {
    if (this.#isEnded) return this;
    if (this.#attributes.size < maxAttributes || this.#attributes.has(key)) {
      this.#attributes.set(key, bounded(value));
    }
    return this;
  }

  setAttributes(attributes: Attributes): this {
    for (const [key, value] of Object.entries(attributes)) {
      if (value !== undefined) this.setAttribute(key, value);
    }
    return this;
  }

  addEvent(name: string, attributesOrTime?: Attributes | TimeInput): this {
    if (this.#isEnded || this.#events.length >= maxEvents) return this;
    const attributes = isAttributes(attributesOrTime) ? attributesOrTime : {};
    this.#events.push({ name, at: this.#options.now(), attributes: boundedAll(attributes) });
    return this;
  }

  addLink(): this {
    return this;
  }

  addLinks(): this {
    return this;
  }

  setStatus(status: SpanStatus): this {
    if (!this.#isEnded) this.#status = status;
    return this;
  }

  updateName(name: string): this {
    if (!this.#isEnded) this.#name = name;
    return this;
  }

  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    const { context, parentSpanId, kind, now, onEnd } = this.#options;
    onEnd({
      context,
      parentSpanId,
      name: this.#name,
      kind,
      startedAt: this.#startedAt,
      endedAt: Math.max(now(), this.#startedAt),
      attributes: Object.fromEntries(this.#attributes),
      events: this.#events,
      status: this.#status,
    });
  }

  isRecording(): boolean {
    return !this.#isEnded;
  }

  recordException(exception: Exception): void {
    const { name, message } =
      typeof exception === 'string' ? { name: 'Error', message: exception } : exception;
    this.addEvent('exception', {
      'exception.type': name ?? 'Error',
      'exception.message': message ?? '',
    });
  }
}

function isAttributes(value: Attributes | TimeInput | undefined): value is Attributes {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
  );
}

function boundedAll(attributes: Attributes): Attributes {
  return Object.fromEntries(
    Object.entries(attributes)
      .slice(0, maxAttributes)
      .flatMap(([key, value]) => (value === undefined ? [] : [[key, bounded(value)]])),
  );
}

/** Long texts are cut, and what looks like a secret is taken out. */
function bounded(value: AttributeValue): AttributeValue {
  if (typeof value === 'string') return hideSecrets(value.slice(0, longestText));
  return Array.isArray(value) ? (value.slice(0, maxAttributes) as AttributeValue) : value;
}
