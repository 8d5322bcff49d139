import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Authenticator, bearerTokenVerifier } from '../../auth/index.ts';
import type { ClientBinding } from '../../client/index.ts';
import { grpcChannel, serveGrpc } from '../../grpc/index.ts';
import { serve, type ServeOptions } from '../../http/index.ts';
import { LegateError } from '../../protocol/index.ts';
import { generateSigningKey } from '../../push/index.ts';
import { legate, patient } from '../testing/legate-process.ts';
import { officialServer } from '../../../test/support/official-server.ts';
import { rawAgent, rawCard, result, sendJson } from '../testing/raw-agent.ts';
import { triedAgent } from '../testing/tried-agent.ts';
import { checkAgent } from './check-agent.ts';
import type { Report } from './finding.ts';

async function checked(
  url: string,
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<{ readonly code: number | null; readonly report: Report; readonly err: string }> {
  const { code, out, err } = await legate(['check', url, '--json', ...args], { env });
  return { code, err, report: JSON.parse(out) as Report };
}

const failuresOf = ({ findings }: Report) =>
  findings
    .filter(({ outcome }) => outcome === 'failed')
    .map(({ subject, id }) => `${subject} ${id}`);

const outcomesOf = ({ findings }: Report) =>
  Object.fromEntries(findings.map(({ subject, id, outcome }) => [`${subject} ${id}`, outcome]));

test('our own server passes, in both bindings and both versions', patient, async () => {
  await using server = await serve(triedAgent, { cardKeys: [generateSigningKey()] });
  const { code, report } = await checked(server.url);
  expect(failuresOf(report)).toEqual([]);
  expect(code).toBe(0);
  expect(report.counts.warning).toBe(0);
  const subjects = new Set(report.findings.map(({ subject }) => subject));
  expect([...subjects]).toEqual([
    'card',
    'caching',
    'JSONRPC 1.0',
    'HTTP+JSON 1.0',
    'JSONRPC 0.3',
    'HTTP+JSON 0.3',
    'security',
  ]);
  expect(outcomesOf(report)).toMatchObject({
    'JSONRPC 1.0 streaming.terminal': 'passed',
    'HTTP+JSON 1.0 errors.cancel-ended': 'passed',
    'HTTP+JSON 0.3 operations.get': 'passed',
  });
});

test(
  'a server with callers of its own is tried with credentials and without',
  patient,
  async () => {
    const auth = new Authenticator({
      verifiers: [bearerTokenVerifier({ tokens: [{ token: 'sesame-open', subject: 'ali' }] })],
    });
    await using server = await serve(triedAgent, { auth, protectsCard: true });
    expect((await legate(['check', server.url])).code).toBe(4);
    const { code, report, err } = await checked(server.url, ['--debug'], {
      A2ACLI_BEARER: 'sesame-open',
    });
    expect(failuresOf(report)).toEqual([]);
    expect(code).toBe(0);
    expect(outcomesOf(report)).toMatchObject({
      'security security.credentials-demanded': 'passed',
      'security security.wrong-credentials': 'passed',
      'security security.challenge': 'passed',
    });
    expect(err).not.toContain('sesame-open');
  },
);

test('TX_005: gRPC is tried as the other bindings are, in both versions', patient, async () => {
  const auth = new Authenticator({
    verifiers: [bearerTokenVerifier({ tokens: [{ token: 'sesame-open', subject: 'ali' }] })],
  });
  await using server = await serve(triedAgent, { auth });
  const grpcServer = await serveGrpc(server.router);
  try {
    const env = { A2ACLI_BEARER: 'sesame-open' };
    const { code, report } = await checked(server.url, [], env);
    expect(failuresOf(report)).toEqual([]);
    expect(code).toBe(0);
    expect(outcomesOf(report)).toMatchObject({
      'GRPC 1.0 operations.send': 'passed',
      'GRPC 1.0 operations.get': 'passed',
      'GRPC 1.0 operations.list': 'passed',
      'GRPC 1.0 operations.envelope': 'skipped',
      'GRPC 1.0 streaming.ends': 'passed',
      'GRPC 1.0 streaming.refused-early': 'passed',
      'GRPC 1.0 streaming.terminal': 'passed',
      'GRPC 1.0 errors.unknown-task': 'passed',
      'GRPC 1.0 errors.cancel-ended': 'passed',
      'GRPC 1.0 errors.empty-parts': 'passed',
      'GRPC 1.0 errors.version': 'passed',
      'GRPC 1.0 errors.content-type': 'skipped',
      'GRPC 0.3 operations.get': 'passed',
      'GRPC 0.3 streaming.events': 'passed',
      'GRPC 0.3 errors.unknown-task': 'passed',
      'security security.credentials-demanded': 'passed',
    });
  } finally {
    await grpcServer.close({ graceMs: 0 });
  }
});

const strict = new Authenticator({
  verifiers: [bearerTokenVerifier({ tokens: [{ token: 'sesame-open', subject: 'ali' }] })],
});

test.each<[string, ServeOptions, string]>([
  ['asks for credentials', { auth: strict }, 'the agent asks for credentials'],
  [
    'limits requests',
    { callerLimits: { requestsPerSecond: 0.01, burst: 1 } },
    'the agent limits requests',
  ],
  [
    'requires an extension',
    { card: { capabilities: { extensions: [{ uri: 'urn:x', required: true }] } } },
    'the agent requires an extension',
  ],
])(
  'an agent that %s violates nothing: what that hides is skipped',
  patient,
  async (_, options, why) => {
    await using server = await serve(triedAgent, { ...options, channels: [grpcChannel()] });
    const { code, report } = await checked(server.url);
    expect(failuresOf(report)).toEqual([]);
    expect(code).toBe(0);
    const skipped = report.findings.filter(({ detail }) => detail?.startsWith(why) === true);
    expect(new Set(skipped.map(({ outcome }) => outcome))).toEqual(new Set(['skipped']));
    expect(skipped.map(({ subject, id }) => `${subject} ${id}`)).toEqual(
      expect.arrayContaining(['HTTP+JSON 1.0 operations.send', 'JSONRPC 0.3 operations.send']),
    );
  },
);

/** Answers every call with the same task, whatever it is about. */
const carelessBinding: ClientBinding = {
  binding: 'GRPC',
  locate: (address) => new URL(`http://${address}`),
  open: () => {
    const task = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_COMPLETED' } };
    return {
      call: (operation) => {
        if (operation === 'sendMessage') return Promise.resolve({ task });
        return Promise.resolve(operation === 'listTasks' ? { tasks: [task, task] } : task);
      },
      stream: () => Promise.reject(new LegateError('INTERNAL', 'no streams')),
      close: () => undefined,
    };
  },
};

test('a gRPC interface that takes no care is reported', async () => {
  const offered = { url: '127.0.0.1:9', protocolBinding: 'GRPC', protocolVersion: '1.0' };
  await using agent = await rawAgent(({ response, url }) =>
    sendJson(response, rawCard(url, { supportedInterfaces: [offered] })),
  );
  const report = await checkAgent(agent.url, {
    fetch: globalThis.fetch,
    timeoutMs: 15_000,
    headers: {},
    signal: new AbortController().signal,
    text: 'Hello',
    now: 0,
    authFor: () => Promise.resolve(undefined),
    challengedAuth: () => undefined,
    bindingsOf: () => Promise.resolve([carelessBinding]),
  });
  expect(failuresOf(report)).toEqual([
    'GRPC 1.0 operations.list',
    'GRPC 1.0 streaming.opens',
    'GRPC 1.0 streaming.unknown-task',
    'GRPC 1.0 streaming.terminal',
    'GRPC 1.0 errors.unknown-task',
    'GRPC 1.0 errors.cancel-unknown',
    'GRPC 1.0 errors.cancel-ended',
    'GRPC 1.0 errors.no-message',
    'GRPC 1.0 errors.version',
    'GRPC 1.0 errors.patch-version',
  ]);
});

test('a gRPC interface that is not there is reported', patient, async () => {
  const offered = { url: '127.0.0.1:9', protocolBinding: 'GRPC', protocolVersion: '1.0' };
  await using agent = await rawAgent(({ response, url }) =>
    sendJson(response, rawCard(url, { supportedInterfaces: [offered] })),
  );
  const { code, report } = await checked(agent.url);
  expect(code).toBe(1);
  expect(failuresOf(report)).toContain('GRPC 1.0 operations.send');
});

test('what the official SDK gets wrong is found', patient, async () => {
  await using official = await officialServer();
  const { code, report } = await checked(official.url);
  expect(code).toBe(1);
  expect(failuresOf(report)).toEqual([
    'JSONRPC 1.0 errors.not-json-rpc',
    'JSONRPC 1.0 errors.patch-version',
    'HTTP+JSON 1.0 errors.patch-version',
  ]);
  expect(outcomesOf(report)).toMatchObject({
    // Recommended, or a convention.
    'JSONRPC 1.0 errors.empty-parts': 'warning',
    'security security.large-body': 'warning',
    'security security.no-traces': 'warning',
    'security security.json-errors': 'warning',
    'caching caching.last-modified': 'warning',
    'caching caching.not-modified': 'passed',
    // 0.3 sends the errors of streams as events, and does not say what historyLength 0 means.
    'JSONRPC 0.3 streaming.unknown-task': 'passed',
    'JSONRPC 0.3 streaming.refused-early': 'skipped',
    'JSONRPC 0.3 operations.history-length': 'skipped',
    'JSONRPC 0.3 errors.empty-parts': 'skipped',
  });
  const { findings } = report;
  const specification = findings.find(({ id }) => id === 'errors.not-json-rpc')?.specification;
  expect(specification).toBe('1.0.1, 9.5');
});

/** Does nearly everything wrong, and mirrors every origin. */
function brokenAgent() {
  return rawAgent((request) => {
    const { path, body, response, url, headers } = request;
    response.setHeader('Access-Control-Allow-Origin', headers.origin ?? '*');
    response.setHeader('Access-Control-Allow-Credentials', 'true');
    if (path.startsWith('/.well-known')) {
      response.setHeader('ETag', '"1"');
      return sendJson(
        response,
        rawCard(url, {
          name: '<script>alert(1)</script>\u001B[31m',
          version: '',
          skills: [{ id: 's' }, { id: 's' }],
          password: 'very-secret',
          securityRequirements: [{ schemes: { key: { list: [] } } }],
        }),
      );
    }
    const at = { taskId: 't', contextId: 'c' };
    if (body.method === 'SendStreamingMessage') {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      const working = { ...at, status: { state: 'TASK_STATE_WORKING' } };
      const frame = { jsonrpc: '2.0', id: body.id, result: { statusUpdate: working } };
      return void response.end(
        `data: ${JSON.stringify(frame, undefined, 1).replaceAll('\n', '\ndata: ')}\n\n`,
      );
    }
    if (body.method === 'SubscribeToTask') {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      const frame = { jsonrpc: '2.0', id: body.id, error: { code: -32001, message: 'gone' } };
      return void response.end(`data: ${JSON.stringify(frame)}\n\n`);
    }
    if (body.method === undefined) {
      response.writeHead(500, { 'Content-Type': 'text/html' });
      return void response.end('<pre>Error\n    at run (/srv/app/main.js:1:2)</pre>');
    }
    // Whatever is asked for, the answer is a task without a state.
    return result(request, { task: { id: 't', contextId: 'c' } });
  });
}

test('a server that is broken on purpose is seen through', patient, async () => {
  await using broken = await brokenAgent();
  const { code, report } = await checked(broken.url);
  expect(code).toBe(1);
  const outcomes = outcomesOf(report);
  for (const id of [
    'JSONRPC 1.0 operations.send',
    'JSONRPC 1.0 operations.list',
    'JSONRPC 1.0 streaming.first',
    'JSONRPC 1.0 errors.unknown-task',
    'JSONRPC 1.0 errors.unknown-method',
    'JSONRPC 1.0 errors.json',
    'JSONRPC 1.0 errors.version',
    'security security.credentials-demanded',
    'security security.wrong-credentials',
  ]) {
    expect([id, outcomes[id]]).toEqual([id, 'failed']);
  }
  for (const id of [
    'card card.public-fields',
    'caching caching.not-modified',
    'JSONRPC 1.0 streaming.single-line',
    'JSONRPC 1.0 streaming.refused-early',
    'security security.cross-origin',
    'security security.no-traces',
    'security security.json-errors',
  ]) {
    expect([id, outcomes[id]]).toEqual([id, 'warning']);
  }
  const problems = report.findings.filter(({ id }) => id === 'card.valid');
  expect(problems.map(({ detail }) => detail)).toEqual([
    'version is missing',
    'skills[0].name is missing',
    'skills[0].description is missing',
    'skills[0].tags is missing',
    'skills[1].name is missing',
    'skills[1].description is missing',
    'skills[1].tags is missing',
    'skills[1].id is the id of another skill',
    'securityRequirements[0] names "key", which securitySchemes does not declare',
    'password is not a member of a card',
  ]);
  for (const { outcome, fix } of report.findings) {
    if (outcome === 'failed' || outcome === 'warning') expect(fix).toBeTruthy();
  }
});

test(
  'the report is text for people or a page, and harmless whatever agents say',
  patient,
  async () => {
    await using broken = await brokenAgent();
    const text = await legate(['check', broken.url]);
    expect(text.code).toBe(1);
    expect(text.out).toContain('FAIL  card: version is valid\n      version is missing');
    expect(text.out).toContain('      fix: give the card a version');
    expect(text.out).not.toContain('\u001B');
    expect(text.out).toMatch(/\d+ passed, \d+ failed, \d+ warnings?, \d+ skipped\n$/);
    const folder = mkdtempSync(join(tmpdir(), 'legate-check-'));
    try {
      const file = join(folder, 'report.html');
      const html = await legate(['check', broken.url, '--format', 'html', '--report', file]);
      expect(html).toMatchObject({ code: 1, out: '' });
      const page = readFileSync(file, 'utf8');
      expect(page).toContain('&lt;script&gt;alert(1)');
      expect(page).not.toContain('<script');
      expect(page).toContain("default-src 'none'");
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);

test(
  '--read-only sends no message, and an address without a card is one finding',
  patient,
  async () => {
    await using agent = await rawAgent(({ response, url, path }) =>
      path.startsWith('/.well-known')
        ? sendJson(response, rawCard(url))
        : sendJson(response, {}, 500),
    );
    const { code } = await checked(agent.url, ['--read-only']);
    expect(code).toBe(0);
    expect(agent.requests.every(({ method }) => method === 'GET')).toBe(true);
    const missing = await checked(`${agent.url}/elsewhere`);
    expect(missing.code).toBe(1);
    expect(missing.report.findings).toMatchObject([{ id: 'card.found', outcome: 'failed' }]);
  },
);
