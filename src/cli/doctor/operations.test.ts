/** What operators misconfigure: TLS, keys at a URL, variables, agents in code. */
import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeCertificate } from '../../../test/certificate.ts';
import { greenhouseFolder, projectFolder } from '../../../test/support/greenhouse.ts';
import { freePort } from '../../../test/support/servers.ts';
import { temporaryDirectory } from '../../../test/support/stores.ts';
import { serve } from '../../http/index.ts';
import { generateSigningKey, publicKeySet } from '../../push/index.ts';
import { legate, patient } from '../testing/legate-process.ts';
import { triedAgent } from '../testing/tried-agent.ts';
import type { Diagnosis } from './diagnosis.ts';

async function examined(source: string, args: readonly string[] = [], env: NodeJS.ProcessEnv = {}) {
  const { out, err } = await legate(['doctor', source, '--port', '0', '--json', ...args], { env });
  expect(err).toBe('');
  const all = JSON.parse(out) as readonly Diagnosis[];
  return { all, of: (what: string) => all.find((one) => one.what === what) };
}

const code = {
  'agent.ts':
    "import { agent } from 'legate';\nexport const me = agent({ name: 'me' }, () => 'hi');\n",
};
const { certificate, key } = makeCertificate({ commonName: 'localhost' });

test('a port with TLS is an agent, whose card is looked at', patient, async () => {
  await using folder = await projectFolder({ ...code, 'c.pem': certificate, 'k.pem': key });
  const tls = { certificate: folder.path('c.pem'), key: folder.path('k.pem') };
  await using agent = await serve(triedAgent, { tls });
  const { of } = await examined(folder.path('agent.ts'), ['--port', String(agent.port)]);
  expect(of('Port')).toMatchObject({
    outcome: 'warning',
    found: `${agent.port} is used by another agent, "${triedAgent.name}"`,
  });
  expect(of('Card')).toMatchObject({
    outcome: 'passed',
    found: `the card at https://localhost:${agent.port}/.well-known/agent-card.json is valid`,
  });
});

test(
  'an agent in code: a model with tls, peers, signing key, client certificates',
  patient,
  async () => {
    const expired = makeCertificate({
      commonName: 'client',
      notBefore: new Date(Date.now() - 2 * 86_400_000),
      notAfter: new Date(Date.now() - 86_400_000),
    });
    const models = createSecureServer({ cert: certificate, key }, (_, response) =>
      response.end('{"data":[{"id":"tiny"}]}'),
    );
    await new Promise<void>((resolve) => models.listen(0, '127.0.0.1', resolve));
    const { port } = models.address() as AddressInfo;
    await using peer = await serve(triedAgent);
    const model = (more: string): string =>
      `[{provider: self-hosted, model: tiny, api_base: "https://localhost:${port}/v1"${more}}]`;
    await using folder = await projectFolder({
      ...code,
      'ca.pem': certificate,
      'client.pem': expired.certificate,
      'client.key': expired.key,
      'endpoints.yml': `
model_groups:
  - {id: trusting, models: ${model(', tls: {ca: ca.pem}')}}
  - {id: wary, models: ${model('')}}
peers:
  tls: {cert: client.pem, key: client.key}
  well_known:
    - {name: here, url: "${peer.url}"}
    - {name: gone, url: "http://127.0.0.1:9"}
a2a_server: {card_signing_key: missing.pem}
`,
    });
    try {
      const { of } = await examined(folder.path('agent.ts'));
      expect(of('Model trusting')).toMatchObject({ outcome: 'passed' });
      expect(of('Model wary')).toMatchObject({ outcome: 'failed' });
      expect(of('Peer here')).toMatchObject({ outcome: 'passed' });
      expect(of('Peer gone')).toMatchObject({ outcome: 'failed' });
      expect(of('Signing keys')).toMatchObject({
        outcome: 'failed',
        found: expect.stringContaining('missing.pem'),
      });
      expect(of('Certificates of model group trusting')).toMatchObject({ outcome: 'passed' });
      expect(of('Client certificate of peers')).toMatchObject({
        outcome: 'failed',
        found: expect.stringMatching(/^expired on/),
      });
    } finally {
      models.closeAllConnections();
      models.close();
    }
  },
);

test(
  'keys at a URL that can not be reached fail, as does mtls without authorities',
  patient,
  async () => {
    const { publicKey } = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    });
    await using keys = await serve(triedAgent);
    const nowhere = await freePort();
    const auth = (more: string) =>
      `a2a_server: {auth: {type: bearer, jwt: {algorithm: RS256, ${more}}}}\n`;
    await using folder = await projectFolder({
      ...code,
      'endpoints.yml': auth(`jwks_url: "http://127.0.0.1:${nowhere}/keys"`),
      'ca.pem': certificate,
      'key.pem': publicKey,
    });
    const source = folder.path('agent.ts');
    expect((await examined(source)).of('Keys of callers')).toMatchObject({
      outcome: 'failed',
      found: expect.stringContaining(`127.0.0.1:${nowhere}`),
    });
    // It answers, and has no keys.
    await folder.write({ 'endpoints.yml': auth(`openid_issuer: "${keys.url}"`) });
    expect((await examined(source)).of('Keys of callers')).toMatchObject({ outcome: 'failed' });
    await folder.write({
      'endpoints.yml':
        'a2a_server: {auth: {require: [jwt, mtls], jwt: {algorithm: RS256, public_key_path: key.pem}}}\n',
    });
    expect((await examined(source)).of('Keys of callers')).toMatchObject({
      outcome: 'failed',
      fix: expect.stringContaining('--ssl-ca-file'),
    });
    const withCa = await examined(source, ['--ssl-ca-file', folder.path('ca.pem')]);
    expect(withCa.of('Keys of callers')).toMatchObject({ outcome: 'passed' });
  },
);

test(
  'a variable that is not set fails the check of its section, and no other',
  patient,
  async () => {
    await using folder = await greenhouseFolder({
      'endpoints.yml':
        'store: {type: sqlite, path: .legate/store.db}\nbus: {type: rabbitmq, url: "${NOT_SET}"}\n' +
        'telemetry: {otlp: {endpoint: "http://127.0.0.1:9"}}\n' +
        'push: {signing_key: hooks.pem}\n',
      'hooks.pem': generateSigningKey()
        .privateKey.export({ type: 'pkcs8', format: 'pem' })
        .toString(),
    });
    const { of } = await examined(folder.directory);
    expect(of('Store')).toMatchObject({ outcome: 'passed' });
    expect(of('Broker')).toMatchObject({
      outcome: 'failed',
      found: expect.stringMatching(/bus\.url.*NOT_SET/),
      fix: expect.stringContaining('set the variable'),
    });
    expect(of('OTLP endpoint')).toMatchObject({ outcome: 'failed' });
    expect(of('Signing keys')).toMatchObject({ outcome: 'passed' });
  },
);

test('sub agents in code need no model', patient, async () => {
  await using folder = await temporaryDirectory();
  const bank = join(folder.path, 'bank');
  cpSync(join(import.meta.dirname, '../../../examples/bank'), bank, { recursive: true });
  const { all, of } = await examined(bank);
  expect(all.filter(({ found }) => /names no model|the only model/.test(found))).toEqual([]);
  expect(of('Sub agent loan_calculator')).toMatchObject({
    outcome: 'passed',
    found: 'runs the code of ./agent.ts',
  });
});

test(
  'keys and certificates of the bus, and the keys that sign cards of peers',
  patient,
  async () => {
    await using peer = await serve(triedAgent);
    const configured = (signing: string, jwks: string, keys: string): string => `
bus:
  type: rabbitmq
  url: amqps://127.0.0.1:1
  cert: client.pem
  key: client.key
  signing_key: ${signing}
  trusted: [{issuer: desk, jwks_url: "${jwks}"}]
peers: {well_known: [{name: bank, url: "${peer.url}", verify_card: {keys: ${keys}}}]}
`;
    const keySet = createServer((_, response) => {
      response.end(JSON.stringify(publicKeySet([generateSigningKey()])));
    });
    await new Promise<void>((resolve) => keySet.listen(0, '127.0.0.1', resolve));
    const jwks = `http://127.0.0.1:${(keySet.address() as AddressInfo).port}/`;
    await using folder = await projectFolder({
      ...code,
      'client.pem': certificate,
      'client.key': key,
      'own.pem': key,
      'card.jwks.json': JSON.stringify(publicKeySet([generateSigningKey()])),
      'endpoints.yml': configured('own.pem', jwks, 'card.jwks.json'),
    });
    const first = await examined(folder.directory);
    expect(first.of('Broker')).toMatchObject({
      outcome: 'failed',
      found: expect.stringContaining('nothing listens there') as string,
    });
    expect(first.of('Keys of the bus')).toMatchObject({ outcome: 'passed' });
    expect(first.of('Client certificate of the bus')).toMatchObject({ outcome: 'warning' });
    expect(first.of('Peer bank')?.found).toContain('the card is not signed');

    await folder.write({ 'endpoints.yml': configured('client.pem', jwks, 'absent.pem') });
    const second = await examined(folder.directory);
    expect(second.of('Keys of the bus')?.found).toMatch(/bus\.signing_key.*client\.pem/);
    expect(second.of('Peer bank')?.found).toContain('absent.pem');

    keySet.closeAllConnections();
    keySet.close();
    await folder.write({ 'endpoints.yml': configured('own.pem', jwks, 'card.jwks.json') });
    const third = await examined(folder.directory);
    expect(third.of('Keys of the bus')?.found).toMatch(/127\.0\.0\.1:\d+ could not be reached/);
  },
);
