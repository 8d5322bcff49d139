import { X509Certificate } from 'node:crypto';
import { invalidConfiguration, type LegateError } from '../protocol/index.ts';
import { readConfiguredFile } from './file-source.ts';

/** The contents of a PEM text. */
export interface PemBlocks {
  readonly blocks: readonly { readonly text: string; readonly label: string }[];
  /** A block has no end or no start: the file is still being written, or only part of it was copied. */
  readonly isCutOff: boolean;
}

const pemBlock = /-----BEGIN ([A-Z0-9 ]+)-----[^]*?-----END \1-----/g;

/**
 * Splits a PEM text into its blocks. OpenSSL ignores text that it can't read, so a file that is cut off or
 * empty would silently contain fewer certificates.
 */
export function pemBlocks(pem: string): PemBlocks {
  return {
    blocks: Array.from(pem.matchAll(pemBlock), ([text, label = '']) => ({ text, label })),
    isCutOff: /-----(?:BEGIN|END)\b/.test(pem.replaceAll(pemBlock, '')),
  };
}

/**
 * Reads a file of certificates and checks that each is valid. `what` names the file in errors: `tls.ca: the
 * file`. Throws `CONFIGURATION_INVALID`.
 */
export function readCertificates(path: string, what: string): string {
  const refuse = (why: string, cause?: unknown): LegateError =>
    invalidConfiguration(`${what} ${path} ${why}`, cause);
  const pem = readConfiguredFile(path, what);
  const { blocks, isCutOff } = pemBlocks(pem);
  if (isCutOff) throw refuse('is cut off: a PEM block has no end');
  const certificates = blocks.filter(({ label }) => label.endsWith('CERTIFICATE'));
  if (certificates.length === 0) {
    throw refuse('contains no certificate in PEM; give one with "-----BEGIN CERTIFICATE-----"');
  }
  for (const { text } of certificates) {
    try {
      void new X509Certificate(text);
    } catch (cause) {
      throw refuse("contains a certificate that can't be read; give a complete PEM file", cause);
    }
  }
  return pem;
}
