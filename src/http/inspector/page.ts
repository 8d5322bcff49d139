import type { IncomingMessage, ServerResponse } from 'node:http';
import { createHash, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { extname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import { invalidConfiguration } from '../../protocol/index.ts';
import { etagOf } from '../../store/index.ts';
import { notFound } from './inspection.ts';

interface PageFile {
  readonly content: Buffer;
  readonly type: string;
  readonly etag: string;
  /** By content coding, smallest first; empty for files that are not compressed. */
  readonly compressed: ReadonlyMap<string, Buffer>;
}

/** Content codings and their file extensions, best first. */
const codings: readonly (readonly [coding: string, ending: string])[] = [
  ['br', '.br'],
  ['gzip', '.gz'],
];

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Serves the files of the page, read once. Requests can't read any other file. */
export class PageFiles {
  #files: Promise<ReadonlyMap<string, PageFile>> | undefined;

  /** `hasProxy`: the page calls other agents through the server and connects only to the server. */
  async send(
    request: IncomingMessage,
    response: ServerResponse,
    name: string,
    hasProxy: boolean,
  ): Promise<void> {
    this.#files ??= readFiles();
    const files = await this.#files.catch((error: unknown) => {
      this.#files = undefined;
      throw error;
    });
    const file = files.get(name === '' ? 'index.html' : name);
    if (file === undefined) throw notFound(`file ${name.slice(0, 100)} of the inspector`);
    const [coding, content] = encodingFor(request, file);
    const headers = {
      etag: coding === undefined ? file.etag : file.etag.replace(/"$/, `-${coding}"`),
      vary: 'accept-encoding',
      // The names of built assets contain a fingerprint; `index.html` refers to them.
      'cache-control': name.startsWith('assets/')
        ? 'public, max-age=31536000, immutable'
        : 'no-cache',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'content-security-policy': securityPolicy(hasProxy),
    };
    if (request.headers['if-none-match'] === headers.etag) {
      response.writeHead(304, headers).end();
      return;
    }
    response.writeHead(200, {
      ...headers,
      'content-type': file.type,
      'content-length': content.length,
      ...(coding !== undefined && { 'content-encoding': coding }),
    });
    response.end(request.method === 'HEAD' ? undefined : content);
  }
}

/** The best coding that the browser accepts; undefined for the uncompressed file. */
function encodingFor(
  { headers }: IncomingMessage,
  { content, compressed }: PageFile,
): readonly [coding: string | undefined, content: Buffer] {
  const accepted = (headers['accept-encoding'] ?? '')
    .toLowerCase()
    .split(',')
    .filter((each) => !/;\s*q=0(?:\.0*)?\s*$/.test(each))
    .map((each) => each.split(';')[0]?.trim());
  const found = compressed.entries().find(([coding]) => accepted.includes(coding));
  return found ?? [undefined, content];
}

/** Allows only scripts and styles of this server. No page can frame this one. */
function securityPolicy(hasProxy: boolean): string {
  const elsewhere = hasProxy ? '' : ' https: http://localhost:* http://127.0.0.1:*';
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    `connect-src 'self'${elsewhere}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
}

async function readFiles(): Promise<ReadonlyMap<string, PageFile>> {
  const folder = await findPage();
  const names = await readdir(folder, { recursive: true });
  const files = new Map<string, PageFile>();
  for (const name of names) {
    const type = types[extname(name)];
    if (type === undefined) continue;
    const content = await readFile(join(folder, name));
    const etag = etagOf(content);
    const compressed = new Map<string, Buffer>();
    for (const [coding, ending] of codings) {
      if (names.includes(name + ending)) {
        compressed.set(coding, await readFile(join(folder, name + ending)));
      }
    }
    files.set(name.replaceAll('\\', '/'), { content, type, etag, compressed });
  }
  return files;
}

/** The built page beside the compiled code of the package. */
const shipped = join(import.meta.dirname, '../../inspector');
/** The source of the page in a checkout. */
const checkout = join(import.meta.dirname, '../../../inspector');
/** The source folders of the page, including the modules that it imports. */
const sources = ['inspector', 'src/client', 'src/protocol', 'src/http/inspector'];
const isSource = /\.(?:tsx?|css|html|svg|json)$/;
const isTest = /\.test\.tsx?$/;

/** The folder of the page's files. In a checkout the page is built when it is missing or outdated. */
export async function findPage(): Promise<string> {
  if (existsSync(join(shipped, 'index.html'))) return shipped;
  if (existsSync(join(checkout, 'vite.config.ts'))) return buildPage(checkout);
  throw invalidConfiguration(
    `the inspector's page is missing at ${shipped}: install the package again`,
  );
}

/**
 * Builds the page of a checkout unless the same sources were built before. Returns the folder. Builds are
 * stored by the fingerprint of their sources and renamed into place atomically, so that several processes
 * can build concurrently.
 */
export async function buildPage(source: string): Promise<string> {
  const root = join(source, '..');
  const cache = join(root, 'node_modules/.cache/legate-inspector');
  const folder = join(cache, await fingerprint(root));
  if (existsSync(join(folder, 'index.html'))) return folder;
  const made = join(cache, randomUUID());
  await mkdir(cache, { recursive: true });
  try {
    // Not a dependency of the package, which ships the built page.
    const { build } = await import('vite');
    await build({
      configFile: join(source, 'vite.config.ts'),
      logLevel: 'error',
      build: { outDir: made, emptyOutDir: true },
    });
    await compressFiles(made);
    await rm(folder, { recursive: true, force: true });
    await rename(made, folder);
  } catch (cause) {
    if (existsSync(join(folder, 'index.html'))) return folder;
    throw invalidConfiguration(
      'the page of the inspector could not be built; run npm ci, then npx vite build inspector to see why',
      cause,
    );
  } finally {
    await rm(made, { recursive: true, force: true });
  }
  await removeOldBuilds(cache, folder);
  return folder;
}

/** Minimum size of files to compress, in bytes. */
const minCompressed = 1_000;

/** Writes a compressed copy beside each file, so that no request compresses anything. */
async function compressFiles(folder: string): Promise<void> {
  for (const name of await readdir(folder, { recursive: true })) {
    if (types[extname(name)] === undefined) continue;
    const file = join(folder, name);
    const content = await readFile(file);
    if (content.length < minCompressed) continue;
    await writeFile(`${file}.br`, await promisify(brotliCompress)(content));
    await writeFile(`${file}.gz`, await promisify(gzip)(content, { level: 9 }));
  }
}

async function fingerprint(root: string): Promise<string> {
  const digest = createHash('sha256');
  for (const folder of sources) {
    const names = await readdir(join(root, folder), { recursive: true });
    for (const name of names.sort()) {
      if (!isSource.test(name) || isTest.test(name)) continue;
      if (name.startsWith('dist/') || name.includes('node_modules')) continue;
      digest
        .update(`${folder}/${relative('.', name)}\0`)
        .update(await readFile(join(root, folder, name)));
    }
  }
  return digest.digest('hex').slice(0, 16);
}

/** Removes builds of earlier sources. Other processes that use them have read them into memory. */
async function removeOldBuilds(cache: string, kept: string): Promise<void> {
  for (const name of await readdir(cache)) {
    const other = join(cache, name);
    if (other !== kept && /^[0-9a-f]{16}$/.test(name)) {
      await rm(other, { recursive: true, force: true });
    }
  }
}
