import { stringify } from 'yaml';
import { metricTable, prometheusName } from '../../src/telemetry/index.ts';
import { logMeanings } from './log-meanings.ts';
import { countedMetrics, loggedEvents, mismatches, startedSpans } from './scan.ts';

/**
 * The attributes of every span of a call to a peer, so that the traces of caller and responder can be
 * joined.
 */
export const peerAttributes: readonly string[] = [
  'legate.a2a.target_agent',
  'legate.a2a.skill',
  'legate.a2a.transport',
  'legate.a2a.protocol',
  'legate.a2a.correlation_id',
  'legate.a2a.session_id',
  'legate.a2a.task_id',
  'legate.a2a.context_id',
];

interface SpanEntry {
  readonly meaning: string;
  /** The attribute whose value follows the operation in the span's name. */
  readonly subject?: string;
  readonly attributes: readonly string[];
  /** Whether it has `peerAttributes`, too. @default false */
  readonly isOfPeer?: boolean;
}

/** Every span, with its description. */
export const spanTable: Readonly<Record<string, SpanEntry>> = {
  'legate.turn': {
    meaning: 'A turn of an agent',
    attributes: [
      'gen_ai.operation.name',
      'gen_ai.agent.name',
      'gen_ai.conversation.id',
      'legate.agent',
      'legate.task_id',
      'legate.context_id',
      'legate.turn_id',
      'legate.attempt',
      'legate.outcome',
    ],
  },
  chat: {
    subject: 'gen_ai.request.model',
    meaning: 'An answer of a language model, retries included',
    attributes: [
      'gen_ai.operation.name',
      'gen_ai.provider.name',
      'gen_ai.request.model',
      'gen_ai.response.finish_reasons',
      'gen_ai.usage.input_tokens',
      'gen_ai.usage.output_tokens',
    ],
  },
  embeddings: {
    subject: 'gen_ai.request.model',
    meaning: 'Texts that an embedding model turned into vectors',
    attributes: [
      'gen_ai.operation.name',
      'gen_ai.provider.name',
      'gen_ai.request.model',
      'gen_ai.usage.input_tokens',
      'gen_ai.usage.output_tokens',
    ],
  },
  execute_tool: {
    subject: 'gen_ai.tool.name',
    meaning: 'A call of a tool by a language model',
    attributes: ['gen_ai.operation.name', 'gen_ai.tool.name', 'gen_ai.tool.call.id'],
  },
  'tools/call': {
    subject: 'gen_ai.tool.name',
    meaning: 'A call of a tool of an MCP server',
    attributes: ['gen_ai.tool.name', 'mcp.method.name', 'legate.mcp.server'],
  },
  invoke_agent: {
    subject: 'gen_ai.agent.name',
    meaning: 'An agent that a flow or another agent runs',
    attributes: [
      'gen_ai.operation.name',
      'gen_ai.agent.name',
      'gen_ai.conversation.id',
      'legate.call.mode',
    ],
  },
  'legate.understand': {
    meaning: 'An assistant reads a message: the generator turns it into commands',
    attributes: ['legate.channel'],
  },
  'legate.flow': {
    meaning: 'Consecutive steps of a flow in one turn of an assistant',
    attributes: ['legate.flow'],
  },
  'legate.step': {
    meaning: 'A step of a flow, with the action or call that it runs',
    attributes: ['legate.flow', 'legate.step', 'legate.step.kind'],
  },
  'legate.action': { meaning: 'A custom action', attributes: ['legate.action'] },
  'legate.mcp.call': {
    meaning: 'A call of an agent that is served as an MCP server',
    attributes: ['legate.agent'],
  },
  'legate.messaging.publish': {
    meaning: 'A message to the bus, until it is confirmed',
    attributes: [
      'messaging.destination.name',
      'legate.messaging.type',
      'legate.a2a.correlation_id',
    ],
  },
  'legate.messaging.process': {
    meaning: 'A message from the bus, until it is settled',
    attributes: [
      'legate.messaging.queue',
      'legate.messaging.type',
      'legate.messaging.attempt',
      'legate.messaging.reason',
      'legate.a2a.correlation_id',
    ],
  },
  'legate.a2a.invoke': {
    meaning: 'A call of a peer, from the request to its end',
    attributes: ['legate.a2a.duration_ms'],
    isOfPeer: true,
  },
  'legate.a2a.http_dispatch': {
    meaning: 'The request of such a call over HTTP',
    attributes: ['legate.a2a.a2a_version'],
    isOfPeer: true,
  },
  'legate.a2a.streaming_dispatch': {
    meaning: 'The same, where the answer is a stream',
    attributes: ['legate.a2a.a2a_version', 'legate.a2a.total_events'],
    isOfPeer: true,
  },
  'legate.a2a.subscribe_loop': {
    meaning: 'Following a task by subscription',
    attributes: [],
    isOfPeer: true,
  },
  'legate.a2a.poll_loop': {
    meaning: 'Looking at a task until it ends',
    attributes: ['legate.a2a.total_polls'],
    isOfPeer: true,
  },
  'legate.a2a.input_required_loop': {
    meaning: 'All questions of one call',
    attributes: ['legate.a2a.round', 'legate.a2a.autonomous'],
    isOfPeer: true,
  },
  'legate.a2a.input_required_round': {
    meaning: 'One question and its answer',
    attributes: ['legate.a2a.round', 'legate.a2a.autonomous'],
    isOfPeer: true,
  },
};

export function telemetryPage(): string {
  const wrong = [
    ...mismatches('metric', countedMetrics(), Object.keys(metricTable)),
    ...mismatches('span', startedSpans(), Object.keys(spanTable)),
    ...mismatches(
      'log event (log-meanings.ts)',
      new Set(loggedEvents().keys()),
      Object.keys(logMeanings),
    ),
  ];
  if (wrong.length > 0) throw new Error(wrong.join('\n'));
  return [
    '# Telemetry',
    `Off unless asked for: \`telemetry:\` in [endpoints.yml](configuration.md), or in code:`,
    [
      '```ts',
      "import { agent, artifact, createLogger, serve } from 'legate';",
      '',
      "const echo = agent({ name: 'echo' }, async function* () {",
      "  yield artifact('hello');",
      '});',
      '',
      'await using server = await serve(echo, {',
      '  prometheus: true, // GET /metrics',
      "  telemetry: { serviceName: 'echo', otlp: { endpoint: 'http://localhost:4318' } },",
      "  logger: createLogger({ level: 'info', format: 'auto' }),",
      '});',
      '```',
    ].join('\n'),
    'If your program has its own OpenTelemetry SDK, Legate records to that SDK and exports nothing itself. `startTelemetry()` turns it on for programs that serve nothing, such as workers on the bus; `legate work` reads the same block.',
    '## Who may read /metrics',
    'Metrics name agents, models, tools, queues and peers, and tell how busy they are, so they are off unless asked for. When they are on, callers may read them: where the server authenticates callers, Prometheus authenticates like any caller (`authorization`, `oauth2` or `tls_config` of its scrape configuration). Where the server accepts anonymous callers, only this machine may read them, and a request through a proxy does not count as this machine. `access: public` is for networks that restrict access themselves. `token` is a bearer token of its own for Prometheus, on assistants, gateways and workers alike: it reads metrics from any machine and nothing else.',
    '`legate work` takes its tasks from the bus, so `prometheus` opens a port for it: `http://127.0.0.1:9464/metrics`, or `--port`. The port has no callers, so only this machine may read metrics there, unless `token` or `access: public` opens them to others. `/health` and `/ready` are on the same port; with `--port` it opens without metrics too. `--interface 0.0.0.0` makes it reachable for the probes of a cluster. With `--once` there is none unless `--port` names one.',
    [
      '```yaml',
      '# prometheus.yml',
      'scrape_configs:',
      '  - job_name: legate',
      '    static_configs: [{targets: [localhost:5005]}]',
      '    # the token of prometheus.token, or the one of a caller:',
      '    authorization: {credentials_file: /run/secrets/prometheus_token}',
      '```',
    ].join('\n'),
    '## Sending',
    'OTLP over HTTP with JSON. Spans wait in a queue of bounded length and go in batches; a collector that is away costs spans, which are counted (`legate.telemetry.dropped`), never a turn. Closing the server sends what is left, once.',
    '## One trace over every hop',
    'W3C `traceparent` and `tracestate` are read from JSON-RPC, REST, the REST channel, gRPC metadata, headers of bus messages, and of MCP calls (`_meta`, else the header). They are sent to remote agents (HTTP and gRPC), peers, over the bus, to webhooks (the trace that registered them), to MCP servers (header and `_meta`) and to action servers. `test/telemetry/hops.test.ts` shows each hop. A trace that is left out of the sample stays left out on every hop.',
    '## Inside a turn',
    'Spans of models, tools and agents are named as the [GenAI semantic conventions](https://opentelemetry.io/docs/specs/semconv/gen-ai/) ask, and calls of MCP tools as those for MCP do. A failed operation has `error.type`: a code, never the text of the error. Inputs, outputs and prompts are never in a span.',
    '## Log lines',
    'JSON lines on standard error, readable ones on a terminal, and as `LOG_FORMAT` (`json` or `pretty`) says: `level`, `time`, `event`, and fields. Every line that is written during a turn has its `turnId` (`{taskId}.{number}`) and, while there is a trace, its `traceId`. Values of fields such as `authorization`, `token` and `password`, bearer tokens, passwords in addresses and JWTs in texts are redacted.',
    'The events of Rasa keep their names, so that alerts keep working:',
    logTable((name) => name.startsWith('a2a_server.')),
    'All others:',
    logTable((name) => !name.startsWith('a2a_server.')),
    '## Metrics',
    'The first name is that of OpenTelemetry, the second that of Prometheus. A histogram has `_bucket`, `_sum` and `_count` behind its name; `_count` is the number of operations. Labels have bounded values: beyond 1,000 series of a metric the rest is counted as `otel_metric_overflow`. Gauges "over all replicas" are read from the store, so every replica shows the same number: use `max`, not `sum`.',
    'Each metric has an alert. [`alerts.yml`](alerts.yml) has them as rules for Prometheus (`rule_files:`); adapt the limits to your load. `promtool check rules docs/reference/alerts.yml` checks them.',
    [
      '| metric | for Prometheus | type | labels | | alert |',
      '|---|---|---|---|---|---|',
      ...Object.entries(metricTable).map(([name, entry]) => {
        const { type, help, labels, alert } = entry;
        const unit = 'unit' in entry ? { unit: entry.unit } : {};
        const shown = prometheusName({ name, type, ...unit });
        return `| \`${name}\` | \`${shown}\` | ${type} | ${coded(labels)} | ${help} | ${alert.summary} |`;
      }),
    ].join('\n'),
    '## Spans',
    `On every span of a call of a peer, so that the traces of caller and responder can be joined: ${coded(peerAttributes)}.`,
    [
      '| span | | attributes |',
      '|---|---|---|',
      ...Object.entries(spanTable).map(
        ([name, { meaning, subject, attributes, isOfPeer = false }]) => {
          const shown = isOfPeer
            ? [...(attributes.length === 0 ? [] : [coded(attributes)]), 'those of every call'].join(
                ', and ',
              )
            : coded(attributes);
          return `| \`${name}${subject === undefined ? '' : ` {${subject}}`}\` | ${meaning} | ${shown} |`;
        },
      ),
    ].join('\n'),
  ].join('\n\n');
}

/** The alerts as a Prometheus rules file. */
export function alertRules(): string {
  const rules = Object.entries(metricTable).map(([name, { alert }]) => {
    const words = name.split(/[._]/).map((word) => word.charAt(0).toUpperCase() + word.slice(1));
    return {
      alert: words.join(''),
      expr: alert.expr,
      for: 'for' in alert ? alert.for : '10m',
      labels: { severity: 'warning' },
      annotations: { summary: alert.summary },
    };
  });
  const text = stringify(
    { groups: [{ name: 'legate', rules }] },
    { lineWidth: 0, singleQuote: true },
  );
  return `# Written by \`npm run reference\` from src/telemetry/metric-table.ts: change it there.\n${text}`;
}

function coded(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(', ');
}

function logTable(isMeant: (name: string) => boolean): string {
  const rows = [...loggedEvents()]
    .filter(([name]) => isMeant(name))
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, level]) => `| \`${name}\` | ${level} | ${logMeanings[name]} |`);
  return ['| event | level | |', '|---|---|---|', ...rows].join('\n');
}
