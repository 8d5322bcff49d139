import { expect, test } from 'vitest';
import { Field, formatProblem, Problems, readTelemetry, type Section, YamlFile } from './index.ts';

function read(text: string, environment = {}) {
  const problems = new Problems();
  const file = YamlFile.parse({ file: 'endpoints.yml', text }, problems, { environment });
  const settings = readTelemetry(Field.root(file, problems).section() as Section);
  return { settings, problems: problems.all.map(formatProblem) };
}

test('everything that telemetry can be told', () => {
  const text = [
    'service_name: bank',
    'resource: {deployment.environment.name: test}',
    'sample_ratio: 0.5',
    'prometheus: {path: /internal/metrics, access: local, token: "${METRICS_TOKEN}"}',
    'otlp:',
    '  endpoint: https://collector.example.com:4318',
    '  headers: {authorization: "${OTLP_TOKEN}"}',
    '  traces: true',
    '  metrics: false',
    '  batch_delay_seconds: 1',
    '  metrics_interval_seconds: 30',
    '  timeout_seconds: 5',
    '  max_queue: 100',
  ].join('\n');
  const { settings, problems } = read(text, { OTLP_TOKEN: 't', METRICS_TOKEN: 'm' });
  expect(problems).toEqual([]);
  expect(settings).toEqual({
    serviceName: 'bank',
    resource: { 'deployment.environment.name': 'test' },
    sampleRatio: 0.5,
    prometheus: { path: '/internal/metrics', access: 'local', token: 'm' },
    otlp: {
      endpoint: 'https://collector.example.com:4318',
      headers: { authorization: 't' },
      traces: true,
      metrics: false,
      batchDelaySeconds: 1,
      metricsIntervalSeconds: 30,
      timeoutSeconds: 5,
      maxQueue: 100,
    },
  });
});

test('prometheus is a word, or a mapping, or not there', () => {
  expect(read('prometheus: true').settings.prometheus).toEqual({});
  expect(read('prometheus: false').settings.prometheus).toBeUndefined();
  expect(read('service_name: x').settings.prometheus).toBeUndefined();
});

test.each([
  ['otlp: {}', 'endpoints.yml:1:1 otlp: "endpoint" is missing'],
  [
    'otlp: {endpoint: localhost}',
    'endpoints.yml:1:18 otlp.endpoint: must be a URL that starts with http:// or https://',
  ],
  [
    'otlp: {endpoint: "https://u:p@collector"}',
    'endpoints.yml:1:18 otlp.endpoint: must not hold a user name or a password; configure authentication instead',
  ],
  [
    'otlp: {endpoint: "http://c", headers: {x-token: hunter2}}',
    'endpoints.yml:1:49 otlp.headers.x-token: a secret must not be written into a file; write "${X-TOKEN}"',
  ],
  [
    'otlp: {endpoint: "http://collector", headers: {x-token: "${T}"}}',
    'endpoints.yml:1:18 otlp.endpoint: headers are not sent over plain http to other machines; use https',
  ],
  [
    'prometheus: {path: metrics}',
    'endpoints.yml:1:20 prometheus.path: must be a path such as /metrics',
  ],
  [
    'prometheus: {access: all}',
    'endpoints.yml:1:22 prometheus.access: must be one of callers, local, public, but is "all"',
  ],
  [
    'sample_ratio: 2',
    'endpoints.yml:1:15 sample_ratio: must be a number that is not more than 1, but is 2',
  ],
  ['otpl: {}', 'endpoints.yml:1:1 otpl: unknown key "otpl"; did you mean "otlp"?'],
])('%s is refused with its place', (text, problem) => {
  expect(read(text, { T: 't' }).problems).toEqual([problem]);
});
