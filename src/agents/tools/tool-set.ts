import { invalidConfiguration } from '../../protocol/index.ts';
import type { Turn } from '../agent.ts';
import type { Tool } from './tool.ts';

/**
 * Tools that are resolved at each turn, such as the tools of an MCP server or an API description.
 * @example
 * const byHour: ToolSet = {
 *   name: 'by the hour',
 *   tools: async (turn) => (new Date(turn.clock.now()).getHours() < 17 ? [order] : []),
 * };
 */
export interface ToolSet {
  /** The name of the set in errors. */
  readonly name: string;
  tools(turn: Turn): Promise<readonly Tool[]>;
  close?(): Promise<void>;
}

/**
 * A tool, or a set of tools that is resolved at each turn.
 * @example
 * const sources: readonly ToolSource[] = [
 *   askUser(),
 *   mcpTools({ name: 'files', command: 'files-server', args: ['/srv/notes'] }),
 * ];
 */
export type ToolSource = Tool | ToolSet;

/**
 * Resolves all tools of an agent for one turn, by name. Duplicate names are an error, except that an
 * own tool replaces one of the `further` tools.
 */
export async function resolveTools(
  sources: readonly ToolSource[],
  turn: Turn,
  further: readonly Tool[] = [],
): Promise<ReadonlyMap<string, Tool>> {
  const lists = await Promise.all(
    sources.map(async (source) => {
      if ('tools' in source) return source.tools(turn);
      await source.prepare?.(turn.signal);
      return [source];
    }),
  );
  const found = new Map<string, Tool>();
  for (const each of lists.flat()) {
    if (found.has(each.name)) {
      throw invalidConfiguration(
        `two tools are named "${each.name}"; rename one, or leave it out of its set`,
      );
    }
    found.set(each.name, each);
  }
  for (const each of further) if (!found.has(each.name)) found.set(each.name, each);
  return found;
}

/** Selects some tools of a set. @example onlyTools(set, (each) => each.name !== 'delete_all') */
export function onlyTools(set: ToolSet, isWanted: (each: Tool) => boolean): ToolSet {
  return { ...set, tools: async (turn) => (await set.tools(turn)).filter(isWanted) };
}
