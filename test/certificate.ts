import {
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto';
import { isIP } from 'node:net';

/** A certificate and its key, PEM, with what is needed to sign others with it. */
export interface TestCertificate {
  readonly certificate: string;
  readonly key: string;
  readonly commonName: string;
}

export interface TestCertificateOptions {
  readonly commonName: string;
  /** `DNS:localhost`, `IP:127.0.0.1`, `URI:spiffe://...` */
  readonly alternativeNames?: readonly string[];
  /** Self-signed when unset. */
  readonly issuer?: TestCertificate;
  readonly isAuthority?: boolean;
  /** @default an hour ago */
  readonly notBefore?: Date;
  /** @default in a day */
  readonly notAfter?: Date;
}

/**
 * Makes an X.509 certificate with an ES256 key, for tests of TLS and mutual TLS. Nothing of it is
 * meant for use outside tests.
 */
export function makeCertificate(options: TestCertificateOptions): TestCertificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const signer: KeyObject =
    options.issuer === undefined ? privateKey : createPrivateKey(options.issuer.key);
  const body = sequence(
    explicit(0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    sequence(ecdsaWithSha256),
    name(options.issuer?.commonName ?? options.commonName),
    sequence(
      time(options.notBefore ?? new Date(Date.now() - 3_600_000)),
      time(options.notAfter ?? new Date(Date.now() + 86_400_000)),
    ),
    name(options.commonName),
    publicKey.export({ type: 'spki', format: 'der' }),
    explicit(3, sequence(...extensions(options))),
  );
  const signature = sign('sha256', body, signer);
  const der = sequence(body, sequence(ecdsaWithSha256), tlv(0x03, Buffer.from([0]), signature));
  const lines = der.toString('base64').replaceAll(/(.{64})(?=.)/g, '$1\n');
  return {
    certificate: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    commonName: options.commonName,
  };
}

const ecdsaWithSha256 = tlv(0x06, Buffer.from('2a8648ce3d040302', 'hex'));

function extensions(options: TestCertificateOptions): Buffer[] {
  const isAuthority = options.isAuthority ?? false;
  const constraints = sequence(...(isAuthority ? [tlv(0x01, Buffer.from([0xff]))] : []));
  const list = [extension('551d13', constraints)];
  const names = options.alternativeNames ?? [];
  if (names.length > 0) list.push(extension('551d11', sequence(...names.map(alternativeName))));
  return list;
}

function extension(oid: string, value: Buffer): Buffer {
  return sequence(tlv(0x06, Buffer.from(oid, 'hex')), tlv(0x04, value));
}

function alternativeName(entry: string): Buffer {
  const [kind = '', ...rest] = entry.split(':');
  const value = rest.join(':');
  if (kind === 'IP' && isIP(value) === 4) {
    return tlv(0x87, Buffer.from(value.split('.').map(Number)));
  }
  return tlv(kind === 'URI' ? 0x86 : 0x82, Buffer.from(value));
}

function name(commonName: string): Buffer {
  const attribute = sequence(
    tlv(0x06, Buffer.from('550403', 'hex')),
    tlv(0x0c, Buffer.from(commonName)),
  );
  return sequence(tlv(0x31, attribute));
}

/** UTCTime: two digits of the year. */
function time(date: Date): Buffer {
  const digits = date.toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  return tlv(0x17, Buffer.from(digits.slice(2)));
}

function integer(value: Buffer): Buffer {
  return tlv(0x02, value);
}

function sequence(...parts: readonly Uint8Array[]): Buffer {
  return tlv(0x30, ...parts);
}

function explicit(tag: number, value: Buffer): Buffer {
  return tlv(0xa0 + tag, value);
}

function tlv(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const value = Buffer.concat(parts);
  const size = value.length;
  const head =
    size < 128 ? [tag, size] : size < 256 ? [tag, 0x81, size] : [tag, 0x82, size >> 8, size & 255];
  return Buffer.concat([Buffer.from(head), value]);
}
