import { statSync } from 'node:fs';
import type { ClientTlsFiles } from '../../config/index.ts';
import { clientTls, type FileSource, type TlsMaterial } from '../../net/index.ts';

const flags = { ca: '--ca', cert: '--cert', key: '--key', passphrase: 'A2ACLI_KEY_PASSPHRASE' };

/** The files of flags and settings; undefined when none are given. */
export function readTls(files: ClientTlsFiles): FileSource<TlsMaterial> | undefined {
  const { cert, key, ca } = files;
  if (cert === undefined && key === undefined && ca === undefined) return undefined;
  return clientTls(files, { keyNames: flags });
}

/** Whether other users can read a file. */
export function isExposed(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && (found.mode & 0o077) !== 0;
}
