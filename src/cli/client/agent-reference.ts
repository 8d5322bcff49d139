import { readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  errorMessage,
  isJsonObject,
  type JsonObject,
  LegateError,
  parseJson,
} from '../../protocol/index.ts';
import { readAtMost } from '../usage.ts';
import { type CatalogueEntry, entriesOf, entryNamed, listing } from './catalogue.ts';
import { quoted } from './choices.ts';
import { CommandFailure } from './failure.ts';
import { plain } from './text.ts';

/** A card that was read, or the URL to fetch it from. */
export type AgentReference =
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'file'; readonly path: string; readonly card: JsonObject };

/** How to fetch catalogues. */
interface Fetching {
  readonly fetch: typeof globalThis.fetch;
  readonly signal: AbortSignal;
}

const maxCardBytes = 4 * 1024 * 1024;
const maxCatalogueBytes = 16 * 1024 * 1024;
/** The well-known paths of a host's catalogue: the AI Catalog, and RFC 9727. */
const wellKnownPaths = ['/.well-known/ai-catalog.json', '/.well-known/api-catalog'];

/**
 * Resolves a reference to an agent: `https://host/…`, a bare host, `file://…` or a path; each followed
 * by `#name` to select one agent of a catalogue. Bare hosts are called by https, except loopback
 * hosts.
 */
export async function resolveReference(
  reference: string,
  fetching: Fetching,
): Promise<AgentReference> {
  const text = reference.trim();
  const at = isFile(text) ? -1 : text.indexOf('#');
  const isEntry = at > 0 && at < text.length - 1;
  const location = isEntry ? text.slice(0, at) : text;
  const path = pathIn(location);
  if (path !== undefined && !isFile(path)) throw noCard(reference);
  if (!isEntry) {
    return path === undefined ? { kind: 'url', url: urlOf(location, reference) } : cardFile(path);
  }
  const { source, document } =
    path === undefined
      ? await fetchCatalogue(urlOf(location, reference), fetching)
      : { source: path, document: readDocument(path) };
  const entries = entriesOf(document, path === undefined ? source : undefined);
  if (entries === undefined) throw notACatalogue(source);
  const { card, url } = entryNamed(entries, decoded(text.slice(at + 1)), source);
  // Without credentials: those are for an agent in the catalogue, not for the catalogue.
  if (card !== undefined) return { kind: 'file', path: source, card };
  if (url !== undefined) return { kind: 'url', url };
  throw catalogueNotFound(source);
}

/** Undefined when the reference is not a path. */
function pathIn(text: string): string | undefined {
  if (/^https?:\/\//i.test(text)) return undefined;
  if (!/^file:/i.test(text)) return /^[./~]|\.json$/.test(text) || isFile(text) ? text : undefined;
  try {
    return fileURLToPath(text);
  } catch {
    throw noCard(text);
  }
}

function urlOf(text: string, reference: string): string {
  if (/^https?:\/\//i.test(text)) return text;
  const isLocal = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?:[:/]|$)/.test(text);
  const url = `${isLocal ? 'http' : 'https'}://${text}`;
  if (URL.canParse(url) && !text.includes(' ')) return url;
  throw new CommandFailure('A2ACLI_ERR_USAGE', `${JSON.stringify(reference)} names no agent`, {
    hint: 'give a host, the URL of an agent or of its card, or the path of a card',
  });
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function cardFile(path: string): AgentReference {
  const card = readDocument(path);
  const entries = entriesOf(card, undefined);
  if (entries !== undefined) throw severalAgents(path, entries);
  if (isJsonObject(card)) return { kind: 'file', path, card };
  throw invalidFile(path, 'is not an agent card: it must be a JSON object');
}

/** Reads a card, or a catalogue of cards, from a file. */
function readDocument(path: string): unknown {
  if (statSync(path).size > maxCardBytes) throw invalidFile(path, 'is too large for an agent card');
  try {
    return parseJson(readFileSync(path, 'utf8'));
  } catch (error) {
    const why = errorMessage(error);
    throw invalidFile(path, `is not JSON: ${why}`);
  }
}

/** The catalogue at a URL, or the well-known catalogue of a host. */
async function fetchCatalogue(
  address: string,
  fetching: Fetching,
): Promise<{ readonly source: string; readonly document: unknown }> {
  const { href, origin, pathname, search } = new URL(address);
  const isHost = pathname === '/' && search === '';
  for (const source of isHost ? wellKnownPaths.map((path) => `${origin}${path}`) : [href]) {
    const document = await fetchDocument(source, fetching);
    if (document !== undefined) return { source, document };
  }
  throw catalogueNotFound(address);
}

/** The catalogue at a URL where a card was expected; undefined if it is not a catalogue either. */
export async function catalogueAt(
  url: string,
  fetching: Fetching,
): Promise<readonly CatalogueEntry[] | undefined> {
  try {
    return entriesOf(await fetchDocument(url, fetching), url);
  } catch (error) {
    if (error instanceof LegateError || error instanceof CommandFailure) return undefined;
    throw error;
  }
}

/** Undefined when the server answers 404, 405 or 410. */
async function fetchDocument(url: string, { fetch, signal }: Fetching): Promise<unknown> {
  const { origin, pathname, username } = new URL(url);
  const source = origin + pathname;
  if (username !== '') throw catalogueNotFound(source);
  const headers = { Accept: 'application/json, application/linkset+json' };
  const response = await fetch(url, { headers, redirect: 'error', signal }).catch(
    (cause: unknown) => {
      signal.throwIfAborted();
      throw new LegateError('PEER_UNREACHABLE', `can't reach ${source}`, { cause });
    },
  );
  const { status } = response;
  if (!response.ok) {
    await response.body?.cancel();
    if ([404, 405, 410].includes(status)) return undefined;
    const code = status === 401 || status === 403 ? 'UNAUTHENTICATED' : 'PEER_INVALID';
    throw new LegateError(code, `GET ${source} answered ${status}`);
  }
  const body = response.body && (await readAtMost(response.body, maxCatalogueBytes));
  try {
    return parseJson(body?.toString('utf8') ?? '');
  } catch {
    throw notACatalogue(source);
  }
}

/** The error for a catalogue of agents in place of a card. */
export function severalAgents(source: string, entries: readonly CatalogueEntry[]): CommandFailure {
  const [name = 'name'] = entries[0]?.names ?? [];
  return invalidFile(
    source,
    `is a catalogue, not a card: ${listing(entries)}`,
    `name one of its agents: -a ${quoted(`${source}#${plain(name)}`)}`,
  );
}

function notACatalogue(source: string): CommandFailure {
  const hint = 'the part after # selects an agent of a catalogue; leave it out for a card';
  return invalidFile(source, 'is not a catalogue of agents', hint);
}

function invalidFile(source: string, problem: string, hint: string | null = null): CommandFailure {
  return new CommandFailure('A2ACLI_ERR_CARD_INVALID', `${source} ${problem}`, { hint });
}

function noCard(reference: string): CommandFailure {
  const hint = 'check the path, or give the URL of the agent';
  return new CommandFailure('A2ACLI_ERR_CARD_NOT_FOUND', `there is no agent card at ${reference}`, {
    hint,
  });
}

function catalogueNotFound(source: string): CommandFailure {
  const message = `there is no catalogue of agents at ${source}`;
  return new CommandFailure('A2ACLI_ERR_CARD_NOT_FOUND', message, { hint: 'check the address' });
}
