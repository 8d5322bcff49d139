interface MetricEntry {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly unit?: 's' | 'ms' | 'By';
  readonly help: string;
  /** The attributes of its series. */
  readonly labels: readonly string[];
}

type MetricRow = (
  help: string,
  labels?: readonly string[],
  unit?: MetricEntry['unit'],
) => MetricEntry;

const rowOf =
  (type: MetricEntry['type']): MetricRow =>
  (help, labels = [], unit) => ({ type, help, labels, ...(unit !== undefined && { unit }) });

const counter = rowOf('counter');
const gauge = rowOf('gauge');
const histogram = rowOf('histogram');

const peerLabels = ['legate.a2a.target_agent', 'legate.a2a.skill', 'legate.a2a.transport'];
const sentLabels = ['messaging.destination.name', 'legate.messaging.type', 'status'];
const takenLabels = ['legate.messaging.queue', 'legate.messaging.type', 'status'];

/** All metrics by their OpenTelemetry names. The reference is generated from this table. */
export const metricTable = {
  'legate.turns': counter('Ended turns by outcome', ['agent', 'outcome']),
  'legate.turn.duration': histogram('Duration of turns', [], 's'),
  'legate.turns.running': gauge('Running turns', ['agent']),
  'legate.events': counter('Events emitted by turns', ['agent']),
  'legate.push.attempts': counter('Finished webhook delivery attempts: delivered, retry or dead', [
    'outcome',
  ]),
  'legate.push.duration': histogram('Duration of webhook delivery attempts', ['outcome'], 's'),
  'legate.store.write_failures': counter(
    'Failed store writes, for example a full disk or an unavailable database',
    ['driver'],
  ),
  'legate.store.clock_skew': gauge(
    "How far the wall clock of this process is ahead of the store's",
    [],
    's',
  ),
  'legate.http.denied': counter('Requests refused for security reasons by error code', ['code']),
  'legate.model.calls': counter('Calls of language models by outcome', ['model', 'outcome']),
  'legate.model.duration': histogram(
    'Duration of language model calls, retries included',
    ['model', 'outcome'],
    's',
  ),
  'legate.model.tokens': counter('Tokens used, as reported by language models', [
    'model',
    'direction',
  ]),
  'legate.tool.calls': counter('Tool calls by language models by outcome', ['tool', 'outcome']),
  'legate.messaging.publish.messages': counter('Messages published to the bus', sentLabels),
  'legate.messaging.publish.duration': histogram(
    'Time until the broker confirmed a published message',
    sentLabels,
    'ms',
  ),
  'legate.messaging.process.messages': counter(
    'Messages consumed from the bus by outcome',
    takenLabels,
  ),
  'legate.messaging.process.duration': histogram(
    'Time from receipt of a message to its acknowledgement',
    takenLabels,
    'ms',
  ),
  'legate.messaging.active_messages': gauge('Messages of the bus in processing', [
    'legate.messaging.queue',
    'legate.messaging.type',
  ]),
  'legate.messaging.dlq.depth': gauge('Dead letters of the queues that this process consumes', [
    'legate.messaging.queue',
  ]),
  'legate.a2a.requests': counter('Calls of peers', peerLabels),
  'legate.a2a.failures': counter('Failed calls of peers by outcome', [...peerLabels, 'end']),
  'legate.a2a.duration': histogram(
    'Duration of calls of peers',
    [...peerLabels, 'status', 'latency_grade'],
    'ms',
  ),
  'legate.a2a.polling_attempts': counter('Polls of tasks of peers that do not stream', peerLabels),
  'legate.a2a.streaming_events': counter('Events in the streams of peers', peerLabels),
  'legate.a2a.subscribe_fallbacks': counter(
    'Broken streams of peers that were continued by polling',
    peerLabels,
  ),
  'legate.a2a.input_required_rounds': counter(
    'Answered input-required rounds of peers',
    peerLabels,
  ),
  'legate.a2a.input_required_breaks': counter(
    'Aborted input-required exchanges: max_rounds or repetition',
    [...peerLabels, 'reason'],
  ),
  'legate.telemetry.dropped': counter('Spans that were not exported by reason', ['reason']),
  'process.cpu': counter('CPU time of the process', [], 's'),
  'process.resident_memory': gauge('Resident memory of the process', [], 'By'),
  'process.start_time': gauge('Start time of the process, since 1970', [], 's'),
} satisfies Readonly<Record<string, MetricEntry>>;

export type MetricName = keyof typeof metricTable;

/** The content type of the Prometheus text format. */
export const prometheusType = 'text/plain; version=0.0.4; charset=utf-8';

const unitWords: Readonly<Record<string, string>> = {
  s: 'seconds',
  ms: 'milliseconds',
  By: 'bytes',
};

/** `legate.turn.duration` in `s` becomes `legate.turn.duration_seconds`. */
export function withUnit(name: string, unit: string | undefined): string {
  const word = unit === undefined ? undefined : unitWords[unit];
  return word === undefined || name.endsWith(word) ? name : `${name}_${word}`;
}

/** The name of a metric as Prometheus shows it: `legate.turns` is `legate_turns_total`. */
export function prometheusName(metric: {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly unit?: string;
}): string {
  const name = withUnit(metric.name, metric.unit).replaceAll(/[^A-Za-z0-9_]/g, '_');
  return metric.type !== 'counter' || name.endsWith('_total') ? name : `${name}_total`;
}
