import { createServer } from 'node:http';
import { type AddressInfo, createServer as createNetServer } from 'node:net';
import { utimesSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { makeCertificate } from '../../../test/certificate.ts';
import { greenhouseFolder } from '../../../test/support/greenhouse.ts';
import { postgres } from '../../../test/support/postgres.ts';
import { rabbitMq } from '../../../test/support/rabbitmq.ts';
import { serve } from '../../http/index.ts';
import { startHttpSample } from '../../mcp/testing/http-server.ts';
import { startScriptedModelServer } from '../../models/index.ts';
import { migrateStore, openStore } from '../../store/index.ts';
import { legate, patient } from '../testing/legate-process.ts';
import { triedAgent } from '../testing/tried-agent.ts';
import type { Diagnosis } from './diagnosis.ts';
import { examineAuthorities, examineCertificate } from './examine-certificates.ts';
import { examineClock, examineNode } from './examine-machine.ts';
import { examineStore } from './examine-services.ts';

async function examined(
  directory: string,
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
) {
  const { code, out } = await legate(['doctor', directory, '--port', '0', '--json', ...args], {
    env,
  });
  const all = JSON.parse(out) as readonly Diagnosis[];
  for (const { outcome, fix } of all) {
    if (outcome === 'failed' || outcome === 'warning') expect(fix).toBeTruthy();
  }
  return { code, all, of: (what: string) => all.find((one) => one.what === what) };
}

const sqlite = 'store: {type: sqlite, path: .legate/store.db}\n';

test('a valid project passes, and doctor changes nothing', patient, async () => {
  await using folder = await greenhouseFolder({ 'endpoints.yml': sqlite });
  const { code, all, of } = await examined(folder.directory);
  expect(code).toBe(0);
  expect(all.filter(({ outcome }) => outcome === 'failed')).toEqual([]);
  expect(of('Configuration')).toMatchObject({ outcome: 'passed', found: '5 flows, no errors' });
  expect(of('Store')).toMatchObject({
    outcome: 'passed',
    found: expect.stringContaining('will be created'),
  });
  const text = await legate(['doctor', folder.directory, '--port', '0']);
  expect(text.out).toMatch(/^passed {3}Node: 24/);
  expect(text.out).not.toContain('\u001B');
  expect(text.err).toMatch(/\d+ passed, 0 failed, \d+ warnings\n/);
});

test('every configuration error is reported with its position', patient, async () => {
  await using folder = await greenhouseFolder({
    'data/x.yml': 'flows:\n  one:\n    description: One.\n    steps:\n      - collect: plnat\n',
  });
  const { code, of } = await examined(folder.directory);
  expect(code).toBe(1);
  expect(of('Configuration')).toMatchObject({
    outcome: 'failed',
    found: expect.stringContaining('did you mean "plant"?'),
    fix: expect.stringContaining('legate validate'),
  });
});

test(
  'a store in memory is a warning, an existing store passes, a broken one fails',
  patient,
  async () => {
    await using folder = await greenhouseFolder();
    expect((await examined(folder.directory)).of('Store')).toMatchObject({ outcome: 'warning' });
    await folder.write({ 'endpoints.yml': sqlite });
    const store = await openStore({ type: 'sqlite', path: folder.path('.legate/store.db') });
    // A server that runs is not disturbed.
    expect((await examined(folder.directory)).of('Store')).toMatchObject({
      outcome: 'passed',
      found: expect.stringMatching(/KiB, whole$/),
    });
    await store.close();
    await folder.write({
      '.legate/store.db': 'this is no database at all, however long it may be',
    });
    const broken = await examined(folder.directory);
    expect(broken.code).toBe(1);
    expect(broken.of('Store')).toMatchObject({ outcome: 'failed', fix: expect.any(String) });
  },
);

test(
  'a database that is there, and one that is not; passwords are not repeated',
  patient,
  async () => {
    const url = await (await postgres()).database();
    await using folder = await greenhouseFolder({
      'endpoints.yml': 'store: {type: postgres, url: "${DATABASE_URL}"}\n',
    });
    const there = await examined(folder.directory, [], { DATABASE_URL: url });
    expect(there.of('Store')).toMatchObject({ outcome: 'passed' });
    const absent = 'postgres://me:hush-hush@127.0.0.1:1/none';
    const gone = await examined(folder.directory, [], { DATABASE_URL: absent });
    expect(gone.of('Store')).toMatchObject({ outcome: 'failed' });
    expect(JSON.stringify(gone.all)).not.toContain('hush-hush');
  },
);

test('a broker that is there, and one that is not', patient, async () => {
  const { url } = await rabbitMq();
  await using folder = await greenhouseFolder({
    'endpoints.yml': `${sqlite}bus: {type: rabbitmq, url: "\${AMQP_URL}", connect_timeout: 2000}\n`,
  });
  const there = await examined(folder.directory, [], { AMQP_URL: url });
  expect(there.of('Broker')).toMatchObject({ outcome: 'passed' });
  const gone = await examined(folder.directory, [], {
    AMQP_URL: 'amqp://me:hush-hush@127.0.0.1:1',
  });
  expect(gone.code).toBe(1);
  expect(gone.of('Broker')).toMatchObject({
    outcome: 'failed',
    fix: expect.stringContaining('AMQP_URL'),
  });
  expect(JSON.stringify(gone.all)).not.toContain('hush-hush');
});

test(
  'a model that is there, one with the wrong key, one without a name, one that nothing uses',
  patient,
  async () => {
    await using server = await startScriptedModelServer([], { apiKey: 'right', models: ['tiny'] });
    const group = (id: string, model: string, base: string) =>
      `  - id: ${id}\n    models: [{provider: openai-compatible, model: ${model}, api_base: "${base}", api_key: "\${KEY}"}]\n`;
    await using folder = await greenhouseFolder({
      'config.yml':
        'assistant_id: greenhouse\npipeline: [{name: CompactLLMCommandGenerator, llm: {model_group: here}}]\n' +
        'policies: [{name: FlowPolicy}, {name: EnterpriseSearchPolicy, embeddings: {model_group: vectors}}]\n',
      'tests/conftest.yml': 'llm_judge: {llm: {model_group: judge}}\n',
      'tests/one.yml': 'test_cases: [{test_case: one, steps: [{user: hi}]}]\n',
      'endpoints.yml': `${sqlite}nlg: {type: rephrase, llm: {model_group: other}}\nmodel_groups:\n${group('here', 'tiny', server.url)}${group('other', 'huge', server.url)}${['gone', 'vectors', 'judge'].map((id) => group(id, 'tiny', 'http://127.0.0.1:1/v1')).join('')}`,
    });
    const right = await examined(folder.directory, [], { KEY: 'right' });
    expect(right.of('Model here')).toMatchObject({ outcome: 'passed' });
    expect(right.of('Model other')).toMatchObject({
      outcome: 'failed',
      fix: 'use one that it has: tiny',
    });
    expect(right.of('Model gone')).toMatchObject({
      outcome: 'warning',
      found: expect.stringContaining('(nothing uses it)'),
    });
    expect(right.of('Model vectors')).toMatchObject({ outcome: 'failed' });
    expect(right.of('Model judge')).toMatchObject({
      outcome: 'warning',
      found: expect.stringContaining('(only tests use it)'),
    });
    expect(right.of('Clock')).toMatchObject({ outcome: 'passed' });
    const refused = await examined(folder.directory, [], { KEY: 'not-right' });
    expect(refused.of('Model here')).toMatchObject({
      outcome: 'failed',
      found: expect.stringContaining('rejects the key'),
    });
    expect(JSON.stringify(refused.all)).not.toContain('not-right');
  },
);

test(
  'a port in use: by an agent, whose card is looked at, or by something else',
  patient,
  async () => {
    await using folder = await greenhouseFolder({ 'endpoints.yml': sqlite });
    await using agent = await serve(triedAgent);
    const used = await examined(folder.directory, ['--port', String(agent.port)]);
    expect(used.code).toBe(0);
    expect(used.of('Port')).toMatchObject({
      outcome: 'warning',
      found: `${agent.port} is used by another agent, "${triedAgent.name}"`,
      fix: expect.stringContaining('--port'),
    });
    expect(used.of('Card')).toMatchObject({ outcome: 'passed' });
    await using own = await serve({ ...triedAgent, name: 'greenhouse' });
    const again = await examined(folder.directory, ['--port', String(own.port)]);
    expect(again.of('Port')).toMatchObject({
      outcome: 'passed',
      found: `${own.port} is used by an agent, "greenhouse"`,
    });
    const other = createNetServer((socket) => void socket.resume().end('220 hello\r\n'));
    const wrongCard = createServer((_, response) => response.end('{"name":"x"}'));
    try {
      await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
      const { port } = other.address() as AddressInfo;
      const taken = await examined(folder.directory, ['--port', String(port)]);
      expect(taken.code).toBe(1);
      expect(taken.of('Port')).toMatchObject({
        outcome: 'failed',
        fix: expect.stringContaining('lsof'),
      });
      await new Promise<void>((resolve) => wrongCard.listen(0, '127.0.0.1', resolve));
      const second = (wrongCard.address() as AddressInfo).port;
      const card = await examined(folder.directory, ['--port', String(second)]);
      expect(card.of('Card')).toMatchObject({ outcome: 'failed' });
    } finally {
      wrongCard.closeAllConnections();
      await Promise.all([other, wrongCard].map((one) => new Promise((done) => one.close(done))));
    }
  },
);

test('a clock that is off, by what servers and files say', patient, async () => {
  await using folder = await greenhouseFolder();
  const now = Date.now();
  const skewed = [{ server: 'https://time.example', skewMs: -300_000 }];
  expect(examineClock(folder.directory, skewed, now)).toMatchObject({
    outcome: 'failed',
    found: expect.stringContaining('300 s behind https://time.example'),
  });
  expect(examineClock(folder.directory, [], now)).toMatchObject({ outcome: 'passed' });
  const later = new Date(now + 3_600_000);
  utimesSync(folder.path('config.yml'), later, later);
  expect(examineClock(folder.directory, [], now)).toMatchObject({ outcome: 'warning' });
});

test('a clock that is off by what the database says', patient, async () => {
  const url = await (await postgres()).database();
  await migrateStore(url);
  expect(await examineStore({ type: 'postgres', url })).toMatchObject({ outcome: 'passed' });
  const { now } = Date;
  const wrong = vi.spyOn(Date, 'now').mockImplementation(() => now() + 61_000);
  try {
    expect(await examineStore({ type: 'postgres', url })).toMatchObject({
      outcome: 'warning',
      found: expect.stringMatching(
        /clock of this machine is 6[01]\.\d s ahead of that of PostgreSQL/,
      ),
      fix: expect.stringContaining('NTP'),
    });
  } finally {
    wrong.mockRestore();
  }
});

test('a Node that is too old is told to be', () => {
  expect(examineNode('20.1.0')).toMatchObject({ outcome: 'failed' });
  expect(examineNode('22.17.1')).toMatchObject({ outcome: 'failed' });
  expect(examineNode('22.18.0')).toMatchObject({ outcome: 'passed' });
  expect(examineNode('24.0.0')).toMatchObject({ outcome: 'passed' });
});

test(
  'everything that a project connects to is tried, by doctor and by validate --live',
  patient,
  async () => {
    await using mcp = await startHttpSample();
    const actions = createServer((request, response) => {
      const body = request.url === '/actions' ? [{ name: 'action_water' }] : { status: 'ok' };
      response.end(JSON.stringify(body));
    });
    await new Promise<void>((resolve) => actions.listen(0, '127.0.0.1', resolve));
    const { port } = actions.address() as AddressInfo;
    await using agent = await serve(triedAgent, { port: 0 });
    await using folder = await greenhouseFolder({
      'endpoints.yml': `
action_endpoint: {url: "http://127.0.0.1:${port}/webhook"}
mcp_servers:
  - {name: sums, url: "${mcp.url}"}
  - {name: gone, url: "http://127.0.0.1:9/mcp"}
`,
      'sub_agents/helper/config.yml': `
agent: {name: helper, protocol: A2A, description: Helps.}
configuration: {agent_card: "${agent.url}/.well-known/agent-card.json"}
`,
      'sub_agents/away/config.yml': `
agent: {name: away, protocol: A2A, description: Is away.}
configuration: {agent_card: "http://127.0.0.1:9/card.json"}
`,
      'sub_agents/adder/config.yml': `
agent: {name: adder, description: Adds.}
connections: {mcp_servers: [{name: sums, include_tools: [add, subtract]}]}
`,
    });
    const { code, of } = await examined(folder.directory);
    expect(code).toBe(1);
    expect(of('Action server')).toMatchObject({
      outcome: 'failed',
      found: expect.stringMatching(/^it has no .*action_report/),
    });
    expect(of('MCP server sums')).toMatchObject({
      outcome: 'failed',
      found: 'no tool named "subtract"',
    });
    expect(of('MCP server gone')).toMatchObject({ outcome: 'failed' });
    expect(of('Sub agent helper')).toMatchObject({ outcome: 'passed', found: 'answers' });
    expect(of('Sub agent away')).toMatchObject({ outcome: 'failed' });
    expect(of('Sub agent adder')).toMatchObject({
      outcome: 'failed',
      found: "can't use MCP server sums",
    });
    const { out, ...validated } = await legate(['validate', folder.directory, '--live']);
    expect(validated).toMatchObject({ code: 1, err: expect.stringContaining('cannot be used') });
    expect(out).toContain('failed   MCP server sums: no tool named "subtract"');
    expect(out).toContain('passed   Sub agent helper: answers');
    actions.closeAllConnections();
    actions.close();
  },
);

test('an agent in code: its module, collector, keys and certificate', patient, async () => {
  await using folder = await greenhouseFolder({
    'code/agent.ts':
      "import { agent } from 'legate';\nexport const me = agent({ name: 'me' }, () => 'hi');\n",
    'code/endpoints.yml':
      'telemetry: {otlp: {endpoint: "http://127.0.0.1:1"}}\n' +
      'a2a_server: {auth: {type: bearer, jwt: {algorithms: [RS256], public_key_path: absent.pem}}}\n',
    'code/cert.pem': 'no certificate',
    'code/ca.pem': '-----BEGIN CERTIFICATE-----\ncut off',
  });
  const certificate = [
    `--ssl-certificate=${folder.path('code/cert.pem')}`,
    `--ssl-ca-file=${folder.path('code/ca.pem')}`,
  ];
  for (const source of ['code', 'code/agent.ts']) {
    const { of, code } = await examined(folder.path(source), certificate);
    expect(code).toBe(1);
    expect(of('Agent')).toMatchObject({ outcome: 'passed', found: expect.stringContaining('me') });
    expect(of('OTLP endpoint')).toMatchObject({ outcome: 'failed' });
    expect(of('Keys of callers')).toMatchObject({
      outcome: 'failed',
      found: expect.stringContaining('absent.pem'),
    });
    expect(of('Certificate')).toMatchObject({ outcome: 'failed' });
    expect(of('Authorities of client certificates')).toMatchObject({
      outcome: 'failed',
      found: expect.stringContaining('cut off'),
    });
    expect(of('Audience of tokens')).toMatchObject({ outcome: 'warning' });
  }
});

test('a certificate that expires soon is a warning, an expired one an error', async () => {
  await using folder = await greenhouseFolder();
  const day = 86_400_000;
  const now = Date.now();
  const notAfter = new Date(now + 60 * day);
  const { certificate, key } = makeCertificate({ commonName: 'localhost', notAfter });
  await folder.write({ 'cert.pem': certificate, 'key.pem': key });
  const files = { certificate: folder.path('cert.pem'), key: folder.path('key.pem') };
  const outcomeAt = (days: number) => examineCertificate(files, now + days * day).outcome;
  expect([0, 50, 61].map(outcomeAt)).toEqual(['passed', 'warning', 'failed']);
  expect(outcomeAt(-1)).toBe('failed');
});

test('of several authorities, the first to expire counts', async () => {
  await using folder = await greenhouseFolder();
  const day = 86_400_000;
  const now = Date.now();
  const [soon, later] = [30, 90].map((days) =>
    makeCertificate({ commonName: 'ca', isAuthority: true, notAfter: new Date(now + days * day) }),
  );
  await folder.write({ 'ca.pem': `${later?.certificate}${soon?.certificate}` });
  const outcomeAt = (days: number) =>
    examineAuthorities(folder.path('ca.pem'), now + days * day).outcome;
  expect([0, 20, 31].map(outcomeAt)).toEqual(['passed', 'warning', 'failed']);
});
