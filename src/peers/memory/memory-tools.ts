import { z } from 'zod';
import { type Tool, tool, type ToolContext } from '../../agents/index.ts';
import { present } from '../../config/index.ts';
import { LegateError } from '../../protocol/index.ts';
import {
  sessionNamespace,
  wholeKey,
  type MemoryEntry,
  type WorkingMemory,
} from './working-memory.ts';

const previewLength = 120;

/**
 * Tools for models: read and write the working memory of the turn's user. Keys belong to the
 * conversation or to the namespace `shared`; keys of other conversations are refused.
 */
export function memoryTools(memoryOf: (context: ToolContext) => WorkingMemory): readonly Tool[] {
  const keyOf = (key: string, context: ToolContext): string => {
    const own = sessionNamespace(context.turn.contextId);
    const whole = wholeKey(key, own);
    if ([own, 'shared'].some((root) => whole === root || whole.startsWith(`${root}/`)))
      return whole;
    throw new LegateError(
      'INVALID_PARAMS',
      `"${key}" belongs to another conversation; use a key of your own, such as "notes"`,
    );
  };
  const prefixOf = (namespace: string | undefined, context: ToolContext): string =>
    namespace === undefined ? sessionNamespace(context.turn.contextId) : keyOf(namespace, context);
  return [
    tool({
      name: 'save_to_working_memory',
      description:
        'Keeps a text for a while under a key, for this conversation. Use it for results and notes that are needed later.',
      input: z.object({
        key: z.string().describe('A short path, such as "plan" or "research/prices"'),
        data: z.string().describe('The text to keep'),
        ttl_minutes: z
          .number()
          .positive()
          .optional()
          .describe('Minutes to keep it; 60 if not given'),
        category: z.string().optional(),
        tags: z.array(z.string()).optional(),
      }),
      isIdempotent: true,
      run: async ({ key, data, ttl_minutes, category, tags }, context) => {
        const { key: whole } = await memoryOf(context).save(keyOf(key, context), data, {
          writer: context.agent,
          ...present({ ttlMs: ttl_minutes && ttl_minutes * 60_000, category, tags }),
        });
        return `Saved to working memory under key '${whole}'.`;
      },
    }),
    tool({
      name: 'get_from_working_memory',
      description: 'Reads the text that is kept under a key.',
      input: z.object({ key: z.string() }),
      isIdempotent: true,
      run: async ({ key }, context) => {
        const memory = memoryOf(context);
        const whole = keyOf(key, context);
        const entry = await memory.get(whole);
        if (entry !== undefined) return entry.value;
        const keys = await memory.keys(sessionNamespace(context.turn.contextId));
        const known = keys.slice(0, 10).join(', ') || 'none';
        return `Working memory entry '${whole}' not found or has expired. Keys of this conversation: ${known}.`;
      },
    }),
    tool({
      name: 'edit_working_memory',
      description:
        'Replaces text within what is kept under a key; an empty new text deletes the old one.',
      input: z.object({
        key: z.string(),
        old_text: z.string().describe('Must occur exactly once, unless replace_all'),
        new_text: z.string(),
        replace_all: z.boolean().optional(),
      }),
      run: async ({ key, old_text, new_text, replace_all = false }, context) => {
        const edit = { find: old_text, replace: new_text, all: replace_all };
        const entry = await memoryOf(context).edit(keyOf(key, context), edit);
        return `Edited '${entry.key}', which now has ${entry.value.length} characters.`;
      },
    }),
    tool({
      name: 'delete_from_working_memory',
      description: 'Forgets what is kept under a key.',
      input: z.object({ key: z.string() }),
      isIdempotent: true,
      run: async ({ key }, context) => {
        const whole = keyOf(key, context);
        const existed = await memoryOf(context).delete(whole);
        return existed ? `Deleted '${whole}'.` : `There was no entry '${whole}'.`;
      },
    }),
    tool({
      name: 'list_working_memory',
      description:
        'Lists the keys of working memory in their order, without their texts; read an entry with get_from_working_memory.',
      input: z.object({
        namespace: z.string().optional().describe('A path to look below, such as "shared"'),
      }),
      isIdempotent: true,
      run: async ({ namespace }, context) => ({
        keys: await memoryOf(context).keys(prefixOf(namespace, context)),
      }),
    }),
    tool({
      name: 'search_working_memory',
      description:
        'Finds entries of working memory by words, category or tags; without words it gives the newest. Gives keys and beginnings; read an entry with get_from_working_memory.',
      input: z.object({
        query: z.string().optional(),
        category: z.string().optional(),
        tags: z.array(z.string()).optional(),
        namespace: z.string().optional().describe('A path to look below, such as "shared"'),
      }),
      isIdempotent: true,
      run: async ({ query, category, tags, namespace }, context) => {
        const entries = await memoryOf(context).search({
          prefix: prefixOf(namespace, context),
          ...present({ query, category, tags }),
        });
        const now = context.turn.clock.now();
        return { entries: entries.map((entry) => summary(entry, now)) };
      },
    }),
  ];
}

function summary({ key, value, category, tags, expiresAt }: MemoryEntry, now: number) {
  const preview = value.slice(0, previewLength);
  return {
    key,
    preview: preview === value ? value : `${preview}...`,
    length: value.length,
    ...(category !== undefined && { category }),
    ...(tags.length > 0 && { tags }),
    expires: `in ${timeLeft(expiresAt - now)}`,
  };
}

/** @example timeLeft(272_000) // '4m32s' */
function timeLeft(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m${seconds % 60}s`;
  return `${Math.floor(seconds / 3_600)}h${Math.floor((seconds % 3_600) / 60)}m`;
}
