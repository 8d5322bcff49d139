import { closeSync, openSync, readSync } from 'node:fs';
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { constants, gunzip, gunzipSync, gzip } from 'node:zlib';
import { type Environment, Problems } from '../../config/index.ts';
import {
  errorMessage,
  invalidConfiguration,
  isJsonObject,
  type LegateError,
} from '../../protocol/index.ts';
import { assemble, type LoadedProject } from './load-project.ts';
import {
  fingerprint,
  fromEntries,
  fromTarEntry,
  type PackedText,
  readTar,
  toTarEntry,
  writeTar,
} from './package-entries.ts';
import { readSource } from './project-folder.ts';

/** Maximum size of a package in bytes, packed and unpacked. */
const maximumPacked = 64_000_000;
const maximumUnpacked = 256_000_000;

const manifestPath = 'legate.json';

interface Manifest {
  readonly format: 1;
  readonly name: string;
  readonly modelId: string;
}

export interface PackOptions {
  /** Created if it doesn't exist. @default 'models' */
  readonly directory?: string;
  /** The file name without extension. @default `<timestamp>-<name>` */
  readonly fixedName?: string;
  /** Milliseconds since 1970. @default Date.now() */
  readonly now?: number;
}

/**
 * Writes `<directory>/<timestamp>-<name>.tar.gz` and returns its path.
 * @throws {LegateError} CONFIGURATION_INVALID if the project has errors.
 * @example
 * const loaded = await loadProject({ directory: '.' }, process.env);
 * await packProject(loaded, { fixedName: 'bank' }) // 'models/bank.tar.gz'
 */
export async function packProject(
  { project, problems, entries }: LoadedProject,
  { directory = 'models', fixedName, now = Date.now() }: PackOptions = {},
): Promise<string> {
  problems.throwIfErrors();
  const manifest: Manifest = { format: 1, name: project.name, modelId: project.modelId };
  const text = `${JSON.stringify(manifest, undefined, 2)}\n`;
  const archive = writeTar([{ path: manifestPath, text }, ...entries].map(toTarEntry));
  const name = fixedName ?? `${timestamp(now)}-${fileName(project.name)}`;
  await mkdir(directory, { recursive: true });
  const file = join(directory, `${name.replace(/\.tar\.gz$/, '')}.tar.gz`);
  // Rename the complete file, so that watchers of the folder never read a partial package.
  const draft = `${file}.${process.pid}.tmp`;
  await writeFile(draft, await promisify(gzip)(archive));
  await rename(draft, file);
  return file;
}

/** Files that aren't part of a package. Only the given ones are read. */
export interface PackedPlaces {
  /** The folder of modules and of files that endpoints.yml refers to. @default '.' */
  readonly directory?: string | undefined;
  readonly endpoints?: string | undefined;
  readonly credentials?: string | undefined;
}

/**
 * Reads a package that `packProject` wrote.
 * @throws {LegateError} CONFIGURATION_INVALID if the file isn't a package, is damaged or is too large.
 * @example
 * const places = { endpoints: 'endpoints.yml' };
 * const { project, problems } = await loadPacked('models/bank.tar.gz', places, process.env);
 */
export async function loadPacked(
  file: string,
  places: PackedPlaces,
  environment: Environment,
): Promise<LoadedProject> {
  const all = await unpack(file);
  const manifest = readManifest(file, all);
  const entries = all.filter(({ path }) => path !== manifestPath);
  const modelId = fingerprint(entries);
  if (modelId !== manifest.modelId) throw invalid(file, 'its content does not fit its model id');
  const problems = new Problems();
  const parts = fromEntries(entries, basename(file), {
    name: manifest.name,
    directory: places.directory ?? '.',
    endpoints: await readSource(places.endpoints, problems),
    credentials: await readSource(places.credentials, problems),
  });
  const project = await assemble(parts, environment, problems);
  return { project: { ...project, modelId }, problems, entries };
}

/**
 * Whether a file is a package of Legate and not a model of Rasa. Reads its first bytes.
 * @example const packages = files.filter((file) => isPackage(file));
 */
export function isPackage(file: string): boolean {
  const start = Buffer.alloc(4_096);
  const descriptor = openSync(file, 'r');
  try {
    const length = readSync(descriptor, start);
    const { Z_SYNC_FLUSH: finishFlush } = constants;
    const archive = gunzipSync(start.subarray(0, length), { finishFlush });
    return archive.subarray(0, manifestPath.length).toString() === manifestPath;
  } catch {
    return false;
  } finally {
    closeSync(descriptor);
  }
}

async function unpack(file: string): Promise<readonly PackedText[]> {
  const info = await stat(file).catch(() => undefined);
  if (info?.isFile() !== true) throw invalid(file, 'there is no such file');
  if (info.size > maximumPacked) throw invalid(file, 'it is too large');
  const packed = await readFile(file);
  let archive: Buffer;
  try {
    archive = await promisify(gunzip)(packed, { maxOutputLength: maximumUnpacked });
  } catch (error) {
    throw invalid(file, 'it cannot be unpacked', error);
  }
  try {
    return readTar(archive).map(fromTarEntry);
  } catch (error) {
    throw invalid(file, errorMessage(error), error);
  }
}

function readManifest(file: string, entries: readonly PackedText[]): Manifest {
  const entry = entries.find(({ path }) => path === manifestPath);
  if (entry === undefined) throw invalid(file, `it has no ${manifestPath}`);
  let manifest: unknown;
  try {
    manifest = JSON.parse(entry.text);
  } catch (error) {
    throw invalid(file, `its ${manifestPath} is not JSON`, error);
  }
  const { format, name, modelId } = isJsonObject(manifest) ? manifest : {};
  if (format !== 1) throw invalid(file, 'it was packed by another version');
  if (typeof name !== 'string' || typeof modelId !== 'string') {
    throw invalid(file, `its ${manifestPath} has no name or no modelId`);
  }
  return { format, name, modelId };
}

/** `20260131-235959`, in UTC. */
function timestamp(now: number): string {
  return new Date(now)
    .toISOString()
    .slice(0, 19)
    .replaceAll('-', '')
    .replaceAll(':', '')
    .replace('T', '-');
}

function fileName(name: string): string {
  return name.replace(/[^A-Za-z0-9_.-]+/g, '-').replace(/^[-.]+|[-.]+$/g, '') || 'assistant';
}

function invalid(file: string, message: string, cause?: unknown): LegateError {
  return invalidConfiguration(`${file} is not a package of Legate: ${message}`, cause);
}
