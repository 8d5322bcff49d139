import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeCertificate } from '../../test/certificate.ts';
import { temporaryDirectory } from '../../test/support/stores.ts';
import { pemBlocks, readCertificates } from './pem.ts';

const { certificate, key } = makeCertificate({ commonName: 'one', isAuthority: true });
const next = makeCertificate({ commonName: 'next', isAuthority: true }).certificate;
const encrypted =
  '-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\nAA==\n-----END EC PRIVATE KEY-----\n';

test.each([
  ['one', certificate],
  ['several, with text between them', `# ours\n${certificate}\n# next\n${next}`],
  ['one with its key', key + certificate],
  ['one with an encrypted key', encrypted + certificate],
  ['one with the line ends of Windows', certificate.replaceAll('\n', '\r\n')],
])('a file of certificates has %s', async (_, pem) => {
  await using folder = await temporaryDirectory();
  const path = join(folder.path, 'ca.pem');
  await writeFile(path, pem);
  expect(readCertificates(path, 'tls.ca: the file')).toBe(pem);
});

test.each([
  ['empty', '', 'contains no certificate in PEM'],
  ['a key alone', key, 'contains no certificate in PEM'],
  ['cut off', certificate.slice(0, 200), 'is cut off: a PEM block has no end'],
  ['cut off in its second certificate', certificate + next.slice(0, -9), 'is cut off'],
  ['without its beginning', certificate.slice(40), 'is cut off'],
  [
    'cut off and continued',
    certificate.slice(0, 200) + next,
    "contains a certificate that can't be",
  ],
  ['damaged', certificate.replace(/^M.{20}/m, 'x'), "contains a certificate that can't be read"],
])('a file of certificates that is %s is refused by its path', async (_, pem, reason) => {
  await using folder = await temporaryDirectory();
  const path = join(folder.path, 'ca.pem');
  await writeFile(path, pem);
  expect(() => readCertificates(path, 'tls.ca: the file')).toThrow(
    `tls.ca: the file ${path} ${reason}`,
  );
});

test('blocks of different kinds are told apart', () => {
  const { blocks, isCutOff } = pemBlocks(key + encrypted + certificate);
  expect(blocks.map(({ label }) => label)).toEqual([
    'PRIVATE KEY',
    'EC PRIVATE KEY',
    'CERTIFICATE',
  ]);
  expect(isCutOff).toBe(false);
});
