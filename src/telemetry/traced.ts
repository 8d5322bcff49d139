import { counter, histogram } from './instruments.ts';
import type { MetricName } from './metric-table.ts';
import {
  type Attributes,
  endSpan,
  inSpan,
  type Span,
  type SpanOptions,
  startSpan,
} from './tracing.ts';

/** How one kind of operation is shown in traces and metrics. */
export interface TracedOptions {
  /**
   * Name of its spans. Names of the semantic conventions (`chat`, `execute_tool`, `tools/call`, ...) get
   * the subject appended, as the conventions require. Names of Legate (`legate.action`) stay as they are.
   */
  readonly span: string;
  /** The attribute of the span that names the subject, such as `gen_ai.tool.name`. */
  readonly subject: string;
  /** The label of the metrics that names the subject, such as `tool`. */
  readonly label: string;
  /** Counts operations by `label` and `outcome`. @default not counted */
  readonly calls?: MetricName;
  /** Their duration in seconds, with the same labels. @default not measured */
  readonly duration?: MetricName;
}

/** The details of one operation. */
export interface TracedCall<T> {
  /** `client` where another process does the work. @default 'internal' */
  readonly kind?: SpanOptions['kind'];
  readonly attributes?: Attributes;
  /** Further labels of the metrics. Keep the number of their values bounded. */
  readonly labels?: Readonly<Record<string, string>>;
  /** An operation that ends after this signal aborted is counted as `canceled`. */
  readonly signal?: AbortSignal | undefined;
  /** The `error.type` of a failed result; undefined for a success. @default every result is a success */
  readonly failureOf?: (result: T) => string | undefined;
  /** Monotonic milliseconds. @default performance.now */
  readonly now?: () => number;
}

/**
 * Runs operations of one kind, each in a span of its own, and counts them by outcome: `ok`, `error` or
 * `canceled`. Spans and metrics contain the failed operation and its error code, but no error texts,
 * inputs or results.
 * @example
 * const searches = traced({
 *   span: 'execute_tool', subject: 'gen_ai.tool.name', label: 'tool',
 *   calls: 'legate.tool.calls', duration: 'legate.tool.duration',
 * });
 * const hits = await searches('search', (span) => search(query), { signal });
 */
export function traced(
  options: TracedOptions,
): <T>(subject: string, work: (span: Span) => Promise<T>, call?: TracedCall<T>) => Promise<T> {
  const { span: name, subject: attribute, label } = options;
  const calls = options.calls && counter(options.calls);
  const duration = options.duration && histogram(options.duration);
  const isOurs = name.startsWith('legate.');
  const isGenAi = genAiOperations.has(name);
  return async (subject, work, call = {}) => {
    const {
      kind = 'internal',
      attributes,
      labels,
      signal,
      failureOf,
      now = () => performance.now(),
    } = call;
    const startedAt = now();
    const span = startSpan(isOurs ? name : `${name} ${subject}`, {
      kind,
      attributes: {
        ...(isGenAi && { 'gen_ai.operation.name': name }),
        [attribute]: subject,
        ...attributes,
      },
    });
    const end = (outcome: 'ok' | 'error' | 'canceled', code?: string): void => {
      if (code !== undefined) span.setAttribute('error.type', code);
      endSpan(span, outcome === 'error' && code !== undefined ? { code } : undefined);
      const counted = { [label]: subject, ...labels, outcome };
      calls?.add(1, counted);
      duration?.record((now() - startedAt) / 1000, counted);
    };
    try {
      const result = await inSpan(span, () => work(span));
      const failure = failureOf?.(result);
      end(failure === undefined ? 'ok' : 'error', failure);
      return result;
    } catch (error) {
      if (signal?.aborted === true) end('canceled', 'canceled');
      else end('error', errorType(error));
      throw error;
    }
  };
}

/** Values of `gen_ai.operation.name`. */
const genAiOperations: ReadonlySet<string> = new Set([
  'chat',
  'embeddings',
  'execute_tool',
  'invoke_agent',
]);

/** The `error.type` of a thrown value: its code, or the name of its class. */
function errorType(error: unknown): string {
  if (!(error instanceof Error)) return '_OTHER';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
