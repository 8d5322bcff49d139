import { hash } from 'node:crypto';
import type { SemanticIndex } from '../../agents/index.ts';
import { fuse, rank } from '../../search/index.ts';
import type { PeerRecord } from './peer.ts';

/**
 * A service that a search found: an agent or a tool server.
 * @example
 * const [best]: readonly FoundService[] = await directory.search('a letter in Latin');
 * if (best?.type === 'a2a' && best.fit > 0.5) console.log(best.id, best.top_skills);
 */
export interface FoundService {
  readonly id: string;
  readonly type: 'a2a' | 'mcp';
  readonly summary: string;
  /** The score relative to the best result, which has 1. */
  readonly relevance_score: number;
  /**
   * How much of the query it covers, or how similar its meaning is if services are embedded, from 0
   * to 1: low values are bad matches.
   */
  readonly fit: number;
  readonly top_skills?: readonly string[];
  readonly top_tools?: readonly string[];
}

/** A tool server to search. */
export interface KnownToolServer {
  readonly name: string;
  readonly description?: string;
  readonly tools: readonly string[];
}

/** The scope and the limit of a search. */
export interface ServiceSearchOptions {
  /** @default 5 */
  readonly limit?: number;
  /** Tool servers to search as well as agents. @default [] */
  readonly toolServers?: readonly KnownToolServer[];
}

type Service =
  | { readonly kind: 'a2a'; readonly record: PeerRecord; readonly text: string }
  | { readonly kind: 'mcp'; readonly server: KnownToolServer; readonly text: string };

/** The maximum number of embedded services; further ones are found by words alone. */
const maxVectors = 5_000;
/** The number of services of each ranking that are merged. */
const candidates = 20;

/**
 * Agents and tool servers that fit a task, best first: by their words and, with an embedding model, by
 * their meaning.
 */
export async function searchServices(
  query: string,
  records: readonly PeerRecord[],
  options: ServiceSearchOptions & {
    readonly semantic?: SemanticIndex | undefined;
    /** The agent that searches: agents that share a store have vectors of their own. */
    readonly owner: string;
  },
): Promise<readonly FoundService[]> {
  const { limit = 5, toolServers = [], semantic, owner } = options;
  const hasToolServers = options.toolServers !== undefined;
  const services: readonly Service[] = [
    ...records.map((record) => ({ kind: 'a2a' as const, record, text: describePeer(record) })),
    ...toolServers.map((server) => ({
      kind: 'mcp' as const,
      server,
      text: describeServer(server),
    })),
  ];
  const byWords = rank(query, services, ({ text }) => text);
  const similar =
    semantic && (await similarServices(query, services, { semantic, owner, hasToolServers }));
  if (similar === undefined)
    return byWords
      .slice(0, limit)
      .map(({ document, relative, fit }) => found(document, relative, fit));
  const fits = new Map(byWords.map(({ document, fit }) => [document, fit]));
  const words = byWords.slice(0, candidates).map(({ document }) => document);
  const merged = fuse([words, [...similar.keys()]]);
  return merged.slice(0, limit).map(({ item, score }) => {
    const fit = Math.max(fits.get(item) ?? 0, similar.get(item) ?? 0);
    return found(item, score / (merged[0]?.score ?? 1), fit);
  });
}

/** Services with their similarity, best first; undefined while the model is not available. */
async function similarServices(
  query: string,
  services: readonly Service[],
  {
    semantic,
    owner,
    hasToolServers,
  }: {
    readonly semantic: SemanticIndex;
    readonly owner: string;
    readonly hasToolServers: boolean;
  },
): Promise<ReadonlyMap<Service, number> | undefined> {
  if (!(await semantic.isReady())) return undefined;
  // A changed description has another key.
  const byKey = new Map(services.slice(0, maxVectors).map((each) => [keyOf(each), each]));
  const stored = new Set(await semantic.keys(owner, maxVectors));
  const missing = [...byKey].filter(([key]) => !stored.has(key));
  await semantic.add(
    owner,
    missing.map(([key, { text }]) => ({ key, text })),
  );
  // A search without tool servers does not know which of them are gone.
  const isKnown = (key: string): boolean => hasToolServers || !key.startsWith('mcp ');
  const gone = [...stored].filter((key) => !byKey.has(key) && isKnown(key));
  if (gone.length > 0) await semantic.delete(owner, gone);
  const nearest = await semantic.nearest(owner, query, candidates);
  return (
    nearest &&
    new Map(
      nearest.flatMap(({ key, similarity }) => {
        const service = byKey.get(key);
        return service === undefined || similarity <= 0 ? [] : [[service, similarity] as const];
      }),
    )
  );
}

function keyOf({ kind, text }: Service): string {
  return `${kind} ${hash('sha256', text, 'base64url')}`;
}

function found(service: Service, relative: number, fit: number): FoundService {
  const scores = { relevance_score: round(relative), fit: round(fit) };
  if (service.kind === 'mcp') {
    const { name, description = '', tools } = service.server;
    return { id: name, type: 'mcp', summary: description, ...scores, top_tools: tools.slice(0, 3) };
  }
  const { name, card } = service.record;
  const top = card.skills.slice(0, 3).map(({ id }) => id);
  return { id: name, type: 'a2a', summary: card.description, ...scores, top_skills: top };
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
