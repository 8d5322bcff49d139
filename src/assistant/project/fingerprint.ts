import { createHash } from 'node:crypto';

import type { TarEntry } from './tar.ts';

/**
 * SHA-256 over paths and contents, in hex. Neither the order of the files nor their times nor the
 * line endings of an editor change it.
 */
export function fingerprint(entries: readonly TarEntry[]): string {
  const hash = createHash('sha256');
  const sorted = [...entries].sort((left, right) => (left.path < right.path ? -1 : 1));
  for (const { path, content } of sorted) {
    const text = Buffer.from(content)
      .toString('utf8')
      .replace(/^\uFEFF/, '')
      .replaceAll('\r\n', '\n');
    // Lengths in front keep two files from ever reading like one.
    hash.update(`${Buffer.byteLength(path)}:${path}${Buffer.byteLength(text)}:${text}`);
  }
  return hash.digest('hex');
}
