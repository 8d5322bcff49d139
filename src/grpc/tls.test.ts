import { credentials, status } from '@grpc/grpc-js';
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { afterAll, afterEach, expect, test } from 'vitest';
import { makeCertificate, type TestCertificate } from '../../test/certificate.ts';
import { agent, completed } from '../agents/index.ts';
import { Authenticator, mtlsVerifier } from '../auth/index.ts';
import { router, type RouterOptions } from '../http/index.ts';
import type { TlsFiles } from '../service/index.ts';
import { type Logger, silentLogger } from '../telemetry/index.ts';
import { type GrpcServer, serveGrpc } from './index.ts';
import { GrpcClient } from './testing/grpc-client.ts';

const authority = makeCertificate({ commonName: 'Authority', isAuthority: true });
const issue = (commonName: string): TestCertificate =>
  makeCertificate({ commonName, issuer: authority, alternativeNames: ['DNS:localhost'] });

const folder = mkdtempSync(join(tmpdir(), 'legate-grpc-'));
afterAll(() => rmSync(folder, { recursive: true }));

function write({ certificate, key }: TestCertificate): TlsFiles {
  const files = {
    certificate: join(folder, 'certificate.pem'),
    key: join(folder, 'key.pem'),
    ca: join(folder, 'ca.pem'),
  };
  writeFileSync(files.certificate, certificate);
  writeFileSync(files.key, key);
  writeFileSync(files.ca, authority.certificate);
  return files;
}

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const resource of open.splice(0).toReversed()) await resource[Symbol.asyncDispose]();
});

async function start(tls: TlsFiles, options: RouterOptions = {}): Promise<GrpcServer> {
  const silent = agent({ name: 'silent' }, async function* () {
    yield completed();
  });
  const made = await router(silent, options);
  open.push(made);
  const grpcServer = await serveGrpc(made, { tls });
  open.push({ [Symbol.asyncDispose]: () => grpcServer.close({ graceMs: 0 }) });
  return grpcServer;
}

async function codeOf(grpcServer: GrpcServer, client?: TestCertificate): Promise<unknown> {
  const ca = Buffer.from(authority.certificate);
  const own = client && ([Buffer.from(client.key), Buffer.from(client.certificate)] as const);
  using caller = await GrpcClient.connect({
    url: grpcServer.url,
    version: '1.0',
    credentials: own === undefined ? credentials.createSsl(ca) : credentials.createSsl(ca, ...own),
  });
  return await caller.call('getTask', { id: 'no' }).then(
    () => 'answered',
    (error: { code: unknown }) => error.code,
  );
}

const auth = new Authenticator({ verifiers: [mtlsVerifier()] });

test('a client certificate tells who calls; one of another authority tells nothing', async () => {
  const grpcServer = await start(write(issue('localhost')), { auth });
  expect(await codeOf(grpcServer, issue('partner'))).toBe('TASK_NOT_FOUND');
  expect(await codeOf(grpcServer)).toBe('UNAUTHENTICATED');
  expect(await codeOf(grpcServer, makeCertificate({ commonName: 'partner' }))).toBe(
    'UNAUTHENTICATED',
  );
});

test("where client certificates are required, clients without one can't connect", async () => {
  const files = { ...write(issue('localhost')), requireClientCertificate: true };
  const grpcServer = await start(files, { auth });
  expect(await codeOf(grpcServer, issue('partner'))).toBe('TASK_NOT_FOUND');
  expect(await codeOf(grpcServer)).toBe(status.UNAVAILABLE);
});

test('a changed certificate is taken up, and one that cannot be used is not', async () => {
  const events: string[] = [];
  const note = (_fields: object, event: string): void => void events.push(event);
  const logger: Logger = { ...silentLogger, info: note, error: note };
  const files = write(issue('first'));
  const grpcServer = await start(files, { logger });
  expect(await servedBy(grpcServer)).toBe('first');
  write(issue('second'));
  touch(files);
  await expect.poll(() => servedBy(grpcServer), { timeout: 10_000 }).toBe('second');
  writeFileSync(files.certificate, 'no certificate');
  touch(files);
  await expect.poll(() => events, { timeout: 10_000 }).toContain('files.reload_failed');
  expect(await servedBy(grpcServer)).toBe('second');
});

test('files that cannot be read are named', async () => {
  const files = { ...write(issue('localhost')), key: join(folder, 'none.pem') };
  await expect(start(files)).rejects.toMatchObject({
    code: 'CONFIGURATION_INVALID',
    message: expect.stringContaining('none.pem'),
  });
});

/** Changes the time of the files for certain, however coarse the clock of the file system is. */
function touch(files: TlsFiles): void {
  const later = new Date(Date.now() + 60_000 * Math.random());
  utimesSync(files.certificate, later, later);
}

/** The common name of the certificate that a new connection is shown. */
function servedBy(grpcServer: GrpcServer): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(
      {
        host: '127.0.0.1',
        port: grpcServer.port,
        servername: 'localhost',
        ca: authority.certificate,
        ALPNProtocols: ['h2'],
      },
      () => {
        const name: unknown = socket.getPeerCertificate().subject.CN;
        socket.destroy();
        resolve(String(name));
      },
    );
    socket.on('error', reject);
  });
}
