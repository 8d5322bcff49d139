/** §7.1, §7.2: HTTPS and client certificates on one port, and certificates that change. */
import { createPrivateKey } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import { connect as tlsConnect, type TLSSocket } from 'node:tls';
import { afterEach, expect, test } from 'vitest';
import { Authenticator, bearerTokenVerifier, mtlsVerifier } from '../../src/auth/index.ts';
import { connect } from '../../src/client/index.ts';
import { serve, type ServeOptions, type Serving } from '../../src/http/index.ts';
import { checkFiles } from '../../src/net/index.ts';
import type { TlsFiles } from '../../src/service/index.ts';
import type { AgentCard } from '../../src/protocol/index.ts';
import { guardedFetch, httpsOrLoopbackPolicy } from '../../src/push/index.ts';
import { makeCertificate, type TestCertificate } from '../certificate.ts';
import { temporaryDirectory } from '../support/stores.ts';
import { actor } from './support/agents.ts';
import { MemoryLog } from './support/log.ts';

const authority = makeCertificate({ commonName: 'Test authority', isAuthority: true });
const other = makeCertificate({ commonName: 'Another authority', isAuthority: true });
const certificateOf = (commonName: string, issuer = authority): TestCertificate =>
  makeCertificate({
    commonName,
    issuer,
    alternativeNames: ['DNS:localhost', 'IP:127.0.0.1'],
  });

let server: Serving | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

class Files implements AsyncDisposable {
  readonly #directory: Awaited<ReturnType<typeof temporaryDirectory>>;

  private constructor(directory: Awaited<ReturnType<typeof temporaryDirectory>>) {
    this.#directory = directory;
  }

  static async write(pair: TestCertificate): Promise<Files> {
    const files = new Files(await temporaryDirectory());
    await files.replace(pair);
    await writeFile(files.path('ca.pem'), authority.certificate);
    return files;
  }

  path(name: string): string {
    return join(this.#directory.path, name);
  }

  async replace({ certificate, key }: TestCertificate): Promise<void> {
    await writeFile(this.path('server.pem'), certificate);
    await writeFile(this.path('server-key.pem'), key);
  }

  tls(more: Partial<TlsFiles> = {}): TlsFiles {
    return { certificate: this.path('server.pem'), key: this.path('server-key.pem'), ...more };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#directory[Symbol.asyncDispose]();
  }
}

async function start(options: ServeOptions): Promise<string> {
  server = await serve(actor, { drainMs: 0, ...options });
  return server.url;
}

interface Got {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  readonly socket: TLSSocket;
  readonly serverName: string;
}

function get(
  url: string,
  options: {
    readonly client?: TestCertificate;
    readonly headers?: Record<string, string>;
    readonly agent?: HttpsAgent;
  } = {},
): Promise<Got> {
  const { client, headers = {}, agent } = options;
  return new Promise((resolve, reject) => {
    const outgoing = httpsRequest(
      url,
      {
        ca: authority.certificate,
        headers,
        agent: agent ?? false,
        ...(client !== undefined && { cert: client.certificate, key: client.key }),
      },
      (response) => {
        const socket = response.socket as TLSSocket;
        const serverName = String(socket.getPeerCertificate().subject?.CN);
        let text = '';
        response.on('data', (piece: Buffer) => (text += piece.toString()));
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text,
            socket,
            serverName,
          }),
        );
      },
    );
    outgoing.on('error', reject);
    outgoing.end();
  });
}

const list = { 'a2a-version': '1.0' };

test('AUTH-TLS-001: the port speaks HTTPS and nothing else, and the card says so', async () => {
  await using files = await Files.write(certificateOf('server'));
  const url = await start({ tls: files.tls() });
  expect(url).toMatch(/^https:\/\/localhost:/);
  const shown = await get(`${url}/.well-known/agent-card.json`, { headers: list });
  const card = JSON.parse(shown.text) as AgentCard;
  expect(new Set(card.supportedInterfaces.map((each) => each.url))).toEqual(new Set([url]));
  expect(shown.headers['strict-transport-security']).toBe('max-age=31536000');
  expect((await get(`${url}/tasks`, { headers: list })).headers).toHaveProperty(
    'strict-transport-security',
  );
  await expect(fetch(url.replace('https', 'http'))).rejects.toThrow();
});

test('AUTH-TLS-002: TLS 1.3 is spoken, and nothing older than 1.2', async () => {
  await using files = await Files.write(certificateOf('server'));
  const url = await start({ tls: files.tls() });
  const { socket } = await get(`${url}/health`);
  expect(socket.getProtocol()).toBe('TLSv1.3');
  const port = Number(new URL(url).port);
  const old = tlsConnect({
    port,
    host: '127.0.0.1',
    ca: authority.certificate,
    servername: 'localhost',
    minVersion: 'TLSv1.1',
    maxVersion: 'TLSv1.1',
  });
  await expect(
    new Promise((resolve, reject) => {
      old.once('secureConnect', resolve);
      old.once('error', reject);
    }),
  ).rejects.toThrow();
});

test('what browsers shall remember can be left unsaid, and is not said over plain HTTP', async () => {
  await using files = await Files.write(certificateOf('server'));
  const url = await start({ tls: files.tls(), hstsSeconds: 0 });
  expect((await get(`${url}/health`)).headers).not.toHaveProperty('strict-transport-security');
  await server?.close();
  const plain = await start({});
  expect((await fetch(`${plain}/health`)).headers.get('strict-transport-security')).toBeNull();
});

test('AUTH-SERVER-001: the client refuses servers with an untrusted certificate', async () => {
  await using files = await Files.write(certificateOf('server'));
  const url = await start({ tls: files.tls() });
  await expect(connect(url, { retry: false })).rejects.toMatchObject({ code: 'PEER_UNREACHABLE' });
  const trusting = guardedFetch(httpsOrLoopbackPolicy, {
    tls: { current: async () => ({ ca: authority.certificate }) },
  });
  const client = await connect(url, { fetch: trusting });
  expect(client.card.name).toBe('actor');
  trusting.close();
  const doubting = guardedFetch(httpsOrLoopbackPolicy, {
    tls: { current: async () => ({ ca: other.certificate }) },
  });
  await expect(connect(url, { fetch: doubting, retry: false })).rejects.toMatchObject({
    code: 'PEER_UNREACHABLE',
  });
  doubting.close();
});

test('a key may be locked; a wrong password and files that do not fit stop the start, unquoted', async () => {
  const pair = certificateOf('server');
  await using files = await Files.write(pair);
  const password = 'open sesame';
  const locked = createPrivateKey(pair.key)
    .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: password })
    .toString();
  await writeFile(files.path('server-key.pem'), locked);
  const url = await start({ tls: files.tls({ password }) });
  expect((await get(`${url}/health`)).status).toBe(200);
  const wrong = {
    code: 'CONFIGURATION_INVALID',
    message: expect.stringContaining('server-key.pem'),
  };
  const refusal: unknown = await serve(actor, {
    tls: files.tls({ password: 'close sesame' }),
  }).catch((error: unknown) => error);
  expect(refusal).toMatchObject(wrong);
  expect(String(refusal)).not.toContain('sesame');
  await writeFile(files.path('server-key.pem'), certificateOf('stranger').key);
  await expect(serve(actor, { tls: files.tls() })).rejects.toMatchObject(wrong);
  await expect(
    serve(actor, { tls: files.tls({ ca: files.path('missing.pem') }) }),
  ).rejects.toMatchObject({
    code: 'CONFIGURATION_INVALID',
    message: expect.stringContaining('missing.pem'),
  });
});

test('mutual TLS: a certificate of the authority says who calls, on the same port as tokens', async () => {
  await using files = await Files.write(certificateOf('server'));
  const url = await start({
    tls: files.tls({ ca: files.path('ca.pem') }),
    auth: new Authenticator({
      verifiers: [
        mtlsVerifier(),
        bearerTokenVerifier({ tokens: [{ token: 'letmein', subject: 'alice' }] }),
      ],
    }),
  });
  const tasks = `${url}/tasks`;
  const partner = certificateOf('partner');
  const shown = await get(`${url}/.well-known/agent-card.json`, { headers: list });
  expect((JSON.parse(shown.text) as AgentCard).securitySchemes).toEqual({
    mtls: { mtlsSecurityScheme: {} },
    token: { httpAuthSecurityScheme: { scheme: 'Bearer' } },
  });
  const nobody = await get(tasks, { headers: list });
  expect(nobody.status).toBe(401);
  expect(nobody.headers['www-authenticate']).toContain('MutualTLS');
  expect((await get(tasks, { headers: list, client: partner })).status).toBe(200);
  const stranger = certificateOf('partner', other);
  expect((await get(tasks, { headers: list, client: stranger })).status).toBe(401);
  const expired = makeCertificate({
    commonName: 'partner',
    issuer: authority,
    notAfter: new Date(Date.now() - 1_000),
  });
  expect((await get(tasks, { headers: list, client: expired })).status).toBe(401);
  const token = { ...list, authorization: 'Bearer letmein' };
  expect((await get(tasks, { headers: token })).status).toBe(200);
});

test('mutual TLS: the token of a request says who calls, whatever certificate the connection has', async () => {
  await using files = await Files.write(certificateOf('server'));
  const url = await start({
    tls: files.tls({ ca: files.path('ca.pem') }),
    auth: new Authenticator({
      verifiers: [
        mtlsVerifier(),
        bearerTokenVerifier({ tokens: [{ token: 'letmein', subject: 'alice' }] }),
      ],
    }),
    extendedCard: async (caller, card) => ({ ...card, description: caller.subject }),
  });
  const client = certificateOf('gateway');
  const who = async (authorization?: string) => {
    const headers = { ...list, ...(authorization !== undefined && { authorization }) };
    const { status, text } = await get(`${url}/extendedAgentCard`, { headers, client });
    return status === 200 ? (JSON.parse(text) as AgentCard).description : status;
  };
  expect(await who()).toBe('gateway');
  expect(await who('Bearer letmein')).toBe('alice');
  expect(await who('Bearer wrong')).toBe(401);
});

test('over TLS the cookie of the inspector is for TLS only', async () => {
  await using files = await Files.write(certificateOf('server'));
  const url = await start({ tls: files.tls(), inspect: true });
  const link = server?.inspectorUrl ?? '';
  expect(link.startsWith(`${url}/inspect/?token=`)).toBe(true);
  const { status, headers } = await get(link);
  expect([status, headers['location']]).toEqual([303, './']);
  expect(headers['set-cookie']?.[0]).toMatch(/; HttpOnly; SameSite=Strict; Secure$/);
  const cookie = headers['set-cookie']?.[0]?.split(';')[0] ?? '';
  expect((await get(`${url}/inspect/api/about`, { headers: { cookie } })).status).toBe(200);
});

test('where client certificates are required, other clients are refused before HTTP', async () => {
  await using files = await Files.write(certificateOf('server'));
  const url = await start({
    tls: files.tls({ ca: files.path('ca.pem'), requireClientCertificate: true }),
    auth: new Authenticator({ verifiers: [mtlsVerifier()] }),
  });
  const tasks = `${url}/tasks`;
  await expect(get(tasks, { headers: list })).rejects.toThrow();
  await expect(
    get(tasks, { headers: list, client: certificateOf('partner', other) }),
  ).rejects.toThrow();
  const partner = certificateOf('partner');
  expect((await get(tasks, { headers: list, client: partner })).status).toBe(200);
});

test('a new certificate is taken up, connections stay, and one that cannot be used changes nothing', async () => {
  await using files = await Files.write(certificateOf('first'));
  const log = new MemoryLog();
  const url = await start({ tls: files.tls(), logger: log });
  const agent = new HttpsAgent({ keepAlive: true, maxSockets: 1, ca: authority.certificate });
  const before = await get(`${url}/health`, { agent });
  expect(before.serverName).toBe('first');
  await files.replace(certificateOf('second'));
  await expect
    .poll(async () => (await get(`${url}/health`)).serverName, { timeout: 20_000, interval: 200 })
    .toBe('second');
  // The old connection continues under the certificate it was made with.
  const kept = await get(`${url}/health`, { agent });
  expect(kept.socket).toBe(before.socket);
  expect(kept.status).toBe(200);
  await writeFile(files.path('server.pem'), 'no certificate');
  await expect
    .poll(() => log.lines.filter(({ event }) => event === 'files.reload_failed').length, {
      timeout: 20_000,
    })
    .toBeGreaterThan(0);
  expect((await get(`${url}/health`)).serverName).toBe('second');
  expect(log.audited('action').map(({ event }) => event)).toContain('files.reloaded');
  expect(log.text()).not.toContain('PRIVATE KEY');
  agent.destroy();
});

test('mutual TLS: a file of authorities that is emptied or cut off locks nobody out, and a new one counts', async () => {
  await using files = await Files.write(certificateOf('server'));
  const log = new MemoryLog();
  const url = await start({
    tls: files.tls({ ca: files.path('ca.pem') }),
    auth: new Authenticator({ verifiers: [mtlsVerifier()] }),
    logger: log,
  });
  const statusOf = async (client: TestCertificate): Promise<number> =>
    (await get(`${url}/tasks`, { headers: list, client })).status;
  const partner = certificateOf('partner');
  const spoiled = ['', 'no certificate', authority.certificate.slice(0, 300)];
  for (const [index, content] of spoiled.entries()) {
    await writeFile(files.path('ca.pem'), content);
    await checkFiles();
    expect(log.lines.filter(({ event }) => event === 'files.reload_failed')).toHaveLength(
      index + 1,
    );
    expect(await statusOf(partner)).toBe(200);
  }
  const later = certificateOf('partner', other);
  expect(await statusOf(later)).toBe(401);
  await writeFile(files.path('ca.pem'), other.certificate);
  await checkFiles();
  expect(await statusOf(later)).toBe(200);
  expect(await statusOf(partner)).toBe(401);
});
