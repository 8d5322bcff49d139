import { generateKeyPairSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeCertificate } from '../../test/certificate.ts';
import { temporaryDirectory } from '../../test/support/stores.ts';
import { checkFiles } from '../net/index.ts';
import { readSigningKey } from '../push/index.ts';
import { silentLogger } from '../telemetry/index.ts';
import { signCard, verifyCardBy } from './card-signature.ts';
import { publicKeySource } from './key-source.ts';

const settings = { keys: 'keys', jwksUrl: 'jwks_url', openIdIssuer: 'openid_issuer' };
const year = 365 * 86_400_000;
const day = 86_400_000;

async function setting(keys: readonly string[]) {
  const folder = await temporaryDirectory();
  const paths = keys.map((_, index) => join(folder.path, `${index}.pem`));
  await Promise.all(keys.map((pem, index) => writeFile(paths[index] ?? '', pem)));
  const time = { now: Date.now() };
  const open = () =>
    publicKeySource(
      { keys: paths },
      {
        what: 'keys of alice',
        settings,
        directory: '.',
        logger: silentLogger,
        clock: { now: () => time.now },
      },
    );
  return {
    path: paths[0] ?? '',
    time,
    open,
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

const certificate = (lasts: number) =>
  makeCertificate({ commonName: 'alice', notAfter: new Date(Date.now() + lasts) });

/** Whether a card that the key signed is accepted. */
async function accepts(source: ReturnType<typeof publicKeySource>, key: string): Promise<boolean> {
  const card = {
    name: 'alice',
    description: '',
    version: '1',
    supportedInterfaces: [],
    capabilities: {},
    defaultInputModes: [],
    defaultOutputModes: [],
    skills: [],
  };
  const signed = await signCard(card, { keys: [readSigningKey(key)] });
  return verifyCardBy(signed, await source.lookups()).then(
    () => true,
    () => false,
  );
}

test('a key is accepted until its certificate expires, a key without a certificate always', async () => {
  const [old, next] = [certificate(day), certificate(3 * day)];
  const bare = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  await using files = await setting([old.certificate + next.certificate, bare.publicKey]);
  const source = files.open();
  const accepted = () =>
    Promise.all([old.key, next.key, bare.privateKey].map((key) => accepts(source, key)));
  expect(await accepted()).toEqual([true, true, true]);
  files.time.now += 2 * day;
  expect(await accepted()).toEqual([false, true, true]);
  files.time.now += year;
  expect(await accepted()).toEqual([false, false, true]);
});

test('keys whose certificates have all expired are refused at the start, and not reloaded', async () => {
  const [old, next] = [certificate(day), certificate(3 * day)];
  await using files = await setting([next.certificate]);
  const source = files.open();
  files.time.now += 2 * day;
  await writeFile(files.path, old.certificate);
  await checkFiles();
  expect(await accepts(source, next.key)).toBe(true);
  expect(await accepts(source, old.key)).toBe(false);
  expect(files.open).toThrow(
    expect.objectContaining({
      code: 'CONFIGURATION_INVALID',
      message: 'keys: the certificate of every public key has expired; replace it with a new one',
    }),
  );
});
