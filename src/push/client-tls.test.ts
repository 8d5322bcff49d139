import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeCertificate, type TestCertificate } from '../../test/certificate.ts';
import { checkFiles, clientTls } from '../net/index.ts';
import { guardedFetch, operatorPolicy } from './index.ts';

const authority = makeCertificate({ commonName: 'Authority', isAuthority: true });
const issue = (commonName: string): TestCertificate =>
  makeCertificate({ commonName, issuer: authority, alternativeNames: ['DNS:localhost'] });

let folder: string;
const at = (name: string): string => join(folder, name);
const write = (name: string, { certificate, key }: TestCertificate): void => {
  writeFileSync(at(`${name}.pem`), certificate);
  writeFileSync(at(`${name}.key`), key, { mode: 0o600 });
};

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'legate-client-tls-'));
  writeFileSync(at('ca.pem'), authority.certificate);
  write('client', issue('first'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Answers with the name in the client certificate, which it requires. */
async function strictServer(): Promise<AsyncDisposable & { readonly url: string }> {
  const { certificate: cert, key } = issue('localhost');
  const server = createServer(
    { cert, key, ca: authority.certificate, requestCert: true },
    ({ socket }, response) => {
      const { subject } = (socket as TLSSocket).getPeerCertificate();
      response.setHeader('connection', 'close').end(subject.CN);
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

test('a client certificate is presented, and a new one is used once its files have changed', async () => {
  await using server = await strictServer();
  const files = { ca: 'ca.pem', cert: 'client.pem', key: 'client.key' };
  const fetch = guardedFetch(operatorPolicy, { tls: clientTls(files, { directory: folder }) });
  expect(await (await fetch(server.url)).text()).toBe('first');
  write('client', issue('second'));
  await checkFiles();
  expect(await (await fetch(server.url)).text()).toBe('second');
  // Half of a rotation: the key of another certificate. The last good pair stays in use.
  writeFileSync(at('client.key'), issue('third').key);
  const failed = (await checkFiles()).find(({ paths }) => paths.includes(at('client.key')));
  expect(failed?.error).toContain("doesn't belong to the certificate");
  expect(await (await fetch(server.url)).text()).toBe('second');
  fetch.close();
});

test('a server that requires a client certificate refuses calls without one', async () => {
  await using server = await strictServer();
  const fetch = guardedFetch(operatorPolicy, {
    tls: clientTls({ ca: 'ca.pem' }, { directory: folder }),
  });
  await expect(fetch(server.url)).rejects.toMatchObject({ code: 'PEER_UNREACHABLE' });
  fetch.close();
});

test('files that cannot be used are named with their key and a fix', () => {
  writeFileSync(at('text.pem'), 'nothing');
  write('other', issue('other'));
  const opening = (files: Parameters<typeof clientTls>[0]) => () =>
    clientTls(files, { directory: folder, what: 'sub agent hotels' });
  expect(opening({ ca: 'none.pem' })).toThrow(
    `sub agent hotels: tls.ca: the file ${at('none.pem')} doesn't exist; check the path`,
  );
  expect(opening({ ca: 'text.pem' })).toThrow(
    `sub agent hotels: tls.ca: the file ${at('text.pem')} contains no certificate in PEM`,
  );
  expect(opening({ cert: 'client.pem' })).toThrow('contains no private key in PEM');
  expect(opening({ key: 'client.key' })).toThrow('tls.key needs a certificate: set tls.cert');
  expect(opening({ cert: 'client.pem', key: 'other.key' })).toThrow(
    "doesn't belong to the certificate",
  );
});
