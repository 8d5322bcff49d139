import type { AddressInfo } from 'node:net';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { expect, test } from 'vitest';
import { makeCertificate, type TestCertificate } from '../../test/certificate.ts';
import { CredentialRefused } from './credentials.ts';
import { mtlsVerifier, splitAlternativeNames, tlsFacts, type TlsPeer, tlsPeer } from './mtls.ts';

const authority = makeCertificate({ commonName: 'Authority', isAuthority: true });
const serverCertificate = makeCertificate({
  commonName: 'localhost',
  alternativeNames: ['DNS:localhost', 'IP:127.0.0.1'],
  issuer: authority,
});

async function peerOf(client: TestCertificate | undefined): Promise<TlsPeer | undefined> {
  return (await factsOf(client)).tlsPeer;
}

/** What a TLS server sees of a client with this certificate. */
async function factsOf(client: TestCertificate | undefined): Promise<ReturnType<typeof tlsFacts>> {
  const seen = Promise.withResolvers<ReturnType<typeof tlsFacts>>();
  const server = createServer(
    {
      key: serverCertificate.key,
      cert: serverCertificate.certificate,
      ca: authority.certificate,
      requestCert: true,
      rejectUnauthorized: false,
    },
    (socket: TLSSocket) => {
      seen.resolve(tlsFacts(socket));
      socket.end();
    },
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const socket = connect({
    host: '127.0.0.1',
    port: (server.address() as AddressInfo).port,
    ca: authority.certificate,
    ...(client !== undefined && { key: client.key, cert: client.certificate }),
  });
  socket.resume();
  try {
    return await seen.promise;
  } finally {
    socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
}

test('without a certificate, or with one that was not verified, a connection has no peer', () => {
  const certificate = { fingerprint256: 'AB:CD', subject: { CN: 'ada' } };
  const peerOf = (authorized: boolean, found: object) =>
    tlsPeer({ authorized, getPeerCertificate: () => found });
  expect(peerOf(true, {})).toBeUndefined();
  expect(peerOf(false, certificate)).toBeUndefined();
  expect(peerOf(true, certificate)).toMatchObject({ commonName: 'ada', fingerprint: 'AB:CD' });
});

test('a certificate of the authority stands for its common name', async () => {
  const peer = await peerOf(makeCertificate({ commonName: 'partner', issuer: authority }));
  expect(peer).toMatchObject({ commonName: 'partner', alternativeNames: [] });
  expect(await mtlsVerifier().verify({ headers: {}, ...(peer && { tlsPeer: peer }) })).toEqual({
    tenant: '',
    subject: 'partner',
    method: 'mtls',
  });
});

test('an only URI name goes before the common name', async () => {
  const client = makeCertificate({
    commonName: 'partner',
    alternativeNames: ['DNS:partner.example.com', 'URI:spiffe://example.com/partner'],
    issuer: authority,
  });
  const peer = await peerOf(client);
  expect(peer?.alternativeNames).toEqual([
    'DNS:partner.example.com',
    'URI:spiffe://example.com/partner',
  ]);
  const caller = await mtlsVerifier().verify({ headers: {}, ...(peer && { tlsPeer: peer }) });
  expect(caller).toMatchObject({ subject: 'spiffe://example.com/partner' });
});

test('without a certificate, or with one of another authority, there is no peer', async () => {
  expect(await peerOf(undefined)).toBeUndefined();
  expect(await peerOf(makeCertificate({ commonName: 'partner' }))).toBeUndefined();
  expect(await mtlsVerifier().verify({ headers: {} })).toBeUndefined();
});

test.each([
  ['expired', { issuer: authority, notAfter: new Date(Date.now() - 60_000) }, 'CERT_HAS_EXPIRED'],
  ['of another authority', {}, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
])('a certificate that is %s is refused, and the log gets the reason', async (_, made, reason) => {
  const facts = await factsOf(makeCertificate({ commonName: 'partner', ...made }));
  expect(facts).toEqual({ tlsRefusal: reason });
  await expect(mtlsVerifier().verify({ headers: {}, ...facts })).rejects.toMatchObject({
    code: 'UNAUTHENTICATED',
    reason: `certificate ${reason}`,
  });
});

const peer: TlsPeer = {
  commonName: 'partner',
  alternativeNames: [],
  fingerprint: 'AA:BB',
  validTo: 2_000,
};

test('the operator can map a certificate to a subject, or refuse it', async () => {
  const partners = new Map([['AA:BB', { subject: 'acme', tenant: 't', scopes: ['read'] }]]);
  const verifier = mtlsVerifier({
    identify: ({ fingerprint }) => partners.get(fingerprint),
    clock: { now: () => 1_000 },
  });
  expect(await verifier.verify({ headers: {}, tlsPeer: peer })).toMatchObject({
    subject: 'acme',
    tenant: 't',
    scopes: ['read'],
  });
  const stranger = { ...peer, fingerprint: 'CC:DD' };
  await expect(verifier.verify({ headers: {}, tlsPeer: stranger })).rejects.toBeInstanceOf(
    CredentialRefused,
  );
});

test.each([
  ['an expired certificate on an old connection', { ...peer, validTo: 1_000 }],
  ['a certificate without a readable end', { ...peer, validTo: Number.NaN }],
  ['a certificate without a name', { alternativeNames: [], fingerprint: 'AA:BB', validTo: 2_000 }],
])('%s is refused', async (_what, given) => {
  const verifier = mtlsVerifier({ clock: { now: () => 1_000 } });
  await expect(verifier.verify({ headers: {}, tlsPeer: given })).rejects.toBeInstanceOf(
    CredentialRefused,
  );
});

test.each([
  ['', []],
  ['DNS:a.example.com', ['DNS:a.example.com']],
  [
    'DNS:a, IP Address:127.0.0.1, URI:spiffe://x/y',
    ['DNS:a', 'IP Address:127.0.0.1', 'URI:spiffe://x/y'],
  ],
  // A name with a separator inside comes quoted, and stays one name.
  ['DNS:"a, URI:spiffe://forged", DNS:b', ['DNS:a, URI:spiffe://forged', 'DNS:b']],
  [String.raw`URI:"x\u0000y"`, ['URI:x\u0000y']],
])('alternative names are split: %j', (text, names) => {
  expect(splitAlternativeNames(text)).toEqual(names);
});
