import { metricTable, prometheusName } from '../../src/telemetry/index.ts';
import { logMeanings } from './log-meanings.ts';
import { countedMetrics, loggedEvents, mismatches, startedSpans } from './scan.ts';

/** What every span of a call of a peer bears, so that the traces of caller and responder can be joined. */
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
  readonly attributes: readonly string[];
  /** Whether `peerAttributes` are on it too. @default false */
  readonly isOfPeer?: boolean;
}

/** Every span, with what is said of it. */
export const spanTable: Readonly<Record<string, SpanEntry>> = {
  'legate.turn': {
    meaning: 'A turn of an agent',
    attributes: [
      'legate.agent',
      'legate.task_id',
      'legate.context_id',
      'legate.turn_id',
      'legate.attempt',
      'legate.outcome',
    ],
  },
  'legate.model': {
    meaning: 'An answer of a language model',
    attributes: [
      'gen_ai.operation.name',
      'gen_ai.provider.name',
      'gen_ai.request.model',
      'gen_ai.usage.input_tokens',
      'gen_ai.usage.output_tokens',
    ],
  },
  'legate.tool': {
    meaning: 'A call of a tool',
    attributes: ['gen_ai.operation.name', 'gen_ai.tool.name'],
  },
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
    'A program with an OpenTelemetry SDK of its own needs none of that: everything is told to that SDK, and nothing is sent from here. `startTelemetry()` turns it on for programs that serve nothing, such as workers on the bus; `legate work` reads the same block.',
    '## Who may read /metrics',
    'Metrics name agents, models, tools, queues and peers, and tell how busy they are, so they are off unless asked for. When they are on, callers may read them: where the server authenticates callers, Prometheus authenticates like any caller (`authorization`, `oauth2` or `tls_config` of its scrape configuration). Where the server accepts anonymous callers, only this machine may read them, and a request through a proxy does not count as this machine. `access: public` is for networks that restrict access themselves.',
    '`legate work` serves nothing else, so `prometheus` opens a port of its own for it: `http://127.0.0.1:9464/metrics`, or `--metrics-port`. It has no callers, so only this machine may read it; `access: public` opens it to other machines. With `--once` there is none unless `--metrics-port` names one.',
    [
      '```yaml',
      '# prometheus.yml',
      'scrape_configs:',
      '  - job_name: legate',
      '    static_configs: [{targets: [localhost:5005]}]',
      '    # where callers must prove who they are:',
      '    authorization: {credentials_file: /run/secrets/prometheus_token}',
      '```',
    ].join('\n'),
    '## Sending',
    'OTLP over HTTP with JSON. Spans wait in a queue of bounded length and go in batches; a collector that is away costs spans, which are counted (`legate.telemetry.dropped`), never a turn. Closing the server sends what is left, once.',
    '## One trace over every hop',
    'W3C `traceparent` and `tracestate` are read from JSON-RPC, REST, the REST channel, gRPC metadata, headers of bus messages, and of MCP calls (`_meta`, else the header). They are sent to remote agents (HTTP and gRPC), peers, over the bus, to webhooks (the trace that registered them), to MCP servers (header and `_meta`) and to action servers. `test/telemetry/hops.test.ts` shows each hop. A trace that is left out of the sample stays left out on every hop.',
    '## Log lines',
    'JSON lines on standard error, readable ones on a terminal, and as `LOG_FORMAT` (`json` or `pretty`) says: `level`, `time`, `event`, and fields. Every line that is written during a turn has its `turnId` (`{taskId}.{number}`) and, while there is a trace, its `traceId`. Values of fields such as `authorization`, `token` and `password`, bearer tokens, passwords in addresses and JWTs in texts are redacted.',
    'The events of Rasa keep their names, so that alerts keep working:',
    logTable((name) => name.startsWith('a2a_server.')),
    'All others:',
    logTable((name) => !name.startsWith('a2a_server.')),
    '## Metrics',
    'The first name is that of OpenTelemetry, the second that of Prometheus.',
    [
      '| metric | for Prometheus | type | labels | |',
      '|---|---|---|---|---|',
      ...Object.entries(metricTable).map(([name, entry]) => {
        const { type, help, labels } = entry;
        const unit = 'unit' in entry ? { unit: entry.unit } : {};
        const shown = prometheusName({ name, type, ...unit });
        return `| \`${name}\` | \`${shown}\` | ${type} | ${coded(labels)} | ${help} |`;
      }),
    ].join('\n'),
    '## Spans',
    `On every span of a call of a peer, so that the traces of caller and responder can be joined: ${coded(peerAttributes)}.`,
    [
      '| span | | attributes |',
      '|---|---|---|',
      ...Object.entries(spanTable).map(([name, { meaning, attributes, isOfPeer = false }]) => {
        const shown = isOfPeer
          ? [...(attributes.length === 0 ? [] : [coded(attributes)]), 'those of every call'].join(
              ', and ',
            )
          : coded(attributes);
        return `| \`${name}\` | ${meaning} | ${shown} |`;
      }),
    ].join('\n'),
  ].join('\n\n');
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
