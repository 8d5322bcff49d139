import { hash } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Embed } from '../../search/index.ts';
import type { Embedder } from '../../models/index.ts';
import type { Logger } from '../../telemetry/index.ts';

const keyLength = 32;

/**
 * Embeds texts and caches the vectors in a file. Texts that the same model has embedded before are not sent
 * again. If the file is missing or can't be written, all texts are embedded.
 */
export function cachedEmbed(
  embedder: Embedder,
  { file, logger }: { readonly file: string; readonly logger: Logger },
): Embed {
  return async (texts, { signal }) => {
    const known = await readVectors(file, logger);
    const keys = texts.map((text) =>
      hash('sha256', `${embedder.modelId}\n${text}`, 'hex').slice(0, keyLength),
    );
    const missing = keys.flatMap((key, at) => (known.has(key) ? [] : [at]));
    const fresh = await embedder.embed(
      missing.map((at) => texts[at] ?? ''),
      { signal },
    );
    missing.forEach((at, index) => {
      const vector = fresh[index];
      if (vector !== undefined) known.set(keys[at] ?? '', vector);
    });
    logger.info({ passages: texts.length, embedded: missing.length }, 'search.embedded');
    const vectors = keys.flatMap((key) => known.get(key) ?? []);
    // Drop vectors of texts that no longer exist.
    if (missing.length > 0 || known.size !== new Set(keys).size) {
      const kept = new Map(keys.map((key, at) => [key, vectors[at] ?? new Float32Array(0)]));
      await writeVectors(file, kept).catch((error: unknown) => {
        logger.warn({ file, error }, 'search.cache_failed');
      });
    }
    return vectors;
  };
}

/** File format: a line of keys, a line with the length of a vector, then the vectors. */
async function writeVectors(
  file: string,
  vectors: ReadonlyMap<string, Float32Array>,
): Promise<void> {
  const [first] = vectors.values();
  const head = `${[...vectors.keys()].join(' ')}\n${first?.length ?? 0}\n`;
  const parts = Array.from(vectors.values(), ({ buffer, byteOffset, byteLength }) =>
    Buffer.from(buffer, byteOffset, byteLength),
  );
  await mkdir(dirname(file), { recursive: true });
  await writeFile(`${file}.new`, Buffer.concat([Buffer.from(head), ...parts]));
  await rename(`${file}.new`, file);
}

async function readVectors(file: string, logger: Logger): Promise<Map<string, Float32Array>> {
  const content = await readFile(file).catch(() => undefined);
  if (content === undefined) return new Map();
  const first = content.indexOf('\n');
  const second = content.indexOf('\n', first + 1);
  const keys = content.toString('latin1', 0, first).split(' ');
  const length = Number(content.toString('latin1', first + 1, second));
  if (second < 0 || content.length !== second + 1 + keys.length * length * 4) {
    logger.warn({ file }, 'search.cache_unreadable');
    return new Map();
  }
  return new Map(
    keys.map((key, at) => {
      const start = second + 1 + at * length * 4;
      // A copy, because the file's bytes may not be aligned.
      return [
        key,
        new Float32Array(Uint8Array.from(content.subarray(start, start + length * 4)).buffer),
      ];
    }),
  );
}
