/** A request has one credential: of two, the order of verifiers would decide who is meant. */
import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  apiKeyVerifier,
  Authenticator,
  bearerTokenVerifier,
  CredentialRefused,
  jwtVerifier,
  mtlsVerifier,
  type TlsPeer,
  type Verifier,
} from '../../src/auth/index.ts';
import { GrpcClient } from '../../src/grpc/testing/grpc-client.ts';
import { type GrpcServer, serveGrpc } from '../../src/grpc/index.ts';
import { serve, type Serving } from '../../src/http/index.ts';
import { SignJWT } from 'jose';
import { actor } from './support/agents.ts';

const secret = 'a secret of sixty-four characters, which is as long as HS512 wants';
const basicOf = (user: string): string => `Basic ${Buffer.from(`${user}:x`).toString('base64')}`;

/** A verifier of a project's own. */
const basic: Verifier = {
  method: 'basic',
  challenge: 'Bearer',
  schemes: { basic: { httpAuthSecurityScheme: { scheme: 'Basic' } } },
  async verify({ headers }) {
    const given = headers['authorization'];
    if (typeof given !== 'string' || !given.startsWith('Basic ')) return undefined;
    if (given !== basicOf('dora')) throw new CredentialRefused('unknown user');
    return { tenant: '', subject: 'dora', method: 'basic' };
  },
};
const cookie: Verifier = {
  method: 'cookie',
  challenge: 'ApiKey',
  schemes: { cookie: { apiKeySecurityScheme: { location: 'cookie', name: 'session' } } },
  async verify({ headers }) {
    const given = /(?:^|; )session=(\w+)/.exec(String(headers['cookie'] ?? ''))?.[1];
    if (given === undefined) return undefined;
    if (given !== 'erins') throw new CredentialRefused('unknown session');
    return { tenant: '', subject: 'erin', method: 'cookie' };
  },
};

interface Credential {
  readonly name: string;
  readonly header?: readonly [string, string];
  readonly query?: string;
}
const credentials: readonly Credential[] = [
  { name: 'JWT', header: ['authorization', ''] },
  { name: 'token', header: ['authorization', 'Bearer tokens-of-carl'] },
  { name: 'basic', header: ['authorization', basicOf('dora')] },
  { name: 'API key in a header', header: ['x-api-key', 'key-of-alice'] },
  { name: 'API key in the query', query: 'api_key=key-of-alice' },
  { name: 'API key in a cookie', header: ['cookie', 'session=erins'] },
  // The wrong one beside a right one is no better.
  { name: 'wrong token', header: ['authorization', 'Bearer wrong'] },
  { name: 'wrong key', header: ['x-api-key', 'wrong'] },
  { name: 'empty key in the query', query: 'api_key=' },
  { name: 'other scheme', header: ['authorization', 'Negotiate abc'] },
];
const pairs = credentials.flatMap((one, index) =>
  credentials.slice(index).map((other) => [one.name, other.name, one, other] as const),
);

let auth: Authenticator;
let server: Serving;
let grpcServer: GrpcServer;
let jwt: string;
beforeAll(async () => {
  jwt = await new SignJWT({ sub: 'bob' })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('1h')
    .sign(new TextEncoder().encode(secret));
  auth = new Authenticator({
    verifiers: [
      await jwtVerifier({ keys: { secret }, algorithms: ['HS256'] }),
      bearerTokenVerifier({ tokens: [{ token: 'tokens-of-carl', subject: 'carl' }] }),
      basic,
      apiKeyVerifier({
        keys: [{ key: 'key-of-alice', subject: 'alice' }],
        queryParameter: 'api_key',
      }),
      cookie,
    ],
  });
  server = await serve(actor, { auth, drainMs: 0 });
  grpcServer = await serveGrpc(server.router);
});
afterAll(async () => {
  await grpcServer.close({ graceMs: 0 });
  await server.close();
});

const headerOf = ({ header }: Credential): readonly [string, string][] => {
  if (header === undefined) return [];
  return [[header[0], header[1] === '' ? `Bearer ${jwt}` : header[1]]];
};

function overHttp(given: readonly Credential[]): Promise<number | undefined> {
  const query = given.flatMap((one) => one.query ?? []).join('&');
  // As a list, so that a header can come twice.
  const headers = [
    ['host', `localhost:${server.port}`],
    ['a2a-version', '1.0'],
    ...given.flatMap(headerOf),
  ].flat();
  return new Promise((resolve, reject) => {
    const path = `/tasks${query === '' ? '' : `?${query}`}`;
    httpRequest({ port: server.port, host: '127.0.0.1', path, headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .once('error', reject)
      .end();
  });
}

async function overGrpc(given: readonly Credential[]): Promise<string> {
  using client = await GrpcClient.connect({ url: grpcServer.url, version: '1.0' });
  const metadata = Object.fromEntries(given.flatMap(headerOf));
  return await client.call('listTasks', {}, { metadata }).then(
    () => 'ok',
    (error: { code: string }) => error.code,
  );
}

test.each(credentials.slice(0, 6).map((one) => [one.name, one] as const))(
  '%s alone is enough',
  async (_, one) => {
    expect(await overHttp([one])).toBe(200);
    if (one.query === undefined) expect(await overGrpc([one])).toBe('ok');
  },
);

test.each(pairs)('HTTP: %s and %s in one request are refused', async (_, __, one, other) => {
  expect(await overHttp([one, other])).toBe(401);
  expect(await overHttp([other, one])).toBe(401);
});

const ofGrpc = pairs.filter(
  ([, , one, other]) =>
    one.header !== undefined && other.header !== undefined && one.header[0] !== other.header[0],
);
test.each(ofGrpc)('gRPC: %s and %s in one call are refused', async (_, __, one, other) => {
  expect(await overGrpc([one, other])).toBe('UNAUTHENTICATED');
});

test('the reason is logged, without the credentials', async () => {
  const request = { headers: { authorization: `Bearer ${jwt}`, 'x-api-key': 'key-of-alice' } };
  const refusal = await auth.authenticate(request).catch((error: unknown) => error);
  expect(refusal).toMatchObject({
    code: 'UNAUTHENTICATED',
    reasons: ['several credentials: header authorization, header x-api-key'],
  });
  expect(JSON.stringify(refusal)).not.toMatch(/key-of-alice|eyJ/);
});

describe('a client certificate belongs to the connection', () => {
  const tlsPeer: TlsPeer = {
    commonName: 'gateway',
    alternativeNames: [],
    fingerprint: 'AA',
    validTo: Number.MAX_SAFE_INTEGER,
  };
  const token = bearerTokenVerifier({ tokens: [{ token: 'right', subject: 'carl' }] });
  const orders = [
    ['before', [mtlsVerifier(), token]],
    ['after', [token, mtlsVerifier()]],
  ] as const;

  test.each(orders)(
    '%s tokens: it says who calls where there is no token',
    async (_, verifiers) => {
      const both = new Authenticator({ verifiers });
      expect(await both.authenticate({ headers: {}, tlsPeer })).toMatchObject({
        subject: 'gateway',
      });
    },
  );

  test.each(orders)('%s tokens: a token says who calls', async (_, verifiers) => {
    const both = new Authenticator({ verifiers });
    const headers = { authorization: 'Bearer right' };
    expect(await both.authenticate({ headers, tlsPeer })).toMatchObject({ subject: 'carl' });
  });

  test.each(orders)('%s tokens: it does not stand in for a wrong token', async (_, verifiers) => {
    const both = new Authenticator({ verifiers });
    const headers = { authorization: 'Bearer wrong' };
    await expect(both.authenticate({ headers, tlsPeer })).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
    });
  });

  test('a header that no verifier reads does not matter to it', async () => {
    const alone = new Authenticator({ verifiers: [mtlsVerifier()] });
    const headers = { authorization: 'Basic eDp5' };
    expect(await alone.authenticate({ headers, tlsPeer })).toMatchObject({ subject: 'gateway' });
  });
});
