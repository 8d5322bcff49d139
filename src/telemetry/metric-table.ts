interface MetricEntry {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly unit?: 's' | 'ms' | 'By';
  readonly help: string;
  /** The attributes of its series. */
  readonly labels: readonly string[];
}

const peerLabels = ['legate.a2a.target_agent', 'legate.a2a.skill', 'legate.a2a.transport'];
const sentLabels = ['messaging.destination.name', 'legate.messaging.type', 'status'];
const takenLabels = ['legate.messaging.queue', 'legate.messaging.type', 'status'];

/** All metrics by their OpenTelemetry names. The reference is generated from this table. */
export const metricTable = {
  'legate.turns': {
    type: 'counter',
    help: 'Ended turns by outcome',
    labels: ['agent', 'outcome'],
  },
  'legate.turn.duration': {
    type: 'histogram',
    unit: 's',
    help: 'Duration of turns',
    labels: [],
  },
  'legate.turns.running': { type: 'gauge', help: 'Running turns', labels: ['agent'] },
  'legate.events': { type: 'counter', help: 'Events emitted by turns', labels: ['agent'] },
  'legate.push.attempts': {
    type: 'counter',
    help: 'Finished webhook delivery attempts: delivered, retry or dead',
    labels: ['outcome'],
  },
  'legate.push.duration': {
    type: 'histogram',
    unit: 's',
    help: 'Duration of webhook delivery attempts',
    labels: ['outcome'],
  },
  'legate.store.write_failures': {
    type: 'counter',
    help: 'Failed store writes, for example a full disk or an unavailable database',
    labels: ['driver'],
  },
  'legate.store.clock_skew': {
    type: 'gauge',
    unit: 's',
    help: "How far the wall clock of this process is ahead of the store's",
    labels: [],
  },
  'legate.http.denied': {
    type: 'counter',
    help: 'Requests refused for security reasons by error code',
    labels: ['code'],
  },
  'legate.model.calls': {
    type: 'counter',
    help: 'Calls of language models by outcome',
    labels: ['model', 'outcome'],
  },
  'legate.model.duration': {
    type: 'histogram',
    unit: 's',
    help: 'Duration of language model calls, retries included',
    labels: ['model', 'outcome'],
  },
  'legate.model.tokens': {
    type: 'counter',
    help: 'Tokens used, as reported by language models',
    labels: ['model', 'direction'],
  },
  'legate.tool.calls': {
    type: 'counter',
    help: 'Tool calls by language models by outcome',
    labels: ['tool', 'outcome'],
  },
  'legate.messaging.publish.messages': {
    type: 'counter',
    help: 'Messages published to the bus',
    labels: sentLabels,
  },
  'legate.messaging.publish.duration': {
    type: 'histogram',
    unit: 'ms',
    help: 'Time until the broker confirmed a published message',
    labels: sentLabels,
  },
  'legate.messaging.process.messages': {
    type: 'counter',
    help: 'Messages consumed from the bus by outcome',
    labels: takenLabels,
  },
  'legate.messaging.process.duration': {
    type: 'histogram',
    unit: 'ms',
    help: 'Time from receipt of a message to its acknowledgement',
    labels: takenLabels,
  },
  'legate.messaging.active_messages': {
    type: 'gauge',
    help: 'Messages of the bus in processing',
    labels: ['legate.messaging.queue', 'legate.messaging.type'],
  },
  'legate.messaging.dlq.depth': {
    type: 'gauge',
    help: 'Dead letters of the queues that this process consumes',
    labels: ['legate.messaging.queue'],
  },
  'legate.a2a.requests': { type: 'counter', help: 'Calls of peers', labels: peerLabels },
  'legate.a2a.failures': {
    type: 'counter',
    help: 'Failed calls of peers by outcome',
    labels: [...peerLabels, 'end'],
  },
  'legate.a2a.duration': {
    type: 'histogram',
    unit: 'ms',
    help: 'Duration of calls of peers',
    labels: [...peerLabels, 'status', 'latency_grade'],
  },
  'legate.a2a.polling_attempts': {
    type: 'counter',
    help: 'Polls of tasks of peers that do not stream',
    labels: peerLabels,
  },
  'legate.a2a.streaming_events': {
    type: 'counter',
    help: 'Events in the streams of peers',
    labels: peerLabels,
  },
  'legate.a2a.subscribe_fallbacks': {
    type: 'counter',
    help: 'Broken streams of peers that were continued by polling',
    labels: peerLabels,
  },
  'legate.a2a.input_required_rounds': {
    type: 'counter',
    help: 'Answered input-required rounds of peers',
    labels: peerLabels,
  },
  'legate.a2a.input_required_breaks': {
    type: 'counter',
    help: 'Aborted input-required exchanges: max_rounds or repetition',
    labels: [...peerLabels, 'reason'],
  },
  'legate.telemetry.dropped': {
    type: 'counter',
    help: 'Spans that were not exported by reason',
    labels: ['reason'],
  },
  'process.cpu': {
    type: 'counter',
    unit: 's',
    help: 'CPU time of the process',
    labels: [],
  },
  'process.resident_memory': {
    type: 'gauge',
    unit: 'By',
    help: 'Resident memory of the process',
    labels: [],
  },
  'process.start_time': {
    type: 'gauge',
    unit: 's',
    help: 'Start time of the process, since 1970',
    labels: [],
  },
} as const satisfies Readonly<Record<string, MetricEntry>>;

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
