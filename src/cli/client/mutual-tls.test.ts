import { createPrivateKey } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeCertificate } from '../../../test/certificate.ts';
import { agent } from '../../agents/index.ts';
import { Authenticator, mtlsVerifier } from '../../auth/index.ts';
import { serveGrpc } from '../../grpc/index.ts';
import { serve, type Serving } from '../../http/index.ts';
import { artifact } from '../../protocol/index.ts';
import { fieldsOf, legate, patient } from '../testing/legate-process.ts';
import { rawCard } from '../testing/raw-agent.ts';

const authority = makeCertificate({ commonName: 'Authority', isAuthority: true });
const issue = (commonName: string) =>
  makeCertificate({
    commonName,
    issuer: authority,
    alternativeNames: ['DNS:localhost', 'IP:127.0.0.1'],
  });
const host = issue('localhost');
const ali = issue('ali');

let folder: string;
let server: Serving;
const pathOf = (name: string): string => join(folder, name);
const certified = (): readonly string[] => [
  '--cert',
  pathOf('ali.pem'),
  '--key',
  pathOf('ali.key'),
  '--ca',
  pathOf('ca.pem'),
];

const greeter = agent(
  { name: 'greeter', description: 'Knows its callers.' },
  async function* (turn) {
    yield artifact(`Good day, ${turn.caller.subject}`);
  },
);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'legate-mutual-'));
  writeFileSync(pathOf('ca.pem'), authority.certificate);
  writeFileSync(pathOf('host.pem'), host.certificate);
  writeFileSync(pathOf('host.key'), host.key);
  writeFileSync(pathOf('ali.pem'), ali.certificate);
  writeFileSync(pathOf('ali.key'), ali.key, { mode: 0o600 });
  writeFileSync(pathOf('both.pem'), ali.key + ali.certificate, { mode: 0o600 });
  const tls = { certificate: pathOf('host.pem'), key: pathOf('host.key'), ca: pathOf('ca.pem') };
  const auth = new Authenticator({ verifiers: [mtlsVerifier()] });
  server = await serve(greeter, { tls, auth });
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

test(
  'AUTH_009: who calls is shown by a certificate, by flags, environment or one file for both',
  patient,
  async () => {
    const sent = await legate(['send', '-a', server.url, ...certified(), 'x']);
    expect(sent).toMatchObject({ code: 0, err: '' });
    expect(sent.out).toContain('Good day, ali');
    const env = { A2ACLI_CERT: pathOf('both.pem'), A2ACLI_CA: pathOf('ca.pem') };
    expect((await legate(['send', '-a', server.url, '--stream', 'x'], { env })).out).toContain(
      'ali',
    );
    const shown = await legate(['config', 'show'], { env });
    expect(shown.out).toContain(`cert: ${pathOf('both.pem')} (the environment)`);
  },
);

test(
  'AUTH_009: without a certificate the caller is unknown, and the hint names the flags',
  patient,
  async () => {
    const { code, out } = await legate([
      'send',
      '-a',
      server.url,
      '--ca',
      pathOf('ca.pem'),
      '--json',
      'x',
    ]);
    expect(code).toBe(4);
    expect(JSON.parse(out)).toMatchObject({
      error: {
        code: 'A2ACLI_ERR_CREDENTIALS_MISSING',
        hint: expect.stringContaining('--cert') as string,
      },
    });
  },
);

test('AUTH_009: an untrusted certificate authority is unreachable: exit 3', patient, async () => {
  const { code, err } = await legate(['card', server.url]);
  expect(code).toBe(3);
  expect(err).toContain('A2ACLI_ERR_UNREACHABLE');
  expect(err).toContain('--ca');
});

test('AUTH_009: over gRPC, too', patient, async () => {
  const tls = { certificate: pathOf('host.pem'), key: pathOf('host.key'), ca: pathOf('ca.pem') };
  const grpcServer = await serveGrpc(server.router, { tls });
  try {
    const only = {
      ...server.router.cards.current,
      supportedInterfaces: [
        {
          url: `https://localhost:${grpcServer.port}`,
          protocolBinding: 'GRPC',
          protocolVersion: '1.0',
        },
      ],
    };
    writeFileSync(pathOf('grpc.json'), JSON.stringify(only));
    const sent = await legate(['send', '-a', pathOf('grpc.json'), ...certified(), 'x']);
    expect(sent).toMatchObject({ code: 0, err: '' });
    expect(sent.out).toContain('Good day, ali');
    const without = ['send', '-a', pathOf('grpc.json'), '--ca', pathOf('ca.pem'), 'x'];
    expect((await legate(without)).code).toBe(4);
    // An authority that is not known: refused, unless verification is turned off, which is told.
    const args = ['send', '-a', pathOf('grpc.json'), '--cert', pathOf('both.pem'), 'x'];
    expect((await legate(args)).code).toBe(3);
    const insecure = await legate([...args, '--insecure']);
    expect(insecure.code).toBe(0);
    expect(insecure.err).toContain('WARNING: certificates are not verified');
  } finally {
    await grpcServer.close({ graceMs: 0 });
  }
});

test('AUTH_009: a server that requires a client certificate', patient, async () => {
  const strict = createServer(
    {
      cert: host.certificate,
      key: host.key,
      ca: authority.certificate,
      requestCert: true,
      // In 1.3 a client may have been let in before it is thrown out, and learns less.
      maxVersion: 'TLSv1.2',
    },
    (request, response) => {
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify(rawCard(`https://${request.headers.host ?? ''}`)));
    },
  );
  await new Promise<void>((resolve) => strict.listen(0, '127.0.0.1', resolve));
  try {
    const address = `https://localhost:${(strict.address() as AddressInfo).port}`;
    const shown = await legate(['card', address, ...certified()]);
    expect(fieldsOf(shown.out)['Name']).toBe('Raw');
    const refused = await legate(['card', address, '--ca', pathOf('ca.pem')]);
    expect(refused.code).toBe(3);
    expect(refused.err).toContain('--cert');
  } finally {
    strict.closeAllConnections();
    await new Promise((resolve) => strict.close(resolve));
  }
});

test(
  'AUTH_009: a key that is encrypted is opened by a passphrase from the environment',
  patient,
  async () => {
    const sealed = createPrivateKey(ali.key).export({
      type: 'pkcs8',
      format: 'pem',
      cipher: 'aes-256-cbc',
      passphrase: 'hush-hush',
    });
    writeFileSync(pathOf('sealed.key'), sealed, { mode: 0o600 });
    const flags = [
      '--cert',
      pathOf('ali.pem'),
      '--key',
      pathOf('sealed.key'),
      '--ca',
      pathOf('ca.pem'),
    ];
    const args = ['send', '-a', server.url, '--debug', ...flags, 'x'];
    const opened = await legate(args, { env: { A2ACLI_KEY_PASSPHRASE: 'hush-hush' } });
    expect(opened.out).toContain('Good day, ali');
    expect(opened.err).not.toContain('hush-hush');
    const closed = await legate(args);
    expect(closed.code).toBe(2);
    expect(closed.err).toContain('A2ACLI_KEY_PASSPHRASE');
  },
);

test(
  'a folder that names an agent gets neither the certificate nor the headers of its visitor',
  patient,
  async () => {
    const directory = mkdtempSync(pathOf('visited-'));
    writeFileSync(join(directory, '.env'), `A2ACLI_AGENT_CARD=${server.url}\n`, { mode: 0o600 });
    const ca = { A2ACLI_CA: pathOf('ca.pem') };
    for (const credential of [
      { A2ACLI_CERT: pathOf('both.pem') },
      { A2ACLI_SVC_PARAM: 'X-Api-Key: sesame-open' },
    ]) {
      const env = { ...ca, ...credential };
      const { code, err } = await legate(['send', 'x'], { directory, env });
      expect(code).toBe(2);
      expect(err).toContain('name the agent yourself');
    }
  },
);

test('AUTH_009: files that do not do are wrong usage, and say which', patient, async () => {
  writeFileSync(pathOf('empty.pem'), 'nothing');
  writeFileSync(pathOf('other.key'), issue('other').key, { mode: 0o600 });
  const failure = async (...flags: readonly string[]) => {
    const { code, err } = await legate(['card', server.url, ...flags]);
    expect(code).toBe(2);
    return err;
  };
  expect(await failure('--cert', pathOf('none.pem'))).toContain("doesn't exist");
  expect(await failure('--cert', pathOf('empty.pem'))).toContain('contains no certificate');
  expect(await failure('--cert', pathOf('ali.pem'))).toContain('contains no private key');
  expect(await failure('--key', pathOf('ali.key'))).toContain('--cert');
  const mixed = await failure('--cert', pathOf('ali.pem'), '--key', pathOf('other.key'));
  expect(mixed).toContain("doesn't belong to the certificate");
});

test(
  'a key that others can read is reported; authorities of a folder are not trusted by themselves',
  patient,
  async () => {
    writeFileSync(pathOf('open.key'), ali.key);
    chmodSync(pathOf('open.key'), 0o644);
    const flags = [
      '--cert',
      pathOf('ali.pem'),
      '--key',
      pathOf('open.key'),
      '--ca',
      pathOf('ca.pem'),
    ];
    const { err } = await legate(['card', server.url, ...flags]);
    expect(err).toContain(`chmod 600 ${pathOf('open.key')}`);
    const directory = mkdtempSync(pathOf('project-'));
    writeFileSync(join(directory, '.env'), `A2ACLI_CA=${pathOf('ca.pem')}\n`, { mode: 0o600 });
    const found = await legate(['card', server.url], { directory });
    expect(found.code).toBe(2);
    expect(found.err).toContain('--ca or A2ACLI_CA');
  },
);
