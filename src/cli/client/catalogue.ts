import { didYouMean } from '../../config/index.ts';
import { isJsonObject, type JsonObject } from '../../protocol/index.ts';
import { CommandFailure } from './failure.ts';
import { plain } from './text.ts';

/** An agent of a catalogue: its card, or the URL of its card. */
export interface CatalogueEntry {
  /** Its names, the id first. */
  readonly names: readonly string[];
  readonly card?: JsonObject;
  readonly url?: string;
}

const maxEntries = 10_000;
const listKeys = ['entries', 'agents', 'items', 'cards'];
const nameKeys = ['identifier', 'id', 'agentId', 'name', 'displayName', 'title'];
const cardKeys = ['agentCard', 'agent_card', 'card', 'inline'];
const urlKeys = ['agentCardUrl', 'agent_card_url', 'cardUrl', 'card_url', 'url', 'href'];
/** Relations of a link set (RFC 9264) that lead to a description of a service. */
const relations = ['item', 'service-desc', 'describedby'];

/** The agents of a document; undefined when it is not a catalogue. */
export function entriesOf(
  document: unknown,
  base: string | undefined,
): readonly CatalogueEntry[] | undefined {
  if (isCard(document)) return undefined;
  return listOf(document)
    ?.slice(0, maxEntries)
    .flatMap((item) => entryOf(item, base) ?? []);
}

/** The only entry of that name. */
export function entryNamed(
  entries: readonly CatalogueEntry[],
  name: string,
  source: string,
): CatalogueEntry {
  const exact = entries.filter(({ names }) => names.includes(name));
  const alike = (text: string): boolean => text.toLowerCase() === name.toLowerCase();
  const found = exact.length > 0 ? exact : entries.filter(({ names }) => names.some(alike));
  const [entry] = found;
  if (entry !== undefined && found.length === 1) return entry;
  const near = didYouMean(
    name,
    entries.flatMap(({ names }) => names),
  );
  throw new CommandFailure(
    'A2ACLI_ERR_CARD_NOT_FOUND',
    found.length > 1
      ? `${source} lists ${found.length} agents named ${JSON.stringify(name)}`
      : `${source} lists no agent ${JSON.stringify(name)}`,
    { hint: near === undefined ? listing(entries) : `did you mean ${plain(near)}?` },
  );
}

/** Lists the agents of a catalogue, for error messages. */
export function listing(entries: readonly CatalogueEntry[]): string {
  const names = entries.slice(0, 20).map(({ names }) => plain(names[0] ?? '?'));
  const more = entries.length > names.length ? ', …' : '';
  return names.length === 0 ? 'it lists no agents' : `it lists ${names.join(', ')}${more}`;
}

function listOf(document: unknown): readonly unknown[] | undefined {
  if (Array.isArray(document)) return document;
  if (!isJsonObject(document)) return undefined;
  const { linkset } = document;
  if (!Array.isArray(linkset)) return listKeys.map((key) => document[key]).find(Array.isArray);
  return linkset
    .filter(isJsonObject)
    .flatMap((context) => relations.map((relation) => context[relation]))
    .filter(Array.isArray)
    .flat();
}

function entryOf(item: unknown, base: string | undefined): CatalogueEntry | undefined {
  if (typeof item === 'string') return located([item], item, base);
  if (!isJsonObject(item) || isOfAnotherKind(item)) return undefined;
  const names = nameKeys.map((key) => item[key]).filter((name) => typeof name === 'string');
  if (isCard(item)) return { names, card: item };
  const card = cardKeys.map((key) => item[key]).find(isCard);
  if (card !== undefined) {
    const own = typeof card['name'] === 'string' ? [card['name']] : [];
    return { names: [...names, ...own], card };
  }
  const url = urlKeys.map((key) => item[key]).find((one) => typeof one === 'string');
  return url === undefined ? undefined : located(names.length === 0 ? [url] : names, url, base);
}

/** Catalogues list more than agents: skips entries that declare another type. */
function isOfAnotherKind(item: JsonObject): boolean {
  const type = item['mediaType'] ?? item['type'];
  return typeof type === 'string' && /mcp|openapi|skill/i.test(type) && !/a2a|agent/i.test(type);
}

function located(
  names: readonly string[],
  address: string,
  base: string | undefined,
): CatalogueEntry | undefined {
  const url = URL.parse(address, base);
  return url !== null && /^https?:$/.test(url.protocol) ? { names, url: url.href } : undefined;
}

function isCard(value: unknown): value is JsonObject {
  if (!isJsonObject(value)) return false;
  return Array.isArray(value['supportedInterfaces']) || isJsonObject(value['capabilities']);
}
