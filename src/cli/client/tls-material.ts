import { createPrivateKey, type KeyObject } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { usage } from '../usage.ts';

/** Certificates and keys for TLS connections, in PEM. */
export interface TlsMaterial {
  /** The client certificate, for agents that request one. */
  readonly certificate?: string;
  readonly key?: string;
  /** Certificate authorities to trust instead of those of Node. */
  readonly ca?: string;
}

/** Path of the file. */
export interface TlsFiles {
  readonly cert?: string | undefined;
  /** @default the file of the certificate */
  readonly key?: string | undefined;
  readonly ca?: string | undefined;
  /** The passphrase of an encrypted key. */
  readonly passphrase?: string | undefined;
}

const largestFile = 1024 * 1024;

/** Reads certificates and keys, and rejects unusable ones; undefined when none are given. */
export function readTls({ cert, key, ca, passphrase }: TlsFiles): TlsMaterial | undefined {
  if (cert === undefined && key !== undefined) {
    throw usage('--key needs a certificate: give it with --cert');
  }
  if (cert === undefined && ca === undefined) return undefined;
  const certificate = cert === undefined ? undefined : readPem(cert, '--cert');
  const material: TlsMaterial = {
    ...(cert !== undefined && certificate !== undefined && { certificate }),
    ...(cert !== undefined && { key: readKey(key ?? cert, passphrase) }),
    ...(ca !== undefined && { ca: readPem(ca, '--ca') }),
  };
  try {
    createSecureContext({ cert: certificate, key: material.key, ca: material.ca });
  } catch (error) {
    throw usage(
      `the certificate, its key or the authority is invalid: ${reasonOf(error)}; they must be PEM files, and the key must match the certificate`,
    );
  }
  return material;
}

/** Whether other users can read a file. */
export function isExposed(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && (found.mode & 0o077) !== 0;
}

function readPem(path: string, flag: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isFile() !== true) throw usage(`${flag}: there is no file ${path}`);
  if (found.size > largestFile) throw usage(`${flag}: ${path} is too large for certificates`);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw usage(`${flag}: ${path} cannot be read: ${reasonOf(error)}`);
  }
  if (text.includes('-----BEGIN ')) return text;
  throw usage(`${flag}: ${path} is not a PEM file`);
}

/** Decrypts the key: not every API that takes a key takes a passphrase. */
function readKey(path: string, passphrase: string | undefined): string {
  const text = readPem(path, '--key');
  const [pem] =
    /-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----[^]*?-----END [A-Z ]+-----/.exec(text) ?? [];
  if (pem === undefined) throw usage(`--key: ${path} contains no private key`);
  let key: KeyObject;
  try {
    key = createPrivateKey({ key: pem, ...(passphrase !== undefined && { passphrase }) });
  } catch {
    throw usage(
      `--key: the private key of ${path} cannot be read; for an encrypted key set A2ACLI_KEY_PASSPHRASE`,
    );
  }
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown failure';
}
