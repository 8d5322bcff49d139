import { present } from '../../config/index.ts';
import {
  McpConnection,
  type McpSelection,
  type McpServerConfig,
  type McpToolInfo,
  type McpToolResult,
  selectTools,
} from '../../mcp/index.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/index.ts';
import type { Turn } from '../agent.ts';
import { type Tool, tool, type ToolContext } from '../tools/tool.ts';
import type { ToolSet } from '../tools/tool-set.ts';

/**
 * Which tools of an MCP server are taken, and how they are called.
 * @example
 * const options: McpToolsOptions = {
 *   include: ['read_file', 'write_file'],
 *   prefix: 'notes_',
 *   needsConfirmation: ['write_file'], // the server's name for it, without the prefix
 * };
 */
export interface McpToolsOptions extends McpSelection, McpCallPolicy<ToolContext> {
  /** Put before the name of each tool, for servers whose tools have the same names. @default '' */
  readonly prefix?: string;
  /** Tools that need the caller's confirmation: all, the named ones, or as the function decides. @default none */
  readonly needsConfirmation?:
    | 'all'
    | readonly string[]
    | ((tool: McpToolInfo, input: JsonObject) => boolean | Promise<boolean>);
}

/** How the tools of an MCP server are called. */
export interface McpCallPolicy<Context> {
  /** Sent as `_meta` with each call. */
  readonly meta?: JsonObject | ((context: Context) => JsonObject | Promise<JsonObject>);
  /** Milliseconds. @default the server's for each tool */
  readonly timeoutMs?: number;
}

/**
 * The tools of an MCP server. The connection is made with the first turn, and anew when it was lost.
 * @example llmAgent({ name: 'clerk', model, tools: [mcpTools({ name: 'files', url: 'http://127.0.0.1:3000/mcp' })] })
 */
export function mcpTools(
  server: McpServerConfig | McpConnection,
  options: McpToolsOptions = {},
): ToolSet {
  const isOwn = !(server instanceof McpConnection);
  const connection = isOwn ? new McpConnection(server) : server;
  return {
    name: connection.name,
    tools: async ({ signal }: Turn) => {
      const infos = await selectTools(connection, options, { signal });
      const { needsConfirmation = [], prefix } = options;
      const tools = infos.map((info) => ({
        ...mcpTool(connection, info, options),
        confirmation: async (input: unknown) => {
          if (needsConfirmation === 'all') return true;
          if (typeof needsConfirmation === 'function')
            return needsConfirmation(info, isJsonObject(input) ? input : {});
          return needsConfirmation.includes(info.name);
        },
      }));
      return withSafeNames(tools, prefix);
    },
    close: async () => {
      if (isOwn) await connection.close();
    },
  };
}

/** A tool of an MCP server, under the server's name for it. */
export function mcpTool<Context extends { readonly signal: AbortSignal }>(
  connection: McpConnection,
  info: McpToolInfo,
  { meta, timeoutMs }: McpCallPolicy<Context>,
): Tool<Context> {
  const made = tool<JsonObject, Context>({
    name: 'mcp',
    description: info.description,
    input: info.inputSchema,
    isIdempotent: info.isIdempotent || info.isReadOnly,
    // The connection has its own time for each tool.
    timeoutMs: 0,
    run: async (input, context) => {
      const own = typeof meta === 'function' ? await meta(context) : meta;
      const { signal } = context;
      const result = await connection.call(info, input, present({ signal, meta: own, timeoutMs }));
      return valueOf(result);
    },
  });
  // Names that models don't accept are made safe with all others.
  return { ...made, name: info.name };
}

/** What the model is shown: data where there is some, else text, with files by their kinds. */
function valueOf({ isError, text, structured, parts }: McpToolResult): JsonValue {
  if (isError) throw new Error(text === '' ? 'the tool failed' : text);
  if (structured !== undefined) return structured;
  const files = parts.flatMap(({ raw, url, mediaType, filename }) =>
    raw === undefined && url === undefined ? [] : [url ?? filename ?? mediaType ?? 'a file'],
  );
  return files.length === 0 ? text : { text, files };
}

/** Renames tools to unique names that models accept. */
export function withSafeNames<Named extends { readonly name: string }>(
  tools: readonly Named[],
  prefix = '',
): readonly Named[] {
  const taken = new Set<string>();
  return tools.map((tool) => {
    const base = `${prefix}${tool.name}`.replaceAll(/[^\w-]/g, '_').slice(0, 60);
    let name = base;
    for (let number = 2; taken.has(name); number += 1) name = `${base}_${number}`;
    taken.add(name);
    return { ...tool, name };
  });
}
