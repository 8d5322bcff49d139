import { isDeepStrictEqual } from 'node:util';
import type { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { Transport } from '@modelcontextprotocol/client';
import type { HeaderProvider } from '../client/index.ts';
import { invalidConfiguration } from '../protocol/index.ts';
import { type Logger, tracedFetch } from '../telemetry/index.ts';
import { authenticationHeaders, requireSecureTransport } from './authentication.ts';
import type { McpHttpServer, McpServerConfig, McpStdioServer } from './server-config.ts';

/** Maximum size of a message from a stdio server, in bytes. */
const maxMessageSize = 16 * 1024 * 1024;

/** Creates a transport to a server, not yet connected. */
export type OpenTransport = () => Promise<Transport>;

export function transportOf(config: McpServerConfig, logger: Logger): OpenTransport {
  return 'url' in config ? overHttp(config) : overStdio(config, logger);
}

function overHttp(config: McpHttpServer): OpenTransport {
  const { auth, headers = {}, fetch = globalThis.fetch } = config;
  const isSecret = auth !== undefined || Object.keys(headers).length > 0;
  const url = isSecret ? requireSecureTransport(config.url, config.name) : parseUrl(config);
  const provider = auth && authenticationHeaders(auth, { fetch });
  const send = provider === undefined ? fetch : authenticated(fetch, provider, url);
  return async () => {
    const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
    return new StreamableHTTPClientTransport(url, {
      fetch: tracedFetch(send),
      requestInit: { headers: { ...headers } },
      // Reconnects event streams only; McpConnection decides about retries of calls.
      reconnectionOptions: {
        initialReconnectionDelay: 500,
        maxReconnectionDelay: 5_000,
        reconnectionDelayGrowFactor: 2,
        maxRetries: 2,
      },
    });
  };
}

function parseUrl({ url, name }: McpHttpServer): URL {
  const parsed = URL.parse(url);
  if (parsed !== null && /^https?:$/.test(parsed.protocol) && parsed.username === '') return parsed;
  throw invalidConfiguration(
    `MCP server "${name}": the url must be an http or https URL without a user`,
  );
}

/** Adds credentials to requests to the server's origin. After a 401, renews them and retries once. */
export function authenticated(
  fetch: typeof globalThis.fetch,
  provider: HeaderProvider,
  server: URL,
): typeof globalThis.fetch {
  return async (input, init = {}) => {
    const { origin, pathname } = new URL(input instanceof Request ? input.url : input);
    if (origin !== server.origin) return fetch(input, init);
    const provide = (isRejected: boolean) => provider({ url: origin + pathname, isRejected });
    const send = (given: Readonly<Record<string, string>>) => {
      const headers = new Headers(init.headers);
      for (const [name, value] of Object.entries(given)) headers.set(name, value);
      return fetch(input, { ...init, headers });
    };
    const rejected = await provide(false);
    const response = await send(rejected);
    if (response.status !== 401) return response;
    await response.body?.cancel();
    // Another request may have renewed them.
    const current = await provide(false);
    return send(isDeepStrictEqual(current, rejected) ? await provide(true) : current);
  };
}

function overStdio(config: McpStdioServer, logger: Logger): OpenTransport {
  const { command, args = [], env, cwd } = config;
  return async () => {
    const { getDefaultEnvironment, StdioClientTransport } =
      await import('@modelcontextprotocol/client/stdio');
    /**
     * A subclass without changes: for instances of its own class, the SDK starts a second process for
     * the version probe.
     */
    class OneProcessTransport extends StdioClientTransport {}
    const transport = new OneProcessTransport({
      // `node` means the Node.js that runs this process: the first one on the PATH may be too old.
      command: command === 'node' ? process.execPath : command,
      args: [...args],
      env: { ...getDefaultEnvironment(), ...env },
      stderr: 'pipe',
      maxBufferSize: maxMessageSize,
      ...(cwd !== undefined && { cwd }),
    });
    logErrors(transport, config.name, logger);
    return transport;
  };
}

const maxLineLength = 1_000;

/** Logs what the program writes to standard error, for operators. */
function logErrors(transport: StdioClientTransport, name: string, logger: Logger): void {
  transport.stderr?.on('data', (bytes: Buffer) => {
    const text = bytes.toString('utf8').slice(0, maxLineLength).trimEnd();
    logger.debug({ server: name, text }, 'mcp.server.stderr');
  });
}
