/** A Prometheus alerting rule. */
interface Alert {
  /** PromQL; the alert fires while it returns a series. */
  readonly expr: string;
  /** The problem, and what to check. */
  readonly summary: string;
  /** How long the condition must be true before the alert fires. @default '10m' */
  readonly for?: string;
}

interface MetricEntry {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly unit?: 's' | 'ms' | 'By';
  readonly help: string;
  /** The attributes of its series. */
  readonly labels: readonly string[];
  readonly alert: Alert;
}

type MetricRow = (help: string, entry: Omit<MetricEntry, 'type' | 'help'>) => MetricEntry;

const rowOf =
  (type: MetricEntry['type']): MetricRow =>
  (help, entry) => ({ type, help, ...entry });

const counter = rowOf('counter');
const gauge = rowOf('gauge');
const histogram = rowOf('histogram');

const peerLabels = ['legate.a2a.target_agent', 'legate.a2a.skill', 'legate.a2a.transport'];
const sentLabels = ['messaging.destination.name', 'legate.messaging.type', 'status'];
const takenLabels = ['legate.messaging.queue', 'legate.messaging.type', 'status'];

/** Fires when more than `part` of the operations fail, at more than 0.02 operations per second. */
function errors(metric: string, by: string, ok = 'outcome="ok"', part = 0.1): string {
  const rate = (selector: string) => `sum by (${by}) (rate(${metric}${selector}[5m]))`;
  const failed = ok.replace('=', '!=');
  return `${rate(`{${failed}}`)} / ${rate('')} > ${part} and ${rate('')} > 0.02`;
}

/** Fires when the 95th percentile exceeds `limit`, in the unit of the metric. */
function slow(metric: string, by: string, limit: number): string {
  return `histogram_quantile(0.95, sum by (le, ${by}) (rate(${metric}_bucket[5m]))) > ${limit}`;
}

/** All metrics by their OpenTelemetry names, each with an alert. The reference is generated from it. */
export const metricTable = {
  'legate.request.duration': histogram(
    'Duration of requests by transport, operation and outcome: `ok` or an error code. For a stream, the time until it opens',
    {
      unit: 's',
      labels: ['transport', 'operation', 'outcome'],
      alert: {
        expr: 'sum by (transport, operation) (rate(legate_request_duration_seconds_count{outcome=~"INTERNAL|STORE_FAILED|UNAVAILABLE"}[5m])) / sum by (transport, operation) (rate(legate_request_duration_seconds_count[5m])) > 0.05',
        summary:
          'More than 5 % of the requests fail with server errors; check the log for the reason',
      },
    },
  ),
  'legate.streams.open': gauge('Open streams of callers', {
    labels: ['transport'],
    alert: {
      expr: 'sum by (instance) (legate_streams_open) > 5000',
      summary: 'More than 5,000 streams are open; check for clients that never close them',
    },
  }),
  'legate.turns': counter('Ended turns by outcome', {
    labels: ['agent', 'outcome'],
    alert: {
      expr: 'sum by (agent) (rate(legate_turns_total{outcome="failed"}[5m])) / sum by (agent) (rate(legate_turns_total[5m])) > 0.1',
      summary: 'More than 10 % of the turns of an agent fail',
    },
  }),
  'legate.turn.duration': histogram('Duration of turns', {
    unit: 's',
    labels: ['agent', 'outcome'],
    alert: {
      expr: slow('legate_turn_duration_seconds', 'agent', 60),
      summary:
        'Turns of an agent take more than a minute; compare its models, tools and sub agents',
    },
  }),
  'legate.turns.running': gauge('Running turns', {
    labels: ['agent'],
    alert: {
      expr: 'sum by (instance) (legate_turns_running) > 900',
      summary: 'The process is close to maxRunningTurns (1,000 by default); add replicas',
    },
  }),
  'legate.turns.queued': gauge('Queued turns over all replicas', {
    labels: ['agent'],
    alert: {
      expr: 'max by (agent) (legate_turns_queued) > 100',
      summary: 'More than 100 turns of an agent wait for other turns of their conversations',
    },
  }),
  'legate.events': counter('Events emitted by turns', {
    labels: ['agent'],
    alert: {
      expr: 'sum by (agent) (legate_turns_running) > 0 and sum by (agent) (rate(legate_events_total[10m])) == 0',
      summary: 'Turns of an agent run without emitting events',
      for: '15m',
    },
  }),
  'legate.contexts.open': gauge('Contexts with unfinished tasks, over all replicas', {
    labels: ['agent'],
    alert: {
      expr: 'max by (agent) (legate_contexts_open) / (max by (agent) (legate_contexts_limit) > 0) > 0.8',
      summary:
        'An agent is close to its limit of contexts (maxContexts); messages above the limit fail',
    },
  }),
  'legate.contexts.limit': gauge('Limit of contexts with unfinished tasks; 0 for none', {
    labels: ['agent'],
    alert: {
      expr: 'min by (agent) (legate_contexts_limit) != max by (agent) (legate_contexts_limit)',
      summary: 'Replicas of an agent have different limits of contexts; deploy one configuration',
    },
  }),
  'legate.flow.events': counter(
    'Flows that were started, completed, cancelled, interrupted or resumed',
    {
      labels: ['flow', 'event'],
      alert: {
        expr: 'sum by (flow) (increase(legate_flow_events_total{event="cancelled"}[1h])) / sum by (flow) (increase(legate_flow_events_total{event="started"}[1h])) > 0.5',
        summary: 'Users cancel more than half of the runs of a flow',
        for: '1h',
      },
    },
  ),
  'legate.flow.steps': counter('Steps of flows by kind', {
    labels: ['flow', 'kind'],
    alert: {
      expr: 'sum by (flow) (increase(legate_flow_steps_total[1h])) / sum by (flow) (increase(legate_flow_events_total{event="started"}[1h])) > 200',
      summary: 'A flow takes more than 200 steps per run; check it for a loop',
    },
  }),
  'legate.action.calls': counter('Calls of custom actions by outcome', {
    labels: ['action', 'outcome'],
    alert: {
      expr: errors('legate_action_calls_total', 'action'),
      summary: 'More than 10 % of the calls of an action fail; check the action server',
    },
  }),
  'legate.action.duration': histogram('Duration of custom actions', {
    unit: 's',
    labels: ['action', 'outcome'],
    alert: {
      expr: slow('legate_action_duration_seconds', 'action', 5),
      summary: 'An action takes more than five seconds',
    },
  }),
  'legate.sub_agent.calls': counter('Calls of sub agents by outcome', {
    labels: ['sub_agent', 'outcome'],
    alert: {
      expr: errors('legate_sub_agent_calls_total', 'sub_agent'),
      summary: 'More than 10 % of the calls of a sub agent fail',
    },
  }),
  'legate.sub_agent.duration': histogram('Duration of calls of sub agents', {
    unit: 's',
    labels: ['sub_agent', 'outcome'],
    alert: {
      expr: slow('legate_sub_agent_duration_seconds', 'sub_agent', 60),
      summary: 'A sub agent takes more than a minute',
    },
  }),
  'legate.model.calls': counter('Calls of language models by outcome', {
    labels: ['model', 'outcome'],
    alert: {
      expr: errors('legate_model_calls_total', 'model'),
      summary: 'More than 10 % of the calls of a model fail, after all retries',
    },
  }),
  'legate.model.duration': histogram('Duration of language model calls, retries included', {
    unit: 's',
    labels: ['model', 'outcome'],
    alert: {
      expr: slow('legate_model_duration_seconds', 'model', 30),
      summary: 'A model takes more than 30 seconds',
    },
  }),
  'legate.model.tokens': counter('Tokens used, as reported by language models', {
    labels: ['model', 'direction'],
    alert: {
      expr: 'sum by (model) (increase(legate_model_tokens_total[1h])) > 5 * sum by (model) (increase(legate_model_tokens_total[1h] offset 1d)) and sum by (model) (increase(legate_model_tokens_total[1h])) > 1e6',
      summary: 'A model uses five times the tokens of the same hour yesterday',
    },
  }),
  'legate.tool.calls': counter('Tool calls by language models by outcome', {
    labels: ['tool', 'outcome'],
    alert: {
      expr: errors('legate_tool_calls_total', 'tool'),
      summary: 'More than 10 % of the calls of a tool fail',
    },
  }),
  'legate.tool.duration': histogram('Duration of tool calls', {
    unit: 's',
    labels: ['tool', 'outcome'],
    alert: {
      expr: slow('legate_tool_duration_seconds', 'tool', 30),
      summary: 'A tool takes more than 30 seconds',
    },
  }),
  'legate.mcp.calls': counter('Calls of tools of MCP servers by outcome', {
    labels: ['server', 'tool', 'outcome'],
    alert: {
      expr: errors('legate_mcp_calls_total', 'server'),
      summary: 'More than 10 % of the calls to an MCP server fail',
    },
  }),
  'legate.mcp.duration': histogram('Duration of calls of tools of MCP servers', {
    unit: 's',
    labels: ['server', 'tool', 'outcome'],
    alert: {
      expr: slow('legate_mcp_duration_seconds', 'server', 10),
      summary: 'An MCP server takes more than ten seconds',
    },
  }),
  'legate.push.attempts': counter('Finished webhook delivery attempts: delivered, retry or dead', {
    labels: ['outcome'],
    alert: {
      expr: 'sum(rate(legate_push_attempts_total{outcome="retry"}[15m])) / sum(rate(legate_push_attempts_total[15m])) > 0.5',
      summary: 'More than half of the webhook attempts fail; check the receivers',
    },
  }),
  'legate.push.duration': histogram('Duration of webhook delivery attempts', {
    unit: 's',
    labels: ['outcome'],
    alert: {
      expr: slow('legate_push_duration_seconds', 'outcome', 10),
      summary: 'Receivers of webhooks take more than ten seconds',
    },
  }),
  'legate.push.deliveries': gauge(
    'Webhook deliveries by state, pending or dead, over all replicas',
    {
      labels: ['state'],
      alert: {
        expr: 'max(legate_push_deliveries{state="dead"}) > 0 or max(legate_push_deliveries{state="pending"}) > 1000',
        summary:
          'Webhook deliveries are dead, or more than 1,000 are pending; run legate push list',
      },
    },
  ),
  'legate.store.duration': histogram(
    'Duration of store operations; writes include the time until they are durable',
    {
      unit: 's',
      labels: ['driver', 'operation'],
      alert: {
        expr: slow('legate_store_duration_seconds', 'operation', 0.5),
        summary: 'The store takes more than half a second; check disk and database',
      },
    },
  ),
  'legate.store.group_size': histogram('Writes that share a transaction of the store', {
    labels: ['driver'],
    alert: {
      expr: 'histogram_quantile(0.5, sum by (le, driver) (rate(legate_store_group_size_bucket[5m]))) > 50',
      summary: 'Half of the transactions contain more than 50 writes: the store is the bottleneck',
    },
  }),
  'legate.store.connections': gauge('Open connections to the database by use', {
    labels: ['use'],
    alert: {
      expr: 'min by (instance) (legate_store_connections{use="write"}) == 0',
      summary: 'A replica has no connection to write to the database',
      for: '1m',
    },
  }),
  'legate.store.pending': gauge('Waiting and running database operations by use', {
    labels: ['use'],
    alert: {
      expr: 'max by (instance, use) (legate_store_pending) > 500',
      summary:
        'More than 500 operations wait for the database; Legate refuses operations above 10,000',
    },
  }),
  'legate.store.write_failures': counter(
    'Failed store writes, for example a full disk or an unavailable database',
    {
      labels: ['driver'],
      alert: {
        expr: 'sum by (instance, driver) (increase(legate_store_write_failures_total[5m])) > 0',
        summary: 'Writes to the store fail; check /ready and the log for the reason',
        for: '1m',
      },
    },
  ),
  'legate.store.clock_skew': gauge(
    "How far the wall clock of this process is ahead of the store's",
    {
      unit: 's',
      labels: [],
      alert: {
        expr: 'abs(legate_store_clock_skew_seconds) > 1',
        summary:
          "The clock of a process differs from the store's by more than a second; check time synchronisation",
      },
    },
  ),
  'legate.http.denied': counter('Requests refused for security reasons by error code', {
    labels: ['code'],
    alert: {
      expr: 'sum by (code) (rate(legate_http_denied_total[5m])) > 1',
      summary:
        'More than one request per second is refused; the audit log names addresses and callers',
    },
  }),
  'legate.messaging.connected': gauge('Whether the connection to the broker is open: 1 or 0', {
    labels: [],
    alert: {
      expr: 'min by (instance) (legate_messaging_connected) == 0',
      summary: 'A process has no connection to the broker',
      for: '1m',
    },
  }),
  'legate.messaging.publish.messages': counter('Messages published to the bus', {
    labels: sentLabels,
    alert: {
      expr: errors(
        'legate_messaging_publish_messages_total',
        'legate_messaging_type',
        'status="ok"',
        0.05,
      ),
      summary: 'The broker does not confirm more than 5 % of the published messages',
    },
  }),
  'legate.messaging.publish.duration': histogram(
    'Time until the broker confirmed a published message',
    {
      unit: 'ms',
      labels: sentLabels,
      alert: {
        expr: slow('legate_messaging_publish_duration_milliseconds', 'legate_messaging_type', 1000),
        summary: 'The broker takes more than a second to confirm messages',
      },
    },
  ),
  'legate.messaging.process.messages': counter('Messages consumed from the bus by outcome', {
    labels: takenLabels,
    alert: {
      expr: 'sum by (legate_messaging_queue) (rate(legate_messaging_process_messages_total{status=~"retry|dead"}[5m])) / sum by (legate_messaging_queue) (rate(legate_messaging_process_messages_total[5m])) > 0.1',
      summary: 'More than 10 % of the messages of a queue are retried or dead-lettered',
    },
  }),
  'legate.messaging.process.duration': histogram(
    'Time from receipt of a message to its acknowledgement',
    {
      unit: 'ms',
      labels: takenLabels,
      alert: {
        expr: slow(
          'legate_messaging_process_duration_milliseconds',
          'legate_messaging_queue',
          60_000,
        ),
        summary: 'Processing messages of a queue takes more than a minute',
      },
    },
  ),
  'legate.messaging.active_messages': gauge('Messages from the bus that are being processed', {
    labels: ['legate.messaging.queue', 'legate.messaging.type'],
    alert: {
      expr: 'sum by (instance, legate_messaging_queue) (legate_messaging_active_messages) > 100',
      summary: 'A worker processes more than 100 messages of a queue at once; add workers',
    },
  }),
  'legate.messaging.dlq.depth': gauge('Dead letters of the queues that this process consumes', {
    labels: ['legate.messaging.queue'],
    alert: {
      expr: 'max by (legate_messaging_queue) (legate_messaging_dlq_depth) > 0',
      summary: 'A queue has dead letters; run legate bus dead',
    },
  }),
  'legate.a2a.requests': counter('Calls of peers', {
    labels: peerLabels,
    alert: {
      expr: 'sum by (legate_a2a_target_agent) (rate(legate_a2a_requests_total[5m])) > 5 * sum by (legate_a2a_target_agent) (rate(legate_a2a_requests_total[5m] offset 1d)) and sum by (legate_a2a_target_agent) (rate(legate_a2a_requests_total[5m])) > 1',
      summary: 'A peer is called five times as often as at this time yesterday',
    },
  }),
  'legate.a2a.failures': counter('Failed calls of peers by outcome', {
    labels: [...peerLabels, 'end'],
    alert: {
      expr: 'sum by (legate_a2a_target_agent) (rate(legate_a2a_failures_total[5m])) / sum by (legate_a2a_target_agent) (rate(legate_a2a_requests_total[5m])) > 0.1',
      summary: 'More than 10 % of the calls of a peer fail',
    },
  }),
  'legate.a2a.duration': histogram('Duration of calls of peers', {
    unit: 'ms',
    labels: [...peerLabels, 'status', 'latency_grade'],
    alert: {
      expr: slow('legate_a2a_duration_milliseconds', 'legate_a2a_target_agent', 60_000),
      summary: 'A peer takes more than a minute',
    },
  }),
  'legate.a2a.polling_attempts': counter('Polls of tasks of peers that do not stream', {
    labels: peerLabels,
    alert: {
      expr: 'sum by (legate_a2a_target_agent) (rate(legate_a2a_polling_attempts_total[5m])) > 10',
      summary: 'A peer is polled more than ten times a second; enable streaming at the peer',
    },
  }),
  'legate.a2a.streaming_events': counter('Events in the streams of peers', {
    labels: peerLabels,
    alert: {
      expr: 'sum by (legate_a2a_target_agent) (rate(legate_a2a_streaming_events_total[5m])) > 1000',
      summary: 'A peer sends more than a thousand events a second',
    },
  }),
  'legate.a2a.subscribe_fallbacks': counter(
    'Broken streams of peers after which the client polls',
    {
      labels: peerLabels,
      alert: {
        expr: 'sum by (legate_a2a_target_agent) (increase(legate_a2a_subscribe_fallbacks_total[15m])) > 10',
        summary: 'Streams of a peer break; check proxies and their timeouts',
      },
    },
  ),
  'legate.a2a.input_required_rounds': counter('Answered input-required rounds of peers', {
    labels: peerLabels,
    alert: {
      expr: 'sum by (legate_a2a_target_agent) (rate(legate_a2a_input_required_rounds_total[15m])) / sum by (legate_a2a_target_agent) (rate(legate_a2a_requests_total[15m])) > 3',
      summary: 'A peer asks more than three questions per call',
    },
  }),
  'legate.a2a.input_required_breaks': counter(
    'Aborted input-required exchanges: max_rounds or repetition',
    {
      labels: [...peerLabels, 'reason'],
      alert: {
        expr: 'sum by (legate_a2a_target_agent) (increase(legate_a2a_input_required_breaks_total[1h])) > 0',
        summary:
          'Calls of a peer were aborted because it repeats its question or exceeds max_rounds',
      },
    },
  ),
  'legate.telemetry.dropped': counter('Spans that were not exported by reason', {
    labels: ['reason'],
    alert: {
      expr: 'sum by (instance) (increase(legate_telemetry_dropped_total[10m])) > 0',
      summary: 'Traces are incomplete: the collector is unavailable or too slow',
    },
  }),
  'nodejs.eventloop.delay.p99': gauge(
    'Delay of the event loop, 99th percentile since the last export',
    {
      unit: 's',
      labels: [],
      alert: {
        expr: 'nodejs_eventloop_delay_p99_seconds > 0.25',
        summary:
          'The event loop is delayed: the process is overloaded, or the code of an agent blocks it',
      },
    },
  ),
  'nodejs.eventloop.utilization': gauge('Fraction of time in which the event loop was busy', {
    labels: [],
    alert: {
      expr: 'nodejs_eventloop_utilization > 0.9',
      summary: 'The process uses its whole core; add replicas',
    },
  }),
  'process.cpu': counter('CPU time of the process', {
    unit: 's',
    labels: [],
    alert: {
      expr: 'rate(process_cpu_seconds_total[5m]) > 1.5',
      summary: 'The process uses more than one and a half cores',
    },
  }),
  'process.resident_memory': gauge('Resident memory of the process', {
    unit: 'By',
    labels: [],
    alert: {
      expr: 'process_resident_memory_bytes > 1.5e9',
      summary:
        'The process uses more than 1.5 GB; adjust the threshold to three quarters of its memory limit',
    },
  }),
  'process.heap_used': gauge('Used memory of the JavaScript heap', {
    unit: 'By',
    labels: [],
    alert: {
      expr: 'process_heap_used_bytes / process_heap_limit_bytes > 0.85',
      summary:
        'The heap is almost full: the process will slow down and then crash; raise --max-old-space-size',
    },
  }),
  'process.heap_limit': gauge('Limit of the JavaScript heap', {
    unit: 'By',
    labels: [],
    alert: {
      expr: 'process_heap_limit_bytes < 5e8',
      summary:
        'The heap limit is below 500 MB; set --max-old-space-size to the memory of the machine',
    },
  }),
  'process.start_time': gauge('Start time of the process, since 1970', {
    unit: 's',
    labels: [],
    alert: {
      expr: 'changes(process_start_time_seconds[30m]) > 2',
      summary: 'The process restarts repeatedly',
      for: '1m',
    },
  }),
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
