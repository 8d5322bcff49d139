import { readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type JsonObject, parseJson } from '../../protocol/index.ts';
import { type CatalogueEntry, entriesOf, listing } from './catalogue.ts';
import { quoted } from './choices.ts';
import { CommandFailure } from './failure.ts';
import { plain } from './text.ts';

/** Where an agent's card is to be had: at an address, or it was read. */
export type AgentReference =
  | { readonly kind: 'address'; readonly url: string }
  | { readonly kind: 'file'; readonly path: string; readonly card: JsonObject };

/** What a reference says: an agent, or one of those that a catalogue lists. */
export type WrittenReference = AgentReference | CatalogueReference;

export type CatalogueReference =
  | { readonly kind: 'catalogue'; readonly name: string; readonly url: string }
  | { readonly kind: 'catalogue'; readonly name: string; readonly path: string };

const largestCard = 4 * 1024 * 1024;

/**
 * Reads what names an agent: `https://host/…`, a bare host, `file://…` or a path; each followed by
 * `#name` where it is a catalogue and one of its agents is meant. Hosts are called by https, save
 * those of this machine.
 */
export function readReference(reference: string): WrittenReference {
  const text = reference.trim();
  const at = isFile(text) ? -1 : text.indexOf('#');
  if (at <= 0 || at === text.length - 1) return readPlace(text, reference);
  const name = decoded(text.slice(at + 1));
  const place = text.slice(0, at);
  const path = pathIn(place);
  if (path === undefined) return { kind: 'catalogue', name, url: addressOf(place, reference) };
  if (!isFile(path)) throw notFound(reference);
  return { kind: 'catalogue', name, path };
}

function readPlace(text: string, reference: string): AgentReference {
  const path = pathIn(text);
  return path === undefined
    ? { kind: 'address', url: addressOf(text, reference) }
    : cardFile(path, reference);
}

/** Undefined for what is no path. */
function pathIn(text: string): string | undefined {
  if (/^https?:\/\//i.test(text)) return undefined;
  if (/^file:/i.test(text)) return pathOf(text);
  return /^[./~]|\.json$/.test(text) || isFile(text) ? text : undefined;
}

function addressOf(text: string, reference: string): string {
  if (/^https?:\/\//i.test(text)) return text;
  const isLocal = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?:[:/]|$)/.test(text);
  const url = `${isLocal ? 'http' : 'https'}://${text}`;
  if (URL.canParse(url) && !text.includes(' ')) return url;
  throw new CommandFailure({
    code: 'A2ACLI_ERR_USAGE',
    message: `${JSON.stringify(reference)} names no agent`,
    hint: 'give a host, the URL of an agent or of its card, or the path of a card',
  });
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

function pathOf(url: string): string {
  try {
    return fileURLToPath(url);
  } catch {
    throw notFound(url);
  }
}

function cardFile(path: string, reference: string): AgentReference {
  if (!isFile(path)) throw notFound(reference);
  const card = readDocument(path);
  const entries = entriesOf(card, undefined);
  if (entries !== undefined) throw severalAgents(path, entries);
  if (typeof card === 'object' && card !== null && !Array.isArray(card)) {
    return { kind: 'file', path, card: card as JsonObject };
  }
  throw problem(path, 'is not an agent card: it must be a JSON object');
}

/** A card, or a catalogue of them, from a file. */
export function readDocument(path: string): unknown {
  if (statSync(path).size > largestCard) throw problem(path, 'is too large for an agent card');
  try {
    return parseJson(readFileSync(path, 'utf8'));
  } catch (error) {
    throw problem(path, `is not JSON: ${error instanceof Error ? error.message : 'unreadable'}`);
  }
}

/** Where a card should be, there is a catalogue of agents. */
export function severalAgents(place: string, entries: readonly CatalogueEntry[]): CommandFailure {
  const [name = 'name'] = entries[0]?.names ?? [];
  return new CommandFailure({
    code: 'A2ACLI_ERR_CARD_INVALID',
    message: `${place} is a catalogue and no card: ${listing(entries)}`,
    hint: `name one of its agents: -a ${quoted(`${place}#${plain(name)}`)}`,
  });
}

function problem(path: string, what: string): CommandFailure {
  return new CommandFailure({ code: 'A2ACLI_ERR_CARD_INVALID', message: `${path} ${what}` });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function notFound(reference: string): CommandFailure {
  return new CommandFailure({
    code: 'A2ACLI_ERR_CARD_NOT_FOUND',
    message: `there is no agent card at ${reference}`,
    hint: 'check the path, or give the URL of the agent',
  });
}
