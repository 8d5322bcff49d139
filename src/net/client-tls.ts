import { createPrivateKey, X509Certificate } from 'node:crypto';
import { resolve } from 'node:path';
import { createSecureContext } from 'node:tls';
import { type ClientTlsFiles, present } from '../config/index.ts';
import { invalidConfiguration } from '../protocol/index.ts';
import type { Logger } from '../telemetry/index.ts';
import { FileSource, readConfiguredFile } from './file-source.ts';
import { readCertificates } from './pem.ts';

/**
 * The contents of the files, PEM.
 * @example const material: TlsMaterial = { ca: await readFile('ca.pem', 'utf8') };
 */
export interface TlsMaterial {
  readonly ca?: string;
  readonly certificate?: string;
  readonly key?: string;
}

/**
 * Certificates and keys that rotate: `guardedFetch` and `grpcBinding` read them for each connection.
 * @example const tls: ClientTls = clientTls({ ca: 'ca.pem', cert: 'client.pem', key: 'client.key' });
 */
export interface ClientTls {
  current(): Promise<TlsMaterial>;
}

/**
 * The directory of the files, and their names in errors.
 * @example const options: ClientTlsOptions = { what: 'sub agent hotels', directory: project.directory };
 */
export interface ClientTlsOptions {
  /** The owner of the files, for errors and logs: `sub agent hotels`. @default 'tls' */
  readonly what?: string;
  /** The directory to which paths are relative. @default the working directory */
  readonly directory?: string;
  /** @default `tls.ca`, `tls.cert`, `tls.key` */
  readonly keyNames?: KeyNames;
  readonly logger?: Logger | undefined;
}

type KeyNames = Readonly<Record<'ca' | 'cert' | 'key' | 'passphrase', string>>;

const configured: KeyNames = {
  ca: 'tls.ca',
  cert: 'tls.cert',
  key: 'tls.key',
  passphrase: 'tls.passphrase',
};

/**
 * Reads the files of a `tls:` section. Throws `CONFIGURATION_INVALID`, with the file and its key in the
 * configuration, for files that can't be used. If files become unusable later, an error is logged and
 * the last good ones stay in use.
 * @example
 * const tls = clientTls({ ca: 'ca.pem', cert: 'client.pem', key: 'client.key' });
 * const fetch = guardedFetch(operatorPolicy, { tls });
 */
export function clientTls(
  files: ClientTlsFiles,
  options: ClientTlsOptions = {},
): FileSource<TlsMaterial> {
  const { what = '', directory = '.', keyNames = configured, logger } = options;
  const { ca, cert, key = cert, passphrase } = files;
  const prefix = what === '' ? '' : `${what}: `;
  if (cert === undefined && key !== undefined) {
    throw invalidConfiguration(
      `${prefix}${keyNames.key} needs a certificate: set ${keyNames.cert}`,
    );
  }
  const names = present({ ca, cert, key });
  const located = Object.entries(names).map(([name, path]) => [name, resolve(directory, path)]);
  const paths: Partial<typeof names> = Object.fromEntries(located);
  return new FileSource({
    what: what === '' ? 'tls' : `tls of ${what}`,
    paths: [...new Set(Object.values(paths))],
    load: () => readMaterial({ paths, passphrase, prefix, keyNames }),
    logger,
  });
}

interface Located {
  readonly paths: { readonly ca?: string; readonly cert?: string; readonly key?: string };
  readonly passphrase: string | undefined;
  readonly prefix: string;
  readonly keyNames: KeyNames;
}

function readMaterial(located: Located): TlsMaterial {
  const { paths, prefix, keyNames } = located;
  const material = present({
    ca: readPem('ca', located),
    certificate: readPem('cert', located),
    key: decrypted(readPem('key', located), located),
  });
  const { ca, certificate, key } = material;
  if (certificate !== undefined && key !== undefined && !belongTogether(certificate, key)) {
    throw invalidConfiguration(
      `${prefix}${keyNames.key}: the private key of ${paths.key} doesn't belong to the certificate of ${paths.cert}; give the key that the certificate was made for`,
    );
  }
  try {
    createSecureContext({ cert: certificate, key, ca });
  } catch (cause) {
    const both = [paths.ca, paths.cert].filter((path) => path !== undefined).join(' and ');
    throw invalidConfiguration(
      `${prefix}the certificates of ${both} can't be used; they must be complete PEM files`,
      cause,
    );
  }
  return material;
}

function readPem(name: 'ca' | 'cert' | 'key', located: Located): string | undefined {
  const { paths, prefix, keyNames } = located;
  const path = paths[name];
  if (path === undefined) return undefined;
  const where = `${prefix}${keyNames[name]}: the file`;
  if (name !== 'key') return readCertificates(path, where);
  const text = readConfiguredFile(path, where);
  if (/-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----/.test(text)) return text;
  throw invalidConfiguration(
    `${where} ${path} contains no private key in PEM; give one with "-----BEGIN PRIVATE KEY-----"`,
  );
}

/** Decrypts a private key, because some APIs accept a key but no passphrase. */
function decrypted(
  text: string | undefined,
  { paths, passphrase, prefix, keyNames }: Located,
): string | undefined {
  if (text === undefined) return undefined;
  const [pem = text] =
    /-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----[^]*?-----END [A-Z0-9 ]+-----/.exec(text) ?? [];
  try {
    const key = createPrivateKey({ key: pem, ...present({ passphrase }) });
    return key.export({ type: 'pkcs8', format: 'pem' }).toString();
  } catch {
    // Without the cause, which can contain the key.
    throw invalidConfiguration(
      `${prefix}${keyNames.key}: the private key of ${paths.key} can't be read; for an encrypted key set ${keyNames.passphrase}`,
    );
  }
}

function belongTogether(certificate: string, key: string): boolean {
  try {
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
  } catch {
    // The certificate can't be read. The caller reports it.
    return true;
  }
}
