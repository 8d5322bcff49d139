import { McpConnection, type McpServerConfig } from '../../mcp/index.ts';
import { LegateError } from '../../protocol/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { McpServer } from '../project/model.ts';

export interface McpPoolOptions {
  /** Programs are started here. */
  readonly directory: string;
  readonly logger: Logger;
  /** @default globalThis.fetch */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/** One connection to each MCP server of a project, made when it is first needed. */
export class McpPool {
  readonly #servers: ReadonlyMap<string, McpServer>;
  readonly #options: McpPoolOptions;
  readonly #connections = new Map<string, McpConnection>();

  constructor(servers: ReadonlyMap<string, McpServer>, options: McpPoolOptions) {
    this.#servers = servers;
    this.#options = options;
  }

  has(name: string): boolean {
    return this.#servers.has(name);
  }

  server(name: string): McpServer {
    const server = this.#servers.get(name);
    if (server !== undefined) return server;
    throw new LegateError(
      'CONFIGURATION_INVALID',
      `no MCP server named "${name}"; add it to mcp_servers in endpoints.yml`,
    );
  }

  connection(name: string): McpConnection {
    const known = this.#connections.get(name);
    if (known !== undefined) return known;
    const connection = new McpConnection(this.#configOf(this.server(name)));
    this.#connections.set(name, connection);
    return connection;
  }

  async close(): Promise<void> {
    const all = [...this.#connections.values()];
    await Promise.allSettled(all.map((connection) => connection.close()));
  }

  #configOf(server: McpServer): McpServerConfig {
    const { directory, logger, fetch } = this.#options;
    const { name } = server;
    if ('url' in server) {
      const { url, auth } = server;
      return { name, url, auth, logger, ...(fetch !== undefined && { fetch }) };
    }
    const { command, args, env } = server;
    // `node` means the Node.js that runs this process, not the first one on the PATH.
    const program = command === 'node' ? process.execPath : command;
    return { name, command: program, args, env, cwd: directory, logger };
  }
}
