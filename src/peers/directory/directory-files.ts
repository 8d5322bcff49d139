import { z } from 'zod';
import {
  type AgentCard,
  invalidConfiguration,
  parseJson,
  readAgentCard,
} from '../../protocol/index.ts';
import type { PeerCredential, WellKnownPeer } from './peer.ts';
import { plainCard, skeletonCard, toSkill } from './plain-card.ts';

/** An entry of `well-known-agents.json`. */
const wellKnownEntry = plainCard.extend({
  authHeaderName: z.string().max(256).nullish(),
  authHeaderValueBase64: z.string().max(16_384).nullish(),
  /** Our extension: sends the header over plain http to other machines too. */
  allowsPlainHttp: z.boolean().nullish(),
  supportedInterfaces: z.array(z.unknown()).nullish().catch(undefined),
  protocolVersion: z.string().nullish().catch(undefined),
  supportsStreaming: z.boolean().nullish().catch(undefined),
});
type WellKnownEntry = z.infer<typeof wellKnownEntry>;

/** An entry of `known-agents.json`. */
const knownEntry = z.looseObject({ card: wellKnownEntry, lastSeenAt: z.string().nullish() });

/**
 * A peer of the directory of another program.
 * @example const bob: KnownPeer = { name: 'bob', lastSeenAt: Date.parse('2026-11-15T09:30:00Z') };
 */
export interface KnownPeer extends WellKnownPeer {
  readonly lastSeenAt?: number;
}

const maxEntries = 10_000;

/**
 * Reads `well-known-agents.json`: a list of `{ agentName, url?, authHeaderName?,
 * authHeaderValueBase64? }`. An entry with skills is used as it is: its card is never fetched. Throws
 * `CONFIGURATION_INVALID` with the path of the invalid field.
 * @example
 * const wellKnown = readWellKnownAgents('[{ "agentName": "bob", "url": "https://bob.example" }]');
 * const directory = new Directory({ records: store.records, wellKnown });
 */
export function readWellKnownAgents(json: string): readonly WellKnownPeer[] {
  const entries = parse(json, wellKnownEntry, 'well-known agents');
  return entries.map((entry, index) => toPeer(entry, `[${index}]`));
}

/**
 * Reads `known-agents.json`, the agent directory of RockBot.
 * @example await directory.import(readKnownAgents(await readFile('known-agents.json', 'utf8')));
 */
export function readKnownAgents(json: string): readonly KnownPeer[] {
  const entries = parse(json, knownEntry, 'known agents');
  return entries.map(({ card, lastSeenAt }, index) => {
    const seen = Date.parse(lastSeenAt ?? '');
    const peer = toPeer(card, `[${index}].card`);
    return Number.isNaN(seen) || seen <= 0 ? peer : { ...peer, lastSeenAt: seen };
  });
}

function parse<T>(json: string, entry: z.ZodType<T>, what: string): readonly T[] {
  let value: unknown;
  try {
    value = parseJson(json);
  } catch (cause) {
    throw invalidConfiguration(`the file of ${what} is not JSON`, cause);
  }
  const parsed = z.array(entry).max(maxEntries).safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw invalidConfiguration(`the file of ${what}: ${issue?.path.join('.')}: ${issue?.message}`);
}

function toPeer(entry: WellKnownEntry, where: string): WellKnownPeer {
  const credential = credentialOf(entry, where);
  const { agentName: name, url, skills } = entry;
  return {
    name,
    ...(url && { url }),
    ...(credential !== undefined && { credential }),
    ...((skills ?? []).length > 0 && { card: overrideCard(entry) }),
  };
}

/** The directory adds interfaces to a card that has none. */
function overrideCard(entry: WellKnownEntry): AgentCard {
  const { agentName, supportedInterfaces, protocolVersion, url } = entry;
  const version = protocolVersion?.startsWith('1') === true ? '1.0' : '0.3';
  const own = url ? [{ url, protocolBinding: 'JSONRPC', protocolVersion: version }] : [];
  return {
    ...skeletonCard(
      agentName,
      supportedInterfaces
        ? readAgentCard({ name: agentName, supportedInterfaces }).supportedInterfaces
        : own,
    ),
    description: entry.description ?? '',
    version: entry.version ?? '',
    capabilities: { streaming: entry.supportsStreaming === true },
    skills: (entry.skills ?? []).map(toSkill),
  };
}

function credentialOf(entry: WellKnownEntry, where: string): PeerCredential | undefined {
  const { authHeaderName, authHeaderValueBase64, allowsPlainHttp } = entry;
  if (!authHeaderName && !authHeaderValueBase64) return undefined;
  if (!authHeaderName || !authHeaderValueBase64) {
    throw invalidConfiguration(
      `${where}: give both authHeaderName and authHeaderValueBase64, or neither`,
    );
  }
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(authHeaderName)) {
    throw invalidConfiguration(`${where}.authHeaderName: not a valid header name`);
  }
  const headerValue = Buffer.from(authHeaderValueBase64, 'base64').toString('utf8');
  const isBase64 = Buffer.from(headerValue, 'utf8').toString('base64');
  if (isBase64.replace(/=+$/, '') !== authHeaderValueBase64.replace(/=+$/, '')) {
    throw invalidConfiguration(`${where}.authHeaderValueBase64: not base64 of a text`);
  }
  if (/[^\x20-\x7e]/.test(headerValue)) {
    throw invalidConfiguration(
      `${where}.authHeaderValueBase64: has characters that are invalid in a header`,
    );
  }
  return {
    headerName: authHeaderName,
    headerValue,
    ...(allowsPlainHttp === true && { allowsPlainHttp }),
  };
}
