import { LegateError, parseJson } from '../../protocol/index.ts';
import {
  type AgentReference,
  type CatalogueReference,
  readDocument,
  type WrittenReference,
} from './agent-reference.ts';
import { type CatalogueEntry, entriesOf, entryNamed } from './catalogue.ts';
import { CommandFailure } from './failure.ts';

/** How catalogues are fetched. */
interface Reach {
  readonly fetch: typeof globalThis.fetch;
  readonly signal: AbortSignal;
}

const largestCatalogue = 16 * 1024 * 1024;
/** Where the catalogue of a host is: the AI Catalog, and RFC 9727. */
const wellKnownPaths = ['/.well-known/ai-catalog.json', '/.well-known/api-catalog'] as const;

/** Looks an agent of a catalogue up; what is no entry of one stays as it is. */
export async function resolveReference(
  reference: WrittenReference,
  reach: Reach,
): Promise<AgentReference> {
  if (reference.kind !== 'catalogue') return reference;
  const { place, entries } = await catalogueOf(reference, reach);
  const { card, url } = entryNamed(entries, reference.name, place);
  // Without credentials: those of an agent that a catalogue lists are not the catalogue's.
  if (card !== undefined) return { kind: 'file', path: place, card };
  if (url !== undefined) return { kind: 'address', url };
  throw notFound(place);
}

interface Catalogue {
  readonly place: string;
  readonly entries: readonly CatalogueEntry[];
}

async function catalogueOf(reference: CatalogueReference, reach: Reach): Promise<Catalogue> {
  if ('path' in reference) {
    const { path } = reference;
    const entries = entriesOf(readDocument(path), undefined);
    if (entries === undefined) throw noCatalogue(path);
    return { place: path, entries };
  }
  for (const url of candidates(reference.url)) {
    const document = await fetchDocument(url, reach);
    if (document === undefined) continue;
    const entries = entriesOf(document, url);
    if (entries === undefined) throw noCatalogue(url);
    return { place: url, entries };
  }
  throw notFound(reference.url);
}

/** What an address holds where a card was expected; undefined where that is no catalogue either. */
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

function candidates(address: string): readonly string[] {
  const { href, origin, pathname, search } = new URL(address);
  return pathname === '/' && search === ''
    ? wellKnownPaths.map((path) => `${origin}${path}`)
    : [href];
}

/** Undefined where there is nothing. */
async function fetchDocument(url: string, { fetch, signal }: Reach): Promise<unknown> {
  const { origin, pathname, username } = new URL(url);
  const where = origin + pathname;
  if (username !== '') throw notFound(where);
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

function noCatalogue(place: string): CommandFailure {
  return new CommandFailure({
    code: 'A2ACLI_ERR_CARD_INVALID',
    message: `${place} is no catalogue of agents`,
    hint: 'what stands after # names an agent of a catalogue; leave it out for a card',
  });
}

function notFound(place: string): CommandFailure {
  return new CommandFailure({
    code: 'A2ACLI_ERR_CARD_NOT_FOUND',
    message: `there is no catalogue of agents at ${place}`,
    hint: 'check the address',
  });
}
