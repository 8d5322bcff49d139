import { z } from 'zod';
import { textOf } from '../define.ts';
import { type Tool, tool } from '../tools/tool.ts';
import type { Artifacts } from './artifacts.ts';

/**
 * A tool for models: reads an artifact of the session by name, or lists the names.
 * @example llmAgent({ name: 'clerk', model, tools: [loadArtifact(artifacts)] })
 */
export function loadArtifact(
  artifacts: Artifacts,
  options: { readonly agent?: string } = {},
): Tool {
  return tool({
    name: 'load_artifact',
    description: 'Reads an artifact of this conversation. Without a name, lists all names.',
    input: z.object({ name: z.string().optional(), version: z.int().min(1).optional() }),
    isIdempotent: true,
    run: async ({ name, version }, { turn, agent }) => {
      const { caller, contextId: sessionId } = turn;
      const scope = { agent: options.agent ?? agent, caller, sessionId };
      if (name === undefined) return { names: await artifacts.list(scope) };
      const found = await artifacts.load(scope, name, version);
      if (found === undefined) throw new Error(`there is no artifact named "${name}"`);
      const data = found.parts.flatMap((part) => (part.data === undefined ? [] : [part.data]));
      return {
        name: found.name,
        version: found.version,
        text: textOf(found),
        ...(data.length > 0 && { data }),
      };
    },
  });
}
