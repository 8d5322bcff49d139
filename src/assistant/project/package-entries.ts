import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Source } from '../../config/index.ts';
import { invalidConfiguration } from '../../protocol/index.ts';
import type { TextDocument } from '../../search/index.ts';
import { type Part, type ProjectParts, readInside } from './project-folder.ts';

/**
 * The files of a project that are packed: everything that determines the assistant's behaviour.
 * endpoints.yml and credentials.yml belong to the deployment and are not packed.
 */
export function toEntries(
  parts: ProjectParts,
  files: ReadonlyMap<string, string>,
  documents: readonly TextDocument[],
): readonly PackedText[] {
  const entry = (path: string, text: string) => ({ path, text });
  return [
    ...(parts.config === undefined ? [] : [entry('config.yml', parts.config.text)]),
    ...parts.domain.map(({ name, text }) => entry(`domain/${name}`, text)),
    ...parts.data.map(({ name, text }) => entry(`data/${name}`, text)),
    ...parts.subAgents.map(({ name, text }) => entry(`sub_agents/${name}/config.yml`, text)),
    ...[...files].map(([path, text]) => entry(`files/${encodeURIComponent(path)}`, text)),
    ...documents.map(({ source, text }) => entry(`${documentsFolder}/${source}`, text)),
  ].sort((left, right) => (left.path < right.path ? -1 : 1));
}

/** Documents are packed as plain text, so that loading a package needs no PDF reader. */
const documentsFolder = 'documents';

/** The parts of a packed project. Their problems are reported with the file `package:path`. */
export function fromEntries(
  entries: readonly PackedText[],
  file: string,
  outside: Pick<ProjectParts, 'name' | 'directory' | 'endpoints' | 'credentials'>,
): ProjectParts {
  const texts = new Map(entries.map(({ path, text }) => [path, text]));
  const under = (folder: string): readonly Part[] =>
    [...texts].flatMap(([path, text]) =>
      path.startsWith(`${folder}/`)
        ? [{ file: `${file}:${path}`, name: path.slice(folder.length + 1), text }]
        : [],
    );
  const config = texts.get('config.yml');
  const source: Source | undefined =
    config === undefined ? undefined : { file: `${file}:config.yml`, text: config };
  return {
    ...outside,
    config: source,
    domain: under('domain'),
    data: under('data'),
    subAgents: under('sub_agents').map((part) => ({
      ...part,
      name: part.name.replace(/\/config\.yml$/, ''),
    })),
    // Code is not packed.
    subAgentsDirectory: join(outside.directory, 'sub_agents'),
    documents: async () => under(documentsFolder).map(({ name, text }) => ({ source: name, text })),
    // Files that only endpoints.yml refers to are in the folder of endpoints.yml.
    file: async (path, problems) =>
      texts.get(`files/${encodeURIComponent(path)}`) ??
      readInside(outside.directory, path, problems),
  };
}

/**
 * SHA-256 over paths and contents, in hex. It doesn't depend on the order of the files, their times, or
 * their line endings.
 */
export function fingerprint(entries: readonly PackedText[]): string {
  const hash = createHash('sha256');
  const sorted = [...entries].sort((left, right) => (left.path < right.path ? -1 : 1));
  for (const { path, text: written } of sorted) {
    const text = written.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n');
    // Length prefixes make the concatenation unambiguous.
    hash.update(`${Buffer.byteLength(path)}:${path}${Buffer.byteLength(text)}:${text}`);
  }
  return hash.digest('hex');
}

/** A file of a package. It shares its text with the project, because documents can be large. */
export interface PackedText {
  readonly path: string;
  readonly text: string;
}

export function toTarEntry({ path, text }: PackedText): TarEntry {
  return { path, content: Buffer.from(text, 'utf8') };
}

export function fromTarEntry({ path, content }: TarEntry): PackedText {
  return { path, text: Buffer.from(content).toString('utf8') };
}

/** A file in an archive. */
export interface TarEntry {
  /** Relative, with forward slashes, without `.` and `..`. */
  readonly path: string;
  readonly content: Uint8Array;
}

const block = 512;
const maximumEntries = 20_000;

/** Writes a POSIX ustar archive. Deterministic: timestamps are zero. */
export function writeTar(entries: readonly TarEntry[]): Uint8Array {
  const pieces = entries.flatMap(({ path, content }) => [
    header(path, content.length),
    content,
    new Uint8Array((block - (content.length % block)) % block),
  ]);
  return Buffer.concat([...pieces, new Uint8Array(2 * block)]);
}

function header(path: string, size: number): Uint8Array {
  if (!isSafe(path))
    throw invalidConfiguration(`${path} cannot be the name of a file in a package`);
  const { prefix, name } = split(path);
  const bytes = Buffer.alloc(block);
  bytes.write(name, 0, 100, 'utf8');
  bytes.write(octal(0o644, 8), 100, 'latin1');
  bytes.write(octal(0, 8), 108, 'latin1');
  bytes.write(octal(0, 8), 116, 'latin1');
  bytes.write(octal(size, 12), 124, 'latin1');
  bytes.write(octal(0, 12), 136, 'latin1');
  bytes.write('0', 156, 'latin1');
  bytes.write('ustar\u000000', 257, 'latin1');
  bytes.write(prefix, 345, 155, 'utf8');
  bytes.write(`${octal(checksum(bytes), 7)}\0 `.slice(0, 8), 148, 'latin1');
  return bytes;
}

/** ustar has 100 bytes for the name and 155 bytes for the folders before it. */
function split(path: string): { readonly prefix: string; readonly name: string } {
  if (Buffer.byteLength(path) <= 100) return { prefix: '', name: path };
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) {
    const [prefix, name] = [path.slice(0, at), path.slice(at + 1)];
    if (Buffer.byteLength(name) <= 100 && Buffer.byteLength(prefix) <= 155) return { prefix, name };
  }
  throw invalidConfiguration(`the path ${path} is too long for a package`);
}

function octal(value: number, length: number): string {
  return `${value.toString(8).padStart(length - 1, '0')}\0`;
}

/** The checksum of a header; its own eight bytes count as spaces. */
function checksum(bytes: Uint8Array): number {
  let sum = 8 * 32;
  for (const [at, byte] of bytes.entries()) if (at < 148 || at >= 156) sum += byte;
  return sum;
}

/**
 * Reads an archive of plain files. Rejects entries that could write outside of a folder: absolute paths,
 * `..`, links and devices.
 * @throws {LegateError} CONFIGURATION_INVALID
 */
export function readTar(archive: Uint8Array): readonly TarEntry[] {
  const bytes = Buffer.from(archive.buffer, archive.byteOffset, archive.byteLength);
  const entries: TarEntry[] = [];
  const seen = new Set<string>();
  let at = 0;
  while (at + block <= bytes.length) {
    const head = bytes.subarray(at, at + block);
    if (head.every((byte) => byte === 0)) return entries;
    if (readOctal(head, 148, 8) !== checksum(head))
      throw invalidConfiguration('the package is damaged');
    const size = readOctal(head, 124, 12);
    const prefix = readText(head, 345, 155);
    const path = prefix === '' ? readText(head, 0, 100) : `${prefix}/${readText(head, 0, 100)}`;
    const type = String.fromCharCode(head[156] ?? 0);
    at += block;
    if (at + size > bytes.length) throw invalidConfiguration('the package is cut off');
    if (type === '0' || type === '\0') {
      if (!isSafe(path)) throw invalidConfiguration('the package holds a file with an unsafe path');
      if (seen.has(path)) throw invalidConfiguration(`the package holds ${path} twice`);
      if (seen.size >= maximumEntries)
        throw invalidConfiguration('the package holds too many files');
      seen.add(path);
      entries.push({ path, content: bytes.subarray(at, at + size) });
    } else if (type !== '5')
      throw invalidConfiguration('the package holds something that is not a plain file');
    at += Math.ceil(size / block) * block;
  }
  throw invalidConfiguration('the package is cut off');
}

function readText(head: Buffer, from: number, length: number): string {
  const field = head.subarray(from, from + length);
  const end = field.indexOf(0);
  return field.toString('utf8', 0, end === -1 ? length : end);
}

function readOctal(head: Buffer, from: number, length: number): number {
  const text = readText(head, from, length).trim();
  if (!/^[0-7]{1,11}$/.test(text)) throw invalidConfiguration('the package is damaged');
  return Number.parseInt(text, 8);
}

function isSafe(path: string): boolean {
  // oxlint-disable-next-line no-control-regex -- control characters are what is refused
  if (path === '' || path.length > 255 || /[\\\u0000-\u001f]/.test(path)) return false;
  return (
    path.split('/').every((name) => name !== '' && name !== '.' && name !== '..') &&
    !/^[A-Za-z]:/.test(path)
  );
}
