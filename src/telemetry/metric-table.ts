interface MetricEntry {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly unit?: 's' | 'ms' | 'By';
  readonly help: string;
  /** What tells its series apart. */
  readonly labels: readonly string[];
}

const peerLabels = ['legate.a2a.target_agent', 'legate.a2a.skill', 'legate.a2a.transport'];
const sentLabels = ['messaging.destination.name', 'legate.messaging.type', 'status'];
const takenLabels = ['legate.messaging.queue', 'legate.messaging.type', 'status'];

/** Every metric there is, by its name in OpenTelemetry. The reference is made from this table. */
export const metricTable = {
  'legate.turns': {
    type: 'counter',
    help: 'Turns that ended, by how they ended',
    labels: ['agent', 'outcome'],
  },
  'legate.turn.duration': {
    type: 'histogram',
    unit: 's',
    help: 'How long turns took',
    labels: [],
  },
  'legate.turns.running': { type: 'gauge', help: 'Turns that run now', labels: ['agent'] },
  'legate.events': { type: 'counter', help: 'Events made by turns', labels: ['agent'] },
  'legate.push.attempts': {
    type: 'counter',
    help: 'Attempts at a webhook that came to an end: delivered, retry or dead',
    labels: ['outcome'],
  },
  'legate.push.duration': {
    type: 'histogram',
    unit: 's',
    help: 'How long attempts at webhooks took',
    labels: ['outcome'],
  },
  'legate.store.write_failures': {
    type: 'counter',
    help: 'Writes that the store failed to make: a full disk, a database that is away',
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
    help: 'Requests refused for reasons of security, by the code of the error',
    labels: ['code'],
  },
  'legate.model.calls': {
    type: 'counter',
    help: 'Answers asked of language models, by what came of them',
    labels: ['model', 'outcome'],
  },
  'legate.model.duration': {
    type: 'histogram',
    unit: 's',
    help: 'How long language models took, retries included',
    labels: ['model', 'outcome'],
  },
  'legate.model.tokens': {
    type: 'counter',
    help: 'Tokens that language models say they used',
    labels: ['model', 'direction'],
  },
  'legate.tool.calls': {
    type: 'counter',
    help: 'Calls of tools by language models, by what came of them',
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
    help: 'How long the bus took to confirm messages',
    labels: sentLabels,
  },
  'legate.messaging.process.messages': {
    type: 'counter',
    help: 'Messages taken from the bus, by what became of them',
    labels: takenLabels,
  },
  'legate.messaging.process.duration': {
    type: 'histogram',
    unit: 'ms',
    help: 'How long messages took from receipt to their acknowledgement',
    labels: takenLabels,
  },
  'legate.messaging.active_messages': {
    type: 'gauge',
    help: 'Messages of the bus that are being worked on',
    labels: ['legate.messaging.queue', 'legate.messaging.type'],
  },
  'legate.messaging.dlq.depth': {
    type: 'gauge',
    help: 'Dead letters of the queues that are consumed here',
    labels: ['legate.messaging.queue'],
  },
  'legate.a2a.requests': { type: 'counter', help: 'Calls of peers', labels: peerLabels },
  'legate.a2a.failures': {
    type: 'counter',
    help: 'Calls of peers that did not complete, by how they ended',
    labels: [...peerLabels, 'end'],
  },
  'legate.a2a.duration': {
    type: 'histogram',
    unit: 'ms',
    help: 'How long calls of peers took',
    labels: [...peerLabels, 'status', 'latency_grade'],
  },
  'legate.a2a.polling_attempts': {
    type: 'counter',
    help: 'Looks at tasks of peers that do not stream',
    labels: peerLabels,
  },
  'legate.a2a.streaming_events': {
    type: 'counter',
    help: 'Events in the streams of peers',
    labels: peerLabels,
  },
  'legate.a2a.subscribe_fallbacks': {
    type: 'counter',
    help: 'Streams of peers that broke and were followed by looking instead',
    labels: peerLabels,
  },
  'legate.a2a.input_required_rounds': {
    type: 'counter',
    help: 'Questions of peers that were answered',
    labels: peerLabels,
  },
  'legate.a2a.input_required_breaks': {
    type: 'counter',
    help: 'Exchanges of questions that were broken off: max_rounds or repetition',
    labels: [...peerLabels, 'reason'],
  },
  'legate.telemetry.dropped': {
    type: 'counter',
    help: 'Spans that were not exported, by why',
    labels: ['reason'],
  },
  'process.cpu': {
    type: 'counter',
    unit: 's',
    help: 'Processor time that the process used',
    labels: [],
  },
  'process.resident_memory': {
    type: 'gauge',
    unit: 'By',
    help: 'Memory that the process has',
    labels: [],
  },
  'process.start_time': {
    type: 'gauge',
    unit: 's',
    help: 'When the process began, since 1970',
    labels: [],
  },
} as const satisfies Readonly<Record<string, MetricEntry>>;

export type MetricName = keyof typeof metricTable;
