import { rank } from '../../search/index.ts';
import type { PeerRecord } from './peer.ts';

/**
 * A service that a search found: an agent, or a server of tools.
 * @example
 * const [best]: readonly FoundService[] = await directory.search('a letter in Latin');
 * if (best?.type === 'a2a' && best.fit > 0.5) console.log(best.id, best.top_skills);
 */
export interface FoundService {
  readonly id: string;
  readonly type: 'a2a' | 'mcp';
  readonly summary: string;
  /** Of the best result's score; the best has 1. */
  readonly relevance_score: number;
  /** How much of the query it covers, from 0 to 1: low values are bad matches. */
  readonly fit: number;
  readonly top_skills?: readonly string[];
  readonly top_tools?: readonly string[];
}

/** A server of tools, for the search. */
export interface KnownToolServer {
  readonly name: string;
  readonly description?: string;
  readonly tools: readonly string[];
}

/** What is searched, and how much is found. */
export interface ServiceSearchOptions {
  /** @default 5 */
  readonly limit?: number;
  /** Servers of tools to search beside the agents. @default [] */
  readonly toolServers?: readonly KnownToolServer[];
}

/** Agents and servers of tools that fit a task, best first. */
export function searchServices(
  query: string,
  records: readonly PeerRecord[],
  options: ServiceSearchOptions,
): readonly FoundService[] {
  const { limit = 5, toolServers = [] } = options;
  const peers = records.map((record) => ({ kind: 'a2a', record }) as const);
  const servers = toolServers.map((server) => ({ kind: 'mcp', server }) as const);
  const ranked = rank(query, [...peers, ...servers], (each) =>
    each.kind === 'a2a' ? describePeer(each.record) : describeServer(each.server),
  );
  return ranked.slice(0, limit).map(({ document, relative, fit }) => {
    const scores = { relevance_score: round(relative), fit: round(fit) };
    if (document.kind === 'mcp') {
      const { name, description = '', tools } = document.server;
      return {
        id: name,
        type: 'mcp',
        summary: description,
        ...scores,
        top_tools: tools.slice(0, 3),
      };
    }
    const { name, card } = document.record;
    const top = card.skills.slice(0, 3).map(({ id }) => id);
    return { id: name, type: 'a2a', summary: card.description, ...scores, top_skills: top };
  });
}

function describePeer({ name, card }: PeerRecord): string {
  const skills = card.skills.flatMap((skill) => [
    skill.id,
    skill.name,
    skill.description,
    ...skill.tags,
    ...(skill.examples ?? []),
  ]);
  return [name, card.description, ...skills].join(' \n ');
}

function describeServer({ name, description = '', tools }: KnownToolServer): string {
  return [name, description, ...tools].join(' \n ');
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
