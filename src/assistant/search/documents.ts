import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, extname, join, relative, resolve } from 'node:path';
import type { Problems } from '../../config/index.ts';
import { errorMessage } from '../../protocol/index.ts';
import type { TextDocument } from '../../search/index.ts';
import { documentText } from './document-text.ts';

/** Bytes; larger documents are skipped. */
const maximumSize = 16_000_000;
const maximumDocuments = 10_000;
const maximumDepth = 20;

/**
 * The documents below a folder, ordered by path. Unreadable documents are skipped with a warning.
 */
export async function readDocuments(
  directory: string,
  source: string,
  problems: Problems,
): Promise<readonly TextDocument[]> {
  const root = resolve(directory, source);
  const documents: TextDocument[] = [];
  const skip = (file: string, reason: string): void =>
    problems.warn({ position: { file, line: 1, column: 1 }, path: '' }, `skipped: ${reason}`);
  for (const path of await pathsBelow(root, 0)) {
    const name = nameOf(path, root, resolve(directory));
    if (documents.length === maximumDocuments) {
      skip(path, `there are more than ${maximumDocuments} documents`);
      break;
    }
    try {
      if ((await stat(path)).size > maximumSize)
        throw new Error(`larger than ${maximumSize} bytes`);
      documents.push({ source: name, text: await documentText(path, await readFile(path)) });
    } catch (error) {
      skip(path, errorMessage(error));
    }
  }
  return documents;
}

/** The path relative to the project folder; for documents outside of it, relative to the parent of `root`. */
function nameOf(path: string, root: string, directory: string): string {
  const inside = relative(directory, path);
  const name = inside.startsWith('..') ? join(basename(root), relative(root, path)) : inside;
  return name.replaceAll('\\', '/');
}

/** Extensions of files that are not documents, such as images. They are skipped without a warning. */
const passedOver = new Set([
  '',
  '.png',
  '.jpg',
  '.jpeg',
  '.gif',
  '.svg',
  '.css',
  '.js',
  '.ts',
  '.py',
]);

async function pathsBelow(folder: string, depth: number): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const found: string[] = [];
  for (const entry of entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    if (entry.name.startsWith('.') || entry.name === 'node_modules') continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory() && depth < maximumDepth)
      found.push(...(await pathsBelow(path, depth + 1)));
    else if (entry.isFile() && !passedOver.has(extname(entry.name).toLowerCase())) found.push(path);
  }
  return found;
}
