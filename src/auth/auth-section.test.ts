import { generateKeyPairSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { exportJWK, SignJWT } from 'jose';
import { expect, test } from 'vitest';
import { makeCertificate } from '../../test/certificate.ts';
import { temporaryDirectory } from '../../test/support/stores.ts';
import { Field, formatProblem, Problems, YamlFile } from '../config/index.ts';
import { guardedFetch } from '../push/index.ts';
import { silentLogger } from '../telemetry/index.ts';
import { openAuth, readAuthSection } from './auth-section.ts';
import { jwtVerifier } from './jwt.ts';
import { keyPolicy } from './remote-keys.ts';

function read(text: string) {
  const problems = new Problems();
  const file = YamlFile.parse({ file: 'endpoints.yml', text }, problems, { environment: {} });
  const settings = Field.document(file, problems).mapping('auth', readAuthSection);
  return { settings, problems: problems.all.map(formatProblem) };
}

const cluster = 'http://keycloak.auth.svc.cluster.local/realms/main';
const jwt = (more: string): string => `auth: {type: bearer, jwt: {algorithm: ES256, ${more}}}\n`;

test.each(['openid_issuer', 'jwks_url'])(
  '%s over http is refused with the key that allows it, and allowed by it',
  (key) => {
    expect(read(jwt(`${key}: "${cluster}"`)).problems).toEqual([
      expect.stringMatching(
        new RegExp(
          `^endpoints\\.yml:1:\\d+ auth\\.jwt\\.${key}: must be an https address.*; for an issuer within the ` +
            'cluster, write allowed_names: \\[keycloak\\.auth\\.svc\\.cluster\\.local\\] beside it$',
        ),
      ),
    ]);
    for (const name of ['keycloak.auth.svc.cluster.local', '"*.svc.cluster.local"']) {
      expect(read(jwt(`${key}: "${cluster}", allowed_names: [${name}]`)).problems).toEqual([]);
    }
    const other = read(jwt(`${key}: "${cluster}", allowed_names: [other.example]`));
    expect(other.problems).toHaveLength(1);
    const metadata = read(
      jwt(`${key}: "http://169.254.169.254/", allowed_names: ["*.254.169.254"]`),
    );
    expect(metadata.problems).toHaveLength(1);
  },
);

test.each([
  ['[jwt, mtls]', 'jwt is required but not configured; add auth.jwt'],
  ['[api_key]', 'api_key is required but not configured; add auth.api_keys_path'],
  ['[mtls, jwt]', 'jwt is required but not configured; add auth.jwt'],
])('require: %s without its keys says what to add', (require, message) => {
  const { problems } = read(`auth: {require: ${require}}\n`);
  expect(problems).toEqual([expect.stringContaining(message)]);
});

const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const token = await new SignJWT({ sub: 'ada' })
  .setProtectedHeader({ alg: 'ES256', kid: 'one' })
  .setExpirationTime('1 h')
  .sign(pair.privateKey);
const keySet = JSON.stringify({ keys: [{ ...(await exportJWK(pair.publicKey)), kid: 'one' }] });
const request = { headers: { authorization: `Bearer ${token}` } };

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

test('keys of an issuer within the cluster are fetched over http', async () => {
  const server = createServer((_, response) => response.end(keySet));
  const port = await listening(server);
  const name = 'keycloak.auth.svc.cluster.local';
  const keys = { jwksUrl: `http://${name}:${port}/keys` };
  const common = { keys, algorithms: ['ES256' as const], logger: silentLogger };
  await expect(jwtVerifier(common)).rejects.toThrow(/must be an https address/);
  const policy = { ...keyPolicy, allowedNames: [name], httpToAllowedNames: true };
  const fetch = guardedFetch(policy, { resolver: async () => ['127.0.0.1'] });
  const verifier = await jwtVerifier({ ...common, policy, fetch });
  try {
    expect(await verifier.verify(request)).toMatchObject({ subject: 'ada' });
  } finally {
    fetch.close();
    server.close();
  }
});

test('keys are fetched with the authorities of auth.jwt.tls', async () => {
  await using folder = await temporaryDirectory();
  const { certificate, key } = makeCertificate({ commonName: 'localhost' });
  await writeFile(join(folder.path, 'ca.pem'), certificate);
  const server = createSecureServer({ cert: certificate, key }, (_, response) =>
    response.end(keySet),
  );
  const port = await listening(server);
  const open = async (more: string) => {
    const { settings, problems } = read(jwt(`jwks_url: "https://localhost:${port}/"${more}`));
    expect(problems).toEqual([]);
    return openAuth(settings, {
      directory: folder.path,
      hasClientCertificates: false,
      logger: silentLogger,
    });
  };
  try {
    const untrusting = await open('');
    // Callers do not learn where the keys are.
    await expect(untrusting?.authenticate(request)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: 'tokens cannot be verified now: the keys of their issuer cannot be fetched',
      retryAfter: 5,
    });
    const trusting = await open(', tls: {ca: ca.pem}');
    expect(await trusting?.authenticate(request)).toMatchObject({ subject: 'ada' });
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
