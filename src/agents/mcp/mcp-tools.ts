import { present } from '../../config/index.ts';
import {
  McpConnection,
  type McpSelection,
  type McpServerConfig,
  type McpToolInfo,
  type McpToolResult,
  selectTools,
  serverOptionNames,
} from '../../mcp/index.ts';
import {
  checkOptions,
  invalidConfiguration,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type OptionNames,
} from '../../protocol/index.ts';
import type { Turn } from '../agent.ts';
import { type Tool, tool, type ToolContext } from '../tools/tool.ts';
import type { ToolSet } from '../tools/tool-set.ts';

/** Which tools of an MCP server are used, and how they are called. */
export interface McpToolSelection extends McpSelection, McpCallPolicy<ToolContext> {
  /** Prefix of each tool name, for servers whose tools have the same names. @default '' */
  readonly prefix?: string;
  /**
   * Tools that need the caller's confirmation: all, the named ones, or those for which the function
   * returns true.
   * @default none
   */
  readonly needsConfirmation?:
    | 'all'
    | readonly string[]
    | ((tool: McpToolInfo, input: JsonObject) => boolean | Promise<boolean>);
}

/**
 * An MCP server, which of its tools are used, and how they are called.
 * @example
 * const options: McpToolsOptions = {
 *   name: 'notes',
 *   url: 'http://127.0.0.1:3000/mcp',
 *   include: ['read_file', 'write_file'],
 *   prefix: 'notes_',
 *   needsConfirmation: ['write_file'], // the server's name for it, without the prefix
 * };
 */
export type McpToolsOptions = McpToolSelection &
  (
    | McpServerConfig
    | { /** A connection that is open already. */ readonly connection: McpConnection }
  );

/** How the tools of an MCP server are called. */
export interface McpCallPolicy<Context> {
  /** Sent as `_meta` with each call. */
  readonly meta?: JsonObject | ((context: Context) => JsonObject | Promise<JsonObject>);
  /**
   * Timeout of a call, in milliseconds.
   * @default the timeout that the server's configuration has for the tool
   */
  readonly timeoutMs?: number;
}

const selectionNames: OptionNames<McpToolSelection> = {
  include: true,
  exclude: true,
  meta: true,
  timeoutMs: true,
  prefix: true,
  needsConfirmation: { oneOf: [['all'], 'list', 'function'] },
};

/**
 * Provides the tools of an MCP server. Connects with the first turn, and reconnects after the
 * connection is lost.
 * @example llmAgent({ name: 'clerk', model, tools: [mcpTools({ name: 'files', url: 'http://127.0.0.1:3000/mcp' })] })
 */
export function mcpTools(options: McpToolsOptions, ...others: readonly never[]): ToolSet {
  if (others.length > 0) {
    const message = 'mcpTools takes one object: the server and the options of its tools together';
    throw invalidConfiguration(message);
  }
  if (typeof options !== 'object') {
    const message = 'mcpTools takes an object: mcpTools({ name, url })';
    throw invalidConfiguration(message);
  }
  const isOwn = !('connection' in options);
  const names = isOwn ? serverOptionNames : { connection: true as const };
  checkOptions('mcpTools', options, { ...names, ...selectionNames });
  const connection = isOwn ? new McpConnection(options) : options.connection;
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

/** Wraps a tool of an MCP server, under the server's name for it. */
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
    // The connection has its own timeout for each tool.
    timeoutMs: 0,
    run: async (input, context) => {
      const own = typeof meta === 'function' ? await meta(context) : meta;
      const { signal } = context;
      const result = await connection.call(info, input, present({ signal, meta: own, timeoutMs }));
      return valueOf(result);
    },
  });
  // `withSafeNames` replaces names that models don't accept, for all tools together.
  return { ...made, name: info.name };
}

/** The result for the model: structured data if there is any, else text, with files by their kinds. */
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
