import { readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type JsonObject, parseJson } from '../../protocol/index.ts';
import { CommandFailure } from './failure.ts';

/** Where an agent's card is to be had: at an address, or it was read from a file. */
export type AgentReference =
  | { readonly kind: 'address'; readonly url: string }
  | { readonly kind: 'file'; readonly path: string; readonly card: JsonObject };

const largestCard = 4 * 1024 * 1024;

/**
 * Reads what names an agent: `https://host/…`, a bare host, `file://…` or a path. Hosts are called
 * by https, save those of this machine.
 */
export function readReference(reference: string): AgentReference {
  const text = reference.trim();
  if (/^https?:\/\//i.test(text)) return { kind: 'address', url: text };
  if (/^file:/i.test(text)) return cardFile(pathOf(text), reference);
  const isPath = /^[./~]|\.json$/.test(text);
  if (isPath || isFile(text)) return cardFile(text, reference);
  const isLocal = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?:[:/]|$)/.test(text);
  const url = `${isLocal ? 'http' : 'https'}://${text}`;
  if (URL.canParse(url) && !text.includes(' ')) return { kind: 'address', url };
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
  const problem = (what: string): CommandFailure =>
    new CommandFailure({ code: 'A2ACLI_ERR_CARD_INVALID', message: `${path} ${what}` });
  if (statSync(path).size > largestCard) throw problem('is too large for an agent card');
  let card: unknown;
  try {
    card = parseJson(readFileSync(path, 'utf8'));
  } catch (error) {
    throw problem(`is not JSON: ${error instanceof Error ? error.message : 'unreadable'}`);
  }
  if (typeof card === 'object' && card !== null && !Array.isArray(card)) {
    return { kind: 'file', path, card: card as JsonObject };
  }
  throw problem('is not an agent card: it must be a JSON object');
}

function notFound(reference: string): CommandFailure {
  return new CommandFailure({
    code: 'A2ACLI_ERR_CARD_NOT_FOUND',
    message: `there is no agent card at ${reference}`,
    hint: 'check the path, or give the URL of the agent',
  });
}
