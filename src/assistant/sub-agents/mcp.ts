import { present, suggest } from '../../config/index.ts';
import {
  McpConnection,
  type McpServerConfig,
  type McpToolResult,
  metaOf,
} from '../../mcp/index.ts';
import { clientTls } from '../../net/index.ts';
import {
  invalidConfiguration,
  type JsonObject,
  type JsonValue,
  LegateError,
} from '../../protocol/index.ts';
import { tlsFetch, type UrlPolicy } from '../../push/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { Call, CallHandler, CallOutcome } from '../executor/call-handler.ts';
import type { McpServer } from '../project/mcp-servers.ts';
import { evaluateExpression } from '../templates/template.ts';
import { slotSet } from '../tracker/events.ts';

export interface McpPoolOptions {
  /** The working directory of programs that are MCP servers. */
  readonly directory: string;
  readonly logger: Logger;
  /** @default globalThis.fetch */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** URLs that servers with TLS files can have. @default any */
  readonly policy?: UrlPolicy | undefined;
}

/** One connection to each MCP server of a project, opened on first use. */
export class McpPool {
  readonly #servers: ReadonlyMap<string, McpServer>;
  readonly #options: McpPoolOptions;
  readonly #connections = new Map<string, McpConnection>();
  /** Created in the constructor, so that an invalid certificate file is an error at startup. */
  readonly #configs = new Map<string, McpServerConfig>();

  constructor(servers: ReadonlyMap<string, McpServer>, options: McpPoolOptions) {
    this.#servers = servers;
    this.#options = options;
    for (const server of servers.values()) this.#configs.set(server.name, this.#configOf(server));
  }

  has(name: string): boolean {
    return this.#servers.has(name);
  }

  server(name: string): McpServer {
    const server = this.#servers.get(name);
    if (server !== undefined) return server;
    throw invalidConfiguration(
      `no MCP server named "${name}"; add it to mcp_servers in endpoints.yml`,
    );
  }

  connection(name: string): McpConnection {
    const known = this.#connections.get(name);
    if (known !== undefined) return known;
    const connection = new McpConnection(
      this.#configs.get(name) ?? this.#configOf(this.server(name)),
    );
    this.#connections.set(name, connection);
    return connection;
  }

  async close(): Promise<void> {
    const all = [...this.#connections.values()];
    await Promise.allSettled(all.map((connection) => connection.close()));
  }

  #configOf(server: McpServer): McpServerConfig {
    const { directory, logger, policy } = this.#options;
    const { name } = server;
    if ('url' in server) {
      const { url, auth, tls } = server;
      const base = this.#options.fetch;
      const about = { what: `MCP server ${name}`, directory, logger };
      const fetch =
        tls === undefined ? base : toHost(url, tlsFetch(clientTls(tls, about), policy), base);
      return { name, url, auth, logger, ...present({ fetch }) };
    }
    const { command, args, env } = server;
    return { name, command, args, env, cwd: directory, logger };
  }
}

/**
 * Uses `fetch` for the server's host only. Tokens come from another server: the TLS files don't apply to
 * it.
 */
function toHost(
  url: string,
  fetch: typeof globalThis.fetch,
  others: typeof globalThis.fetch = globalThis.fetch,
): typeof globalThis.fetch {
  const { host } = new URL(url);
  return (input, init) => {
    const target = new URL(input instanceof Request ? input.url : input);
    return (target.host === host ? fetch : others)(input, init);
  };
}

/** Runs `call: tool` with `mcp_server`: slots become parameters, the result becomes slots. */
export function toolHandler(pool: McpPool): CallHandler {
  return {
    kind: 'tool',
    handles: (step) => step.mcpServer !== undefined && pool.has(step.mcpServer),
    async isRepeatable({ mcpServer = '', target }) {
      // If the server can't be reached, the outcome of the interrupted call stays unknown.
      const tools = await pool
        .connection(mcpServer)
        .tools()
        .catch(() => []);
      const tool = tools.find(({ name }) => name === target);
      return tool?.isReadOnly === true || tool?.isIdempotent === true;
    },
    async run(call) {
      try {
        return await callTool(pool, call);
      } catch (error) {
        call.signal.throwIfAborted();
        const isOurs = error instanceof LegateError;
        call.logger.error({ tool: call.step.target, error }, 'mcp_tool.failed');
        return failed(call, isOurs ? error.message : 'the tool could not be called');
      }
    },
  };
}

async function callTool(pool: McpPool, call: Call): Promise<CallOutcome> {
  const { step, slots, signal, logger } = call;
  const { target, mcpServer = '', mapping = { input: [], output: [] } } = step;
  const connection = pool.connection(mcpServer);
  const tools = await connection.tools({ signal });
  const tool = tools.find(({ name }) => name === target);
  if (tool === undefined) {
    const names = tools.map(({ name }) => name);
    const hint = suggest(target, names, `it has ${names.join(', ')}`);
    return failed(call, `MCP server "${mcpServer}" has no tool "${target}"; ${hint}`);
  }
  // Parameters without a value are omitted: the tool's schema says which ones are required.
  const input = Object.fromEntries(
    mapping.input.flatMap(({ param, slot }) => {
      const value = slots[slot] ?? null;
      return value === null ? [] : [[param, value]];
    }),
  );
  const meta = metaOf(pool.server(mcpServer).metaMap, (name) => slots[name]);
  logger.info({ tool: target, server: mcpServer, meta: Object.keys(meta) }, 'mcp_tool.called');
  const result = await connection.call(tool, input, { signal, meta });
  if (result.isError) return failed(call, `the tool failed: ${result.text.slice(0, 300)}`);
  const scope = { result: resultScope(result) };
  return {
    status: 'completed',
    messages: [],
    events: mapping.output.map(({ slot, value }) =>
      slotSet(slot, evaluateExpression(value, scope) ?? null),
    ),
    metadata: {},
  };
}

/** The result as expressions of a mapping see it. */
function resultScope({ structured, parts, isError }: McpToolResult): JsonObject {
  return {
    content: parts.map(({ text, ...rest }): JsonValue =>
      text === undefined ? { ...(rest as JsonObject), type: 'file' } : { type: 'text', text },
    ),
    structuredContent: structured ?? null,
    isError,
  };
}

function failed({ step }: Call, reason: string): CallOutcome {
  const { target: tool, mcpServer } = step;
  return { status: 'failed', reason, info: { tool, mcp_server: mcpServer ?? null } };
}
