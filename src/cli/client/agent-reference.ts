import { readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isJsonObject, type JsonObject, LegateError, parseJson } from '../../protocol/index.ts';
import { type CatalogueEntry, entriesOf, entryNamed, listing } from './catalogue.ts';
import { quoted } from './choices.ts';
import { CommandFailure, type LocalCode } from './failure.ts';
import { plain } from './text.ts';

/** A card that was read, or the URL to fetch it from. */
export type AgentReference =
  | { readonly kind: 'address'; readonly url: string }
  | { readonly kind: 'file'; readonly path: string; readonly card: JsonObject };

/** The `fetch` for catalogues. */
interface Reach {
  readonly fetch: typeof globalThis.fetch;
  readonly signal: AbortSignal;
}

const largestCard = 4 * 1024 * 1024;
const largestCatalogue = 16 * 1024 * 1024;
/** The well-known paths of a host's catalogue: the AI Catalog, and RFC 9727. */
const wellKnownPaths = ['/.well-known/ai-catalog.json', '/.well-known/api-catalog'] as const;

/**
 * Resolves a reference to an agent: `https://host/…`, a bare host, `file://…` or a path; each followed
 * by `#name` to select one agent of a catalogue. Bare hosts are called by https, except loopback
 * hosts.
 */
export async function resolveReference(reference: string, reach: Reach): Promise<AgentReference> {
  const text = reference.trim();
  const at = isFile(text) ? -1 : text.indexOf('#');
  const isEntry = at > 0 && at < text.length - 1;
  const place = isEntry ? text.slice(0, at) : text;
  const path = pathIn(place);
  if (path !== undefined && !isFile(path)) throw noCard(reference);
  if (!isEntry) {
    if (path !== undefined) return cardFile(path);
    return { kind: 'address', url: addressOf(place, reference) };
  }
  const catalogue =
    path === undefined
      ? await fetchCatalogue(addressOf(place, reference), reach)
      : { place: path, document: readDocument(path) };
  const entries = entriesOf(catalogue.document, path === undefined ? catalogue.place : undefined);
  if (entries === undefined) throw noCatalogue(catalogue.place);
  const { card, url } = entryNamed(entries, decoded(text.slice(at + 1)), catalogue.place);
  // Without credentials: those are for an agent in the catalogue, not for the catalogue.
  if (card !== undefined) return { kind: 'file', path: catalogue.place, card };
  if (url !== undefined) return { kind: 'address', url };
  throw catalogueNotFound(catalogue.place);
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

function addressOf(text: string, reference: string): string {
  if (/^https?:\/\//i.test(text)) return text;
  const isLocal = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?:[:/]|$)/.test(text);
  const url = `${isLocal ? 'http' : 'https'}://${text}`;
  if (URL.canParse(url) && !text.includes(' ')) return url;
  throw failure(
    'A2ACLI_ERR_USAGE',
    `${JSON.stringify(reference)} names no agent`,
    'give a host, the URL of an agent or of its card, or the path of a card',
  );
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
  if (statSync(path).size > largestCard) throw invalidFile(path, 'is too large for an agent card');
  try {
    return parseJson(readFileSync(path, 'utf8'));
  } catch (error) {
    const why = error instanceof Error ? error.message : 'unreadable';
    throw invalidFile(path, `is not JSON: ${why}`);
  }
}

/** The catalogue at an address, or the well-known catalogue of a host. */
async function fetchCatalogue(
  address: string,
  reach: Reach,
): Promise<{ readonly place: string; readonly document: unknown }> {
  const { href, origin, pathname, search } = new URL(address);
  const isHost = pathname === '/' && search === '';
  for (const place of isHost ? wellKnownPaths.map((path) => `${origin}${path}`) : [href]) {
    const document = await fetchDocument(place, reach);
    if (document !== undefined) return { place, document };
  }
  throw catalogueNotFound(address);
}

/** The catalogue at an address where a card was expected; undefined if it is not a catalogue either. */
export async function catalogueAt(
  url: string,
  reach: Reach,
): Promise<readonly CatalogueEntry[] | undefined> {
  try {
    return entriesOf(await fetchDocument(url, reach), url);
  } catch (error) {
    if (error instanceof LegateError || error instanceof CommandFailure) return undefined;
    throw error;
  }
}

/** Undefined when nothing is there. */
async function fetchDocument(url: string, { fetch, signal }: Reach): Promise<unknown> {
  const { origin, pathname, username } = new URL(url);
  const where = origin + pathname;
  if (username !== '') throw catalogueNotFound(where);
  const headers = { Accept: 'application/json, application/linkset+json' };
  const response = await fetch(url, { headers, redirect: 'error', signal }).catch(
    (cause: unknown) => {
      signal.throwIfAborted();
      throw new LegateError('PEER_UNREACHABLE', `can't reach ${where}`, { cause });
    },
  );
  if (!response.ok) {
    await response.body?.cancel();
    if ([404, 405, 410].includes(response.status)) return undefined;
    throw new LegateError(
      response.status === 401 || response.status === 403 ? 'UNAUTHENTICATED' : 'PEER_INVALID',
      `GET ${where} answered ${response.status}`,
    );
  }
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of response.body ?? []) {
    size += piece.length;
    if (size > largestCatalogue) throw noCatalogue(where);
    pieces.push(piece);
  }
  try {
    return parseJson(Buffer.concat(pieces).toString('utf8'));
  } catch {
    throw noCatalogue(where);
  }
}

/** The error for a catalogue of agents in place of a card. */
export function severalAgents(place: string, entries: readonly CatalogueEntry[]): CommandFailure {
  const [name = 'name'] = entries[0]?.names ?? [];
  return failure(
    'A2ACLI_ERR_CARD_INVALID',
    `${place} is a catalogue, not a card: ${listing(entries)}`,
    `name one of its agents: -a ${quoted(`${place}#${plain(name)}`)}`,
  );
}

function failure(code: LocalCode, message: string, hint?: string): CommandFailure {
  return new CommandFailure({ code, message, ...(hint !== undefined && { hint }) });
}

function invalidFile(path: string, what: string): CommandFailure {
  return failure('A2ACLI_ERR_CARD_INVALID', `${path} ${what}`);
}

function noCard(reference: string): CommandFailure {
  return failure(
    'A2ACLI_ERR_CARD_NOT_FOUND',
    `there is no agent card at ${reference}`,
    'check the path, or give the URL of the agent',
  );
}

function noCatalogue(place: string): CommandFailure {
  return failure(
    'A2ACLI_ERR_CARD_INVALID',
    `${place} is not a catalogue of agents`,
    'the part after # selects an agent of a catalogue; leave it out for a card',
  );
}

function catalogueNotFound(place: string): CommandFailure {
  return failure(
    'A2ACLI_ERR_CARD_NOT_FOUND',
    `there is no catalogue of agents at ${place}`,
    'check the address',
  );
}
