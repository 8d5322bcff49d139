import { z } from 'zod';
import { type Tool, tool } from '../tools/tool.ts';
import type { Memory } from './memory.ts';

/**
 * Options of the `load_memory` tool.
 * @example const options: LoadMemoryOptions = { agent: 'front-desk', limit: 3 };
 */
export interface LoadMemoryOptions {
  /** Under whose name the memories were added. @default the agent that calls */
  readonly agent?: string;
  /** @default 5 */
  readonly limit?: number;
}

/**
 * A tool for models: searches the memories of the caller, and of no other user.
 * @example llmAgent({ name: 'clerk', model, tools: [loadMemory(memory)] })
 */
export function loadMemory(memory: Memory, options: LoadMemoryOptions = {}): Tool {
  return tool({
    name: 'load_memory',
    description: 'Looks up what is known of the user from earlier conversations.',
    input: z.object({ query: z.string().describe('Words to look for.') }),
    isIdempotent: true,
    run: async ({ query }, { turn, agent: caller }) => {
      const { agent = caller, limit = 5 } = options;
      const found = await memory.search({ agent, caller: turn.caller }, query, { limit });
      return found.map(({ text, author, at }) => ({
        text,
        ...(author !== undefined && { author }),
        at: new Date(at).toISOString(),
      }));
    },
  });
}
