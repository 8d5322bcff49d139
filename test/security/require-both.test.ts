import { request as httpsRequest } from 'node:https';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { credentials } from '@grpc/grpc-js';
import { SignJWT } from 'jose';
import { expect, test } from 'vitest';
import { agent, completed } from '../../src/agents/index.ts';
import { Authenticator, jwtVerifier, mtlsVerifier } from '../../src/auth/index.ts';
import { serveGrpc } from '../../src/grpc/index.ts';
import { GrpcClient } from '../../src/grpc/testing/grpc-client.ts';
import { serve } from '../../src/http/index.ts';
import { silentLogger } from '../../src/telemetry/index.ts';
import { makeCertificate, type TestCertificate } from '../certificate.ts';
import { temporaryDirectory } from '../support/stores.ts';

const authority = makeCertificate({ commonName: 'Authority', isAuthority: true });
const alternativeNames = ['DNS:localhost', 'IP:127.0.0.1'];
const issue = (commonName: string): TestCertificate =>
  makeCertificate({ commonName, issuer: authority, alternativeNames });
const secret = 's'.repeat(32);
const signed = (key: string): Promise<string> =>
  new SignJWT({ sub: 'alice' })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('1 h')
    .sign(new TextEncoder().encode(key));

interface Presented {
  readonly certificate?: TestCertificate;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

function status(url: string, path: string, { certificate, token, headers }: Presented) {
  const isPost = path === '/';
  return new Promise<number>((resolve, reject) => {
    const sent = httpsRequest(
      `${url}${path}`,
      {
        method: isPost ? 'POST' : 'GET',
        ca: authority.certificate,
        ...(certificate && { cert: certificate.certificate, key: certificate.key }),
        headers: {
          'content-type': 'application/json',
          'a2a-version': '1.0',
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...headers,
        },
        agent: false,
      },
      (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      },
    );
    sent.on('error', reject);
    sent.end(
      isPost
        ? JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: 'x' } })
        : undefined,
    );
  });
}

test('a token and a client certificate are both needed, over every transport; the card says so', async () => {
  await using folder = await temporaryDirectory();
  const files = {
    certificate: join(folder.path, 'tls.crt'),
    key: join(folder.path, 'tls.key'),
    ca: join(folder.path, 'ca.pem'),
  };
  const own = issue('localhost');
  writeFileSync(files.certificate, own.certificate);
  writeFileSync(files.key, own.key);
  writeFileSync(files.ca, authority.certificate);
  const subjects: string[] = [];
  const silent = agent({ name: 'silent' }, async function* (turn) {
    subjects.push(turn.caller.subject);
    yield completed();
  });
  const jwt = await jwtVerifier({ keys: { secret }, algorithms: ['HS256'] });
  const auth = new Authenticator({ verifiers: [mtlsVerifier(), jwt], require: ['jwt', 'mtls'] });
  await using server = await serve(silent, { auth, tls: files, logger: silentLogger, mcp: true });
  await using grpcServer = await serveGrpc(server.router, { tls: files });
  const overGrpc = async ({ certificate, token, headers }: Presented): Promise<unknown> => {
    const pair = certificate && [
      Buffer.from(certificate.key),
      Buffer.from(certificate.certificate),
    ];
    using caller = await GrpcClient.connect({
      url: grpcServer.url,
      version: '1.0',
      metadata: { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...headers },
      credentials: credentials.createSsl(Buffer.from(authority.certificate), ...(pair ?? [])),
    });
    return await caller.call('getTask', { id: 'no' }).then(
      () => 'answered',
      (error: { code: unknown }) => error.code,
    );
  };
  const certificate = issue('partner');
  const token = await signed(secret);
  const foreign = makeCertificate({ commonName: 'partner', alternativeNames });
  const refused: readonly Presented[] = [
    {},
    { token },
    { certificate },
    { certificate, token: await signed('w'.repeat(32)) },
    { certificate: foreign, token },
    // What a proxy says about certificates is not believed: anybody could say it.
    {
      token,
      headers: {
        'x-forwarded-client-cert': 'Hash=1;Subject="CN=partner"',
        'x-ssl-client-verify': 'SUCCESS',
        'x-ssl-client-s-dn': 'CN=partner',
      },
    },
  ];
  for (const presented of refused) {
    for (const path of ['/', '/tasks/x', '/mcp']) {
      expect(await status(server.url, path, presented)).toBe(401);
    }
    expect(await overGrpc(presented)).toBe('UNAUTHENTICATED');
  }
  expect(await status(server.url, '/', { certificate, token })).toBe(200);
  expect(await status(server.url, '/tasks/x', { certificate, token })).toBe(404);
  expect(await overGrpc({ certificate, token })).toBe('TASK_NOT_FOUND');
  // Probes have no certificate.
  expect(await status(server.url, '/health', {})).toBe(200);
  expect(server.router.cards.current.securityRequirements).toEqual([
    { schemes: { bearer: { list: [] }, mtls: { list: [] } } },
  ]);
  expect(
    (
      await auth.authenticate({
        headers: { authorization: `Bearer ${token}` },
        tlsPeer: {
          commonName: 'gateway',
          alternativeNames: [],
          fingerprint: 'AB',
          validTo: Infinity,
        },
      })
    ).subject,
  ).toBe('alice');
});

test.each([
  [['jwt', 'api-key'], 'there is no verifier for api-key'],
  [['jwt'], 'mtls is configured but missing from require, so it never authenticates a caller'],
  [[], 'there is no verifier for an empty list'],
] as const)('require: %j is refused', async (require, message) => {
  const jwt = await jwtVerifier({ keys: { secret }, algorithms: ['HS256'] });
  expect(() => new Authenticator({ verifiers: [jwt, mtlsVerifier()], require })).toThrow(message);
});
