import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createPlainServer, request as plainRequest } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { agent, artifact, grpcBinding, remoteAgent, serve, type Serving } from '../../src/index.ts';
import { buildAssistant, loadProject, probeServices } from '../../src/assistant/index.ts';
import type { ExternalAgent } from '../../src/assistant/project/sub-agents.ts';
import { ExternalCaller } from '../../src/assistant/sub-agents/external-agent.ts';
import { cardVerifier } from '../../src/auth/index.ts';
import { MessageSigner, readBusIdentity } from '../../src/bus/index.ts';
import { serveGrpc } from '../../src/grpc/index.ts';
import { checkFiles } from '../../src/net/index.ts';
import { startHttpSample } from '../../src/mcp/testing/http-server.ts';
import { createModel, generateText, startScriptedModelServer } from '../../src/models/index.ts';
import { clientTls, generateSigningKey, publicKeySet } from '../../src/push/index.ts';
import { CardFetcher } from '../../src/peers/directory/card-fetcher.ts';
import { Directory } from '../../src/peers/index.ts';
import { openMemory } from '../../src/store/index.ts';
import { silentLogger } from '../../src/telemetry/index.ts';
import { makeCertificate } from '../certificate.ts';

const authority = makeCertificate({ commonName: 'Authority', isAuthority: true });
const issue = (commonName: string) =>
  makeCertificate({ commonName, issuer: authority, alternativeNames: ['DNS:localhost'] });
const host = issue('localhost');
const client = issue('desk');

let folder: string;
const at = (name: string): string => join(folder, name);
const files = () => ({ ca: at('ca.pem'), cert: at('client.pem'), key: at('client.key') });
const tlsOfServer = () => ({
  certificate: at('host.pem'),
  key: at('host.key'),
  ca: at('ca.pem'),
  requireClientCertificate: true,
});

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'legate-certificates-'));
  writeFileSync(at('ca.pem'), authority.certificate);
  writeFileSync(at('host.pem'), host.certificate);
  writeFileSync(at('host.key'), host.key);
  writeFileSync(at('client.pem'), client.certificate);
  writeFileSync(at('client.key'), client.key, { mode: 0o600 });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** TLS in front of a plain server, for clients with a certificate of the authority only. */
async function strictFront(target: string): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer(
    { cert: host.certificate, key: host.key, ca: authority.certificate, requestCert: true },
    (request, response) => {
      const { hostname, port } = new URL(target);
      const { method, headers, url: path } = request;
      const onward = plainRequest({ hostname, port, method, path, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      onward.on('error', () => response.destroy());
      request.pipe(onward);
    },
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `https://localhost:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const greeter = agent({ name: 'greeter', description: 'Greets.' }, async function* () {
  yield artifact('Good day');
});
const signingKey = generateSigningKey();

function startGreeter(): Promise<Serving> {
  return serve(greeter, {
    tls: tlsOfServer(),
    cardKeys: [signingKey],
    dangerouslyAllowUnauthenticatedRemote: true,
  });
}

/** A project with one of each server, all of which require a client certificate. */
function writeProject(
  urls: Readonly<Record<'agent' | 'mcp' | 'actions' | 'model', string>>,
  tls: string,
  verifyCard = '',
): string {
  const project = mkdtempSync(at('project-'));
  mkdirSync(join(project, 'sub_agents', 'greeter'), { recursive: true });
  mkdirSync(join(project, 'data'));
  const write = (path: string, text: string): void => writeFileSync(join(project, path), text);
  write('config.yml', 'assistant_id: desk\nlanguage: en\n');
  write('domain.yml', 'version: "3.1"\nactions: [action_look]\n');
  write(
    'data/flows.yml',
    'flows:\n  look:\n    description: Looks.\n    steps: [{action: action_look}]\n',
  );
  write(
    'endpoints.yml',
    `action_endpoint: {url: ${urls.actions}/webhook, tls: ${tls}}
mcp_servers: [{name: sample, url: ${urls.mcp}/mcp, tls: ${tls}}]
model_groups: [{id: main, models: [{provider: openai-compatible, model: scripted, api_base: ${urls.model}/v1, tls: ${tls}}]}]
`,
  );
  write(
    'sub_agents/greeter/config.yml',
    `agent: {name: greeter, description: Greets., protocol: A2A}
configuration: {agent_card: ${urls.agent}, tls: ${tls}${verifyCard}}
`,
  );
  return project;
}

test('sub agents, MCP servers, action servers and models get the certificates of their tls', async () => {
  await using greeting = await startGreeter();
  await using mcp = await startHttpSample();
  await using model = await startScriptedModelServer(['Hello']);
  const actions = createPlainServer((request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(request.url === '/actions' ? '[{"name": "action_look"}]' : '{"status": "ok"}');
  });
  await new Promise<void>((resolve) => actions.listen(0, '127.0.0.1', resolve));
  await using mcpFront = await strictFront(mcp.url);
  await using modelFront = await strictFront(model.url);
  await using actionFront = await strictFront(
    `http://127.0.0.1:${(actions.address() as AddressInfo).port}`,
  );
  const urls = {
    agent: greeting.url.replace('127.0.0.1', 'localhost'),
    mcp: mcpFront.url,
    model: modelFront.url,
    actions: actionFront.url,
  };
  try {
    const { ca, cert, key } = files();
    const directory = writeProject(urls, `{ca: ${ca}, cert: ${cert}, key: ${key}}`);
    const { project, problems } = await loadProject({ directory }, {});
    problems.throwIfErrors();
    const probes = await Array.fromAsync(probeServices(project, { environment: {} }));
    expect(probes.map(({ what, problem }) => [what, problem])).toEqual([
      ['Action server', undefined],
      ['MCP server sample', undefined],
      ['Sub agent greeter', undefined],
    ]);
    const asked = createModel(project.endpoints.modelGroups.get('main'), { environment: {} });
    expect((await generateText(asked, { prompt: 'Hi', retries: 0 })).text).toBe('Hello');

    // Without the certificate none of them answers.
    const without = writeProject(urls, `{ca: ${ca}}`);
    const refused = await loadProject({ directory: without }, {});
    const failed = await Array.fromAsync(
      probeServices(refused.project, { environment: {}, timeoutMs: 3_000 }),
    );
    expect(failed.map(({ problem }) => problem === undefined)).toEqual([false, false, false]);
    const other = createModel(refused.project.endpoints.modelGroups.get('main'), {
      environment: {},
    });
    await expect(generateText(other, { prompt: 'Hi', retries: 0 })).rejects.toThrow();
  } finally {
    actions.closeAllConnections();
    await new Promise((resolve) => actions.close(resolve));
  }
});

test('a file of a sub agent that is not there keeps the assistant from starting, with its key', async () => {
  const url = 'https://localhost:1';
  const directory = writeProject(
    { agent: url, mcp: url, actions: url, model: url },
    `{ca: ${at('ca.pem')}}`,
  );
  writeFileSync(
    join(directory, 'sub_agents/greeter/config.yml'),
    `agent: {name: greeter, description: Greets., protocol: A2A}
configuration: {agent_card: ${url}, tls: {cert: gone.pem}}
`,
  );
  const { project } = await loadProject({ directory }, {});
  await expect(buildAssistant(project, { environment: {}, logger: silentLogger })).rejects.toThrow(
    `sub agent greeter: tls.cert: the file ${join(directory, 'gone.pem')} doesn't exist; check the path`,
  );
});

test('peers of the operator get the certificates of peers.tls, and peers that others named do not', async () => {
  await using greeting = await startGreeter();
  const url = greeting.url.replace('127.0.0.1', 'localhost');
  const cards = new CardFetcher({ tls: clientTls(files()) });
  expect((await cards.fetch(url, { origin: 'well-known' })).name).toBe('greeter');
  await expect(cards.fetch(url, { origin: 'announced' })).rejects.toMatchObject({
    code: 'PEER_UNREACHABLE',
  });
  cards.close();
});

test('verify_card refuses a card that none of its keys signed', async () => {
  await using greeting = await startGreeter();
  writeFileSync(at('right.json'), JSON.stringify(publicKeySet([signingKey])));
  writeFileSync(at('wrong.json'), JSON.stringify(publicKeySet([generateSigningKey()])));
  const { ca, cert, key } = files();
  const url = greeting.url.replace('127.0.0.1', 'localhost');
  const urls = {
    agent: url,
    mcp: 'https://localhost:1',
    actions: 'https://localhost:1',
    model: url,
  };
  const probe = async (keys: string) => {
    const tls = `{ca: ${ca}, cert: ${cert}, key: ${key}}`;
    const directory = writeProject(urls, tls, `, verify_card: {keys: ${at(keys)}}`);
    const { project, problems } = await loadProject({ directory }, {});
    problems.throwIfErrors();
    const endpoints = { ...project.endpoints, mcpServers: new Map(), actionEndpoint: undefined };
    return Array.fromAsync(probeServices({ ...project, endpoints }, { environment: {} }));
  };
  expect((await probe('right.json')).at(-1)?.problem).toBeUndefined();
  expect((await probe('wrong.json')).at(-1)?.problem).toContain(
    `sub agent greeter: no signature of the card is by a trusted key; verify_card accepts cards signed by a key of ${at('wrong.json')}`,
  );
});

test.each(['remoteAgent', 'sub agent'])(
  '%s: once the key of a card is no longer trusted, the next call is refused; a new key leads to it again',
  async (kind) => {
    await using greeting = await serve(greeter, { cardKeys: [signingKey] });
    const path = at(`${crypto.randomUUID()}.json`);
    const trust = async (key: typeof signingKey): Promise<void> => {
      writeFileSync(path, JSON.stringify(publicKeySet([key])));
      await checkFiles();
    };
    await trust(signingKey);
    const remote = remoteAgent(greeting.url, { verifyCard: cardVerifier({ keys: [path] }) });
    const caller = new ExternalCaller({
      agent: {
        name: 'greeter',
        agentCard: greeting.url,
        pollingInitialDelay: 1,
        verifyCard: { keys: [path] },
      } as Partial<ExternalAgent> as ExternalAgent,
      files: new Map(),
    });
    const call = () => (kind === 'sub agent' ? caller.check() : remote.ask('hello'));
    try {
      await call();
      await trust(generateSigningKey());
      await expect(call()).rejects.toMatchObject({ code: 'PEER_INVALID' });
      await trust(signingKey);
      await call();
    } finally {
      await Promise.all([remote.close(), caller.close()]);
    }
  },
);

test('keys that verify cards and messages are fetched with the certificates of their tls', async () => {
  const server = createServer(
    { ...host, cert: host.certificate, ca: authority.certificate, requestCert: true },
    (_, response) => response.end(JSON.stringify(publicKeySet([signingKey]))),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const jwksUrl = `https://localhost:${(server.address() as AddressInfo).port}/`;
  try {
    await using greeting = await serve(greeter, { cardKeys: [signingKey] });
    const card: unknown = await (await fetch(`${greeting.url}/.well-known/agent-card.json`)).json();
    const verify = cardVerifier({ jwksUrl, tls: files() });
    expect(await verify(card)).toMatchObject({ name: 'greeter' });
    const untrusting = cardVerifier({ jwksUrl }, { logger: silentLogger });
    await expect(untrusting(card)).rejects.toThrow(/no keys from/);

    const message = { topic: 't', body: '', correlationId: undefined, replyTo: undefined };
    const token = await new MessageSigner({ issuer: 'alice', key: signingKey }).sign(message);
    const trusted = [{ issuer: 'alice', jwks_url: jwksUrl, tls: files() }];
    const options = { directory: '.', issuer: 'bob', logger: silentLogger };
    const { verifier } = await readBusIdentity({ trusted }, options);
    expect(await verifier?.verify(token, message)).toMatchObject({ subject: 'alice' });
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

test('a peer is called only once its card is verified, whatever an earlier session stored', async () => {
  await using greeting = await startGreeter();
  const url = greeting.url.replace('127.0.0.1', 'localhost');
  writeFileSync(at('of-peer.json'), JSON.stringify(publicKeySet([generateSigningKey()])));
  const { records } = openMemory();
  const started = async (keys?: string) => {
    const verifyCard = keys === undefined ? undefined : cardVerifier({ keys: [at(keys)] });
    const peer = { name: 'greeter', url, ...(verifyCard !== undefined && { verifyCard }) };
    const directory = new Directory({
      records,
      wellKnown: [peer],
      tls: clientTls(files()),
      refreshIntervalMs: 0,
    });
    await directory.start();
    return directory;
  };
  const trusting = await started();
  expect(await trusting.requireVerified('greeter')).toMatchObject({ cardSource: 'fetched' });
  trusting.stop();

  const careful = await started('of-peer.json');
  await expect(careful.requireVerified('greeter')).rejects.toMatchObject({
    code: 'PEER_INVALID',
    message: expect.stringContaining('no signature of the card is by a trusted key'),
  });
  // The operator replaces the keys: the next call fetches the card again.
  writeFileSync(at('of-peer.json'), JSON.stringify(publicKeySet([signingKey])));
  await expect
    .poll(() => careful.requireVerified('greeter').catch(() => undefined))
    .toMatchObject({ cardSource: 'fetched' });
  // The key is withdrawn after the card was verified.
  writeFileSync(at('of-peer.json'), JSON.stringify(publicKeySet([generateSigningKey()])));
  await checkFiles();
  await expect(careful.requireVerified('greeter')).rejects.toMatchObject({ code: 'PEER_INVALID' });
  careful.stop();
});

test('remoteAgent presents a certificate and verifies the card, over HTTP and gRPC', async () => {
  await using greeting = await startGreeter();
  const url = greeting.url.replace('127.0.0.1', 'localhost');
  writeFileSync(at('keys.json'), JSON.stringify(publicKeySet([signingKey])));
  writeFileSync(at('others.json'), JSON.stringify(publicKeySet([generateSigningKey()])));
  const trusted = remoteAgent(url, {
    tls: files(),
    verifyCard: cardVerifier({ keys: [at('keys.json')] }),
  });
  expect((await trusted.ask('Hi')).text).toBe('Good day');
  await trusted.close();
  const doubted = remoteAgent(url, {
    tls: files(),
    verifyCard: cardVerifier({ keys: [at('others.json')] }),
  });
  await expect(doubted.connect()).rejects.toMatchObject({ code: 'PEER_INVALID' });
  const unknown = remoteAgent(url, { tls: { ca: at('ca.pem') }, retry: false });
  await expect(unknown.connect()).rejects.toMatchObject({ code: 'PEER_UNREACHABLE' });

  const grpc = await serveGrpc(greeting.router, { tls: tlsOfServer() });
  try {
    const card = {
      ...greeting.router.cards.current,
      supportedInterfaces: [
        {
          url: `https://localhost:${grpc.port}`,
          protocolBinding: 'GRPC',
          protocolVersion: '1.0',
        },
      ],
    };
    const over = (tls: Parameters<typeof clientTls>[0]) =>
      remoteAgent(card, { bindings: [grpcBinding({ tls: clientTls(tls) })], retry: false });
    const called = over(files());
    expect((await called.ask('Hi')).text).toBe('Good day');
    await called.close();
    const refused = over({ ca: at('ca.pem') });
    await expect(refused.ask('Hi')).rejects.toMatchObject({ code: 'PEER_UNREACHABLE' });
    await refused.close();
  } finally {
    await grpc.close({ graceMs: 0 });
  }
});
