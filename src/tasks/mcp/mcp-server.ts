import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Agent, type Caller, checkAgent } from '../../agents/index.ts';
import { present } from '../../config/index.ts';
import { toNodeHandler } from '../../net/index.ts';
import { checkOptions, type OptionNames } from '../../protocol/index.ts';
import { openMemory, type Store } from '../../store/index.ts';
import { defaultLogger, type Logger, loggerOption } from '../../telemetry/index.ts';
import { anonymous } from '../call.ts';
import { Engine } from '../engine.ts';
import type { TaskOperations } from './serving.ts';

/**
 * How an agent is served as an MCP server.
 * @example
 * const options: McpServerOptions = { store: await openStore({ type: 'sqlite', path: 'mcp.db' }) };
 * await serveMcpStdio(agent, options);
 */
export interface McpServerOptions {
  /** Stores conversations. @default in memory */
  readonly store?: Store;
  /** The version reported to clients. @default '1' */
  readonly version?: string;
  /** Destination of log lines. @default warnings and errors on standard error */
  readonly logger?: Logger;
}

/**
 * How an agent is served as an MCP server over HTTP.
 * @example
 * const options: McpHandlerOptions = {
 *   authenticate: async ({ headers }) => callers.get(await verifyToken(headers.authorization)),
 *   allowedOrigins: ['https://desk.example'],
 *   maxBodyBytes: 256 * 1024,
 * };
 */
export interface McpHandlerOptions extends McpServerOptions {
  /** The authenticated caller; undefined refuses the request. @default anonymous */
  readonly authenticate?: (
    request: IncomingMessage,
  ) => Caller | undefined | Promise<Caller | undefined>;
  /** Origins of web pages that can call the server. @default none: requests of browsers are refused */
  readonly allowedOrigins?: readonly string[];
  /** Largest request body in bytes. @default 4 MiB */
  readonly maxBodyBytes?: number;
}

const serverNames: OptionNames<McpServerOptions> = {
  store: 'object',
  version: 'string',
  logger: loggerOption,
};
const handlerNames: OptionNames<McpHandlerOptions> = {
  ...serverNames,
  authenticate: 'function',
  allowedOrigins: 'list',
  maxBodyBytes: 'number',
};

/**
 * Serves MCP over HTTP.
 * @example
 * const mcp: McpHandler = await mcpHandler(agent);
 * const server = createServer((request, response) => void mcp.handler(request, response));
 * server.on('close', () => void mcp.close());
 */
export interface McpHandler extends AsyncDisposable {
  /** Never rejects: it logs failures, and answers them with 500. */
  readonly handler: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  close(): Promise<void>;
}

/**
 * An agent as an MCP server over streamable HTTP, in the old and the new protocol: one tool,
 * whose result contains the conversation id, and the question if the agent asks one.
 * @example
 * const { handler } = await mcpHandler(agent);
 * createServer((request, response) => void handler(request, response)).listen(3000, '127.0.0.1');
 */
export async function mcpHandler(
  agent: Agent,
  options: McpHandlerOptions = {},
): Promise<McpHandler> {
  checkAgent('mcpHandler', agent);
  checkOptions('mcpHandler', options, handlerNames);
  const { authenticate = () => anonymous, allowedOrigins = [], logger = defaultLogger } = options;
  const engine = ownEngine(agent, options);
  const mcp = await mcpEndpoint(agent, engine.get, options);
  const close = async (): Promise<void> => {
    await mcp.close();
    await engine.stop();
  };
  const handle: McpHandler['handler'] = async (request, response) => {
    const { origin } = request.headers;
    if (origin !== undefined && !allowedOrigins.includes(origin)) {
      response.writeHead(403).end();
      return;
    }
    const caller = await authenticate(request);
    if (caller === undefined) {
      response.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
      return;
    }
    await mcp.handle(request, response, caller);
  };
  return {
    handler: async (request, response) => {
      try {
        await handle(request, response);
      } catch (error) {
        logger.error({ error }, 'mcp.server.failed');
        if (response.headersSent) response.destroy();
        else response.writeHead(500).end();
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Handles MCP requests of authenticated callers over streamable HTTP. */
export interface McpEndpoint {
  readonly handle: (
    request: IncomingMessage,
    response: ServerResponse,
    caller: Caller,
  ) => Promise<void>;
  readonly close: () => Promise<void>;
}

export async function mcpEndpoint(
  agent: Agent,
  tasks: () => Promise<TaskOperations>,
  options: Pick<McpHandlerOptions, 'version' | 'logger' | 'maxBodyBytes'>,
): Promise<McpEndpoint> {
  const { createMcpHandler } = await import('@modelcontextprotocol/server');
  const { Serving } = await import('./serving.ts');
  const { version, logger = defaultLogger, maxBodyBytes } = options;
  const serving = new Serving(agent, tasks, version);
  const mcp = createMcpHandler(
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- set by the handler below
    ({ authInfo }) => serving.server((authInfo?.extra?.['caller'] ?? anonymous) as Caller),
    {
      onerror: (error) => logger.debug({ error }, 'mcp.server.error'),
      ...(maxBodyBytes !== undefined && { maxRequestBodySize: maxBodyBytes }),
    },
  );
  return {
    handle: (request, response, caller) => {
      const authInfo = { token: '', clientId: caller.subject, scopes: [], extra: { caller } };
      return toNodeHandler((web) => mcp.fetch(web, { authInfo }), maxBodyBytes)(request, response);
    },
    close: () => mcp.close(),
  };
}

/** The engine of an agent that only this MCP server uses, started by the first call. */
function ownEngine(
  agent: Agent,
  { store = openMemory(), logger }: McpServerOptions,
): { readonly get: () => Promise<Engine>; readonly stop: () => Promise<void> } {
  let starting: Promise<Engine> | undefined;
  return {
    get: () =>
      (starting ??= Engine.start({
        // The caller of a turn whose process died is disconnected, so another run would have no reader.
        agent: { ...agent, inputModes: ['*/*'], onInterrupted: 'fail' },
        store,
        ...present({ logger }),
        taskTimeoutMs: 0,
        maxContexts: 0,
      }).catch((error: unknown) => {
        starting = undefined;
        throw error;
      })),
    stop: async () => (await starting)?.stop(),
  };
}

/**
 * An agent as an MCP server over the standard input and output of this process.
 * @example await serveMcpStdio(agent)
 */
export async function serveMcpStdio(
  agent: Agent,
  options: McpServerOptions = {},
): Promise<{ close(): Promise<void> }> {
  checkAgent('serveMcpStdio', agent);
  checkOptions('serveMcpStdio', options, serverNames);
  const { serveStdio } = await import('@modelcontextprotocol/server/stdio');
  const { Serving } = await import('./serving.ts');
  const engine = ownEngine(agent, options);
  const serving = new Serving(agent, engine.get, options.version);
  // The user who started this process is its only caller.
  const caller: Caller = { tenant: '', subject: 'stdio', method: 'stdio' };
  const stdio = serveStdio(() => serving.server(caller), {
    onerror: (error) => options.logger?.debug({ error }, 'mcp.server.error'),
  });
  return {
    async close() {
      await stdio.close();
      await engine.stop();
    },
  };
}
