import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test } from 'vitest';
import { makeCertificate, type TestCertificate } from '../../../test/certificate.ts';
import { agent, completed } from '../../agents/index.ts';
import { Authenticator, bearerTokenVerifier, mtlsVerifier } from '../../auth/index.ts';
import { type Client, connect } from '../../client/index.ts';
import { router } from '../../http/index.ts';
import { publicPolicy } from '../../push/index.ts';
import { grpcBinding, type GrpcBindingOptions, serveGrpc } from '../index.ts';
import { cardOf } from '../testing/scripted-service.ts';

const authority = makeCertificate({ commonName: 'Authority', isAuthority: true });
const issue = (commonName: string, alternativeNames: string[]): TestCertificate =>
  makeCertificate({ commonName, issuer: authority, alternativeNames });

const folder = mkdtempSync(join(tmpdir(), 'legate-grpc-client-'));
afterAll(() => rmSync(folder, { recursive: true }));

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const resource of open.splice(0).toReversed()) await resource[Symbol.asyncDispose]();
});

const token = 'hunter2-token';

/** The port of an agent that shows this certificate, and asks who calls. */
async function serve({ certificate, key }: TestCertificate): Promise<number> {
  const tls = {
    certificate: join(folder, 'certificate.pem'),
    key: join(folder, 'key.pem'),
    ca: join(folder, 'ca.pem'),
  };
  writeFileSync(tls.certificate, certificate);
  writeFileSync(tls.key, key);
  writeFileSync(tls.ca, authority.certificate);
  const silent = agent({ name: 'silent' }, async function* () {
    yield completed();
  });
  const verifiers = [mtlsVerifier(), bearerTokenVerifier({ tokens: [{ token, subject: 'us' }] })];
  const made = await router(silent, { auth: new Authenticator({ verifiers }) });
  open.push(made);
  const grpcServer = await serveGrpc(made, { tls });
  open.push({ [Symbol.asyncDispose]: () => grpcServer.close({ graceMs: 0 }) });
  return grpcServer.port;
}

async function reach(url: string, grpc: GrpcBindingOptions, bearer?: string): Promise<Client> {
  const client = await connect(cardOf(url), {
    bindings: [grpcBinding(grpc)],
    retry: false,
    ...(bearer !== undefined && { auth: { bearer } }),
  });
  open.push(client);
  return client;
}

/** How a call ends: a task that is not there is told to those who were let in. */
async function outcomeOf(client: Client): Promise<unknown> {
  return client.getTask('none').then(
    () => 'answered',
    (error: { readonly code: unknown }) => error.code,
  );
}

const trusting = { tls: { ca: authority.certificate } };

test('a peer whose certificate is good is called over TLS, with credentials', async () => {
  const port = await serve(issue('localhost', ['DNS:localhost']));
  for (const scheme of ['grpcs', 'https']) {
    const url = `${scheme}://localhost:${port}`;
    expect(await outcomeOf(await reach(url, trusting, token))).toBe('TASK_NOT_FOUND');
    expect(await outcomeOf(await reach(url, trusting))).toBe('UNAUTHENTICATED');
  }
});

test('a peer is called at the address that a policy let through, and proves its name', async () => {
  const policy = { ...publicPolicy, allowLoopback: true };
  const good = await serve(issue('localhost', ['DNS:localhost']));
  const url = `grpcs://localhost:${good}`;
  expect(await outcomeOf(await reach(url, { ...trusting, policy }, token))).toBe('TASK_NOT_FOUND');
  const other = await serve(issue('other', ['DNS:other.example', 'IP:127.0.0.1']));
  const wrong = await reach(`grpcs://localhost:${other}`, { ...trusting, policy }, token);
  expect(await outcomeOf(wrong)).toBe('PEER_UNREACHABLE');
});

test('a peer whose certificate has another name or an unknown issuer is not called', async () => {
  const port = await serve(issue('other', ['DNS:other.example']));
  const url = `grpcs://localhost:${port}`;
  expect(await outcomeOf(await reach(url, trusting, token))).toBe('PEER_UNREACHABLE');
  const own = await serve(issue('localhost', ['DNS:localhost']));
  expect(await outcomeOf(await reach(`grpcs://localhost:${own}`, {}, token))).toBe(
    'PEER_UNREACHABLE',
  );
});

test('a peer with an untrusted certificate is called only with verification turned off explicitly', async () => {
  const port = await serve(issue('other', ['DNS:other.example']));
  const tls = { dangerouslyAllowUnverified: true };
  const client = await reach(`grpcs://localhost:${port}`, { tls }, token);
  expect(await outcomeOf(client)).toBe('TASK_NOT_FOUND');
});

test('a client certificate says who calls', async () => {
  const port = await serve(issue('localhost', ['DNS:localhost']));
  const { certificate, key } = issue('partner', ['DNS:partner']);
  const tls = { ...trusting.tls, certificate, key };
  expect(await outcomeOf(await reach(`grpcs://localhost:${port}`, { tls }))).toBe('TASK_NOT_FOUND');
});

test('an invalid certificate is refused on first use, and not quoted', async () => {
  for (const tls of [{ certificate: 'hunter2' }, { certificate: 'hunter2', key: 'hunter2' }]) {
    const client = await reach('grpcs://localhost:1', { tls });
    const failure = await client.getTask('t1').catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'CONFIGURATION_INVALID' });
    expect(String(failure)).not.toContain('hunter2');
  }
});
