/**
 * Creates the keys and secrets of the company: `node examples/company/keys.ts [folder]`. For the Compose
 * file, omit the folder: keys go to `keys/` and secrets to `.env`.
 */
import { createPublicKey, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SignJWT } from 'jose';
import { generateSigningKey, publicKeySet } from '../../src/push/index.ts';
import { makeCertificate } from '../../test/certificate.ts';

/** The secrets in the environment of the services. */
export interface Secrets {
  /** The credential of the desk for the bank. */
  readonly BANK_AUTHORIZATION: string;
  readonly METRICS_TOKEN: string;
  /** The API key of a customer. */
  readonly CUSTOMER_KEY: string;
}

const YEAR_MS = 365 * 86_400_000;

/** A key that signs tokens for the bank. */
export function newTokenKey(): KeyObject {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
}

/** The concatenated public keys, which the bank reads. */
export function publicKeysPem(keys: readonly KeyObject[]): string {
  return keys.map((key) => createPublicKey(key).export({ type: 'spki', format: 'pem' })).join('');
}

export function tokenFor(subject: string, key: KeyObject): Promise<string> {
  return new SignJWT()
    .setProtectedHeader({ alg: 'ES256' })
    .setIssuer('company')
    .setAudience('bank')
    .setSubject(subject)
    .setExpirationTime('30d')
    .sign(key);
}

/** Writes certificates and keys to the folder; returns the secrets and the key that signs tokens. */
export async function makeKeys(folder: string): Promise<{ secrets: Secrets; tokenKey: KeyObject }> {
  mkdirSync(folder, { recursive: true });
  // Container users read the files, too: the permissions of the folder restrict access.
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  const notAfter = new Date(Date.now() + YEAR_MS);
  const ca = makeCertificate({ commonName: 'company', isAuthority: true, notAfter });
  const server = (name: string) =>
    makeCertificate({
      commonName: name,
      issuer: ca,
      notAfter,
      alternativeNames: [`DNS:${name}`, 'DNS:localhost', 'IP:127.0.0.1'],
    });
  write('ca.pem', ca.certificate);
  const [bank, proxy] = [server('bank'), server('proxy')];
  write('bank.pem', bank.certificate);
  write('bank.key', bank.key);
  write('proxy.pem', proxy.certificate + proxy.key);
  for (const name of ['gateway', 'desk']) {
    const key = generateSigningKey();
    write(`${name}.pem`, key.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
    write(`${name}.jwks.json`, JSON.stringify(publicKeySet([key])));
  }
  const tokenKey = newTokenKey();
  write('tokens.pem', publicKeysPem([tokenKey]));
  const secret = () => randomBytes(24).toString('base64url');
  const secrets = {
    BANK_AUTHORIZATION: `Bearer ${await tokenFor('desk', tokenKey)}`,
    METRICS_TOKEN: secret(),
    CUSTOMER_KEY: secret(),
  };
  write('api-keys.json', JSON.stringify([{ subject: 'ada', key: secrets.CUSTOMER_KEY }]));
  write('metrics-token', secrets.METRICS_TOKEN);
  return { secrets, tokenKey };
}

if (import.meta.main) {
  const here = import.meta.dirname;
  const { secrets } = await makeKeys(process.argv[2] ?? join(here, 'keys'));
  const passwords = ['POSTGRES_PASSWORD', 'RABBITMQ_PASSWORD'].map((name) => [
    name,
    randomBytes(18).toString('base64url'),
  ]);
  const lines = [...Object.entries(secrets), ...passwords].map((entry) => entry.join('='));
  writeFileSync(join(here, '.env'), `${lines.join('\n')}\n`, { mode: 0o600 });
  console.log(`Wrote keys/ and .env. Your API key is ${secrets.CUSTOMER_KEY}`);
}
