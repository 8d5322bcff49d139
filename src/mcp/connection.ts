import type { Client, Tool } from '@modelcontextprotocol/client';
import { type JsonObject, LegateError } from '../protocol/index.ts';
import { type Logger, silentLogger, traceHeaders } from '../telemetry/index.ts';
import { backoff, sleep } from '../time/index.ts';
import { type OpenTransport, transportOf } from './open-transport.ts';
import { outputValidator } from './output-validator.ts';
import { type McpToolResult, toResult } from './result.ts';
import type { McpServerConfig } from './server-config.ts';

/** A tool as its server describes it. */
export interface McpToolInfo {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  /** A hint of the server; not to be relied on for safety. */
  readonly isReadOnly: boolean;
  readonly isIdempotent: boolean;
}

export interface McpCallOptions {
  readonly signal?: AbortSignal;
  /** Sent as `_meta`. */
  readonly meta?: JsonObject;
  /** Milliseconds. @default the server's for this tool */
  readonly timeoutMs?: number;
}

const waits = { initialMs: 200, maximumMs: 5_000 };

/**
 * A connection to an MCP server, made when it is first needed and made anew when it was lost.
 *
 * - **idle**: no connection. A call leads to **connecting**.
 * - **connecting**: tried `maxRetries` times with growing pauses; all callers wait for the same one.
 * - **connected**: a connection that closes leads back to **idle**.
 * - **closed**: by us, for good.
 *
 * A call that could not be sent is retried over a new connection. A call that was sent and not
 * answered may have taken effect: it is retried only when the tool is read-only or idempotent.
 */
export class McpConnection implements AsyncDisposable {
  readonly name: string;
  readonly #config: McpServerConfig;
  readonly #open: OpenTransport;
  readonly #logger: Logger;
  readonly #clock: { now(): number };
  #connecting: Promise<Client> | undefined;
  #tools: { readonly at: number; readonly list: readonly McpToolInfo[] } | undefined;
  #isClosed = false;
  /** A program that ends when it is asked for its version: it is started again, and not asked. */
  #isUnaskable = false;

  constructor(config: McpServerConfig, clock: { now(): number } = Date) {
    this.name = config.name;
    this.#config = config;
    this.#logger = config.logger ?? silentLogger;
    this.#open = transportOf(config, this.#logger);
    this.#clock = clock;
  }

  /** The server's tools; the list is kept for a while, and until the server says that it changed. */
  async tools(options: { readonly signal?: AbortSignal } = {}): Promise<readonly McpToolInfo[]> {
    const { listTtlMs = 60_000, maxTools = 512, connectTimeoutMs: timeout = 10_000 } = this.#config;
    const known = this.#tools;
    if (known !== undefined && this.#clock.now() - known.at < listTtlMs) return known.list;
    const { tools } = await this.#attempt(
      (client) => client.listTools(undefined, { timeout, ...options, cacheMode: 'refresh' }),
      true,
    );
    if (tools.length > maxTools) {
      throw new LegateError(
        'PEER_INVALID',
        `MCP server "${this.name}" offers ${tools.length} tools, more than the ${maxTools} taken (maxTools)`,
      );
    }
    const list = tools.map(toInfo);
    this.#tools = { at: this.#clock.now(), list };
    return list;
  }

  async call(
    tool: Pick<McpToolInfo, 'name'> & Partial<McpToolInfo>,
    input: JsonObject,
    options: McpCallOptions = {},
  ): Promise<McpToolResult> {
    const { callTimeoutMs = 60_000, toolTimeouts = {} } = this.#config;
    const { signal, timeoutMs } = options;
    // A program that is spoken to by its standard input has no other place for the trace.
    const meta = { ...traceHeaders(), ...options.meta };
    const own = Object.hasOwn(toolTimeouts, tool.name) ? toolTimeouts[tool.name] : undefined;
    const timeout = timeoutMs ?? own ?? callTimeoutMs;
    const isRepeatable = tool.isReadOnly === true || tool.isIdempotent === true;
    const result = await this.#attempt(
      (client) =>
        client.callTool(
          {
            name: tool.name,
            arguments: { ...input },
            ...(Object.keys(meta).length > 0 && { _meta: meta }),
          },
          {
            timeout,
            maxTotalTimeout: timeout,
            ...(signal !== undefined && { signal }),
          },
        ),
      isRepeatable,
    );
    return toResult(result);
  }

  /** Connects now, so that configuration errors surface early. */
  async connect(): Promise<void> {
    await this.#client();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const connecting = this.#connecting;
    this.#connecting = undefined;
    const client = await connecting?.catch(() => undefined);
    await client?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Runs a request, and retries once over a new connection where that is safe. */
  async #attempt<T>(run: (client: Client) => Promise<T>, isRepeatable: boolean): Promise<T> {
    const client = await this.#client();
    try {
      return await run(client);
    } catch (error) {
      const failure = await judge(error);
      if (failure.isLost) this.#forget(client);
      if (!failure.isLost || !(failure.isUnsent || isRepeatable))
        throw this.#toError(error, failure);
      this.#logger.warn({ server: this.name, error }, 'mcp.connection.lost');
    }
    try {
      return await run(await this.#client());
    } catch (error) {
      throw this.#toError(error, await judge(error));
    }
  }

  #client(): Promise<Client> {
    if (this.#isClosed) {
      const message = `the connection to MCP server "${this.name}" was closed`;
      return Promise.reject(new LegateError('UNAVAILABLE', message));
    }
    this.#connecting ??= this.#connect().catch((error: unknown) => {
      this.#connecting = undefined;
      throw error;
    });
    return this.#connecting;
  }

  async #connect(): Promise<Client> {
    const { maxRetries = 3, connectTimeoutMs: timeout = 10_000 } = this.#config;
    const { Client } = await import('@modelcontextprotocol/client');
    const jsonSchemaValidator = await outputValidator();
    for (let attempt = 1; ; attempt += 1) {
      const client = new Client(
        { name: 'legate', version: '1' },
        {
          versionNegotiation: { mode: 'auto', probe: { timeoutMs: timeout } },
          // No user is available for elicitation.
          inputRequired: { autoFulfill: false },
          jsonSchemaValidator,
        },
      );
      Object.assign(client, {
        onclose: () => this.#forget(client),
        onerror: (error: Error) => this.#logger.debug({ server: this.name, error }, 'mcp.error'),
      });
      client.setNotificationHandler('notifications/tools/list_changed', () => {
        this.#tools = undefined;
      });
      try {
        const known = this.#isUnaskable && { prior: { kind: 'legacy' as const } };
        await client.connect(await this.#open(), { timeout, ...known });
        return client;
      } catch (error) {
        await client.close().catch(() => undefined);
        if (!this.#isUnaskable && !this.#isClosed && (await this.#endedWhenAsked(error))) {
          this.#isUnaskable = true;
          attempt -= 1;
          continue;
        }
        this.#isUnaskable = false;
        if (attempt > maxRetries || this.#isClosed || (await judge(error)).isRefusal) {
          throw this.#toError(error, await judge(error));
        }
        const wait = backoff(attempt, waits);
        this.#logger.warn({ server: this.name, attempt, waitMs: wait, error }, 'mcp.connect.retry');
        await sleep(wait);
      }
    }
  }

  async #endedWhenAsked(error: unknown): Promise<boolean> {
    if ('url' in this.#config) return false;
    const { SdkError, SdkErrorCode } = await import('@modelcontextprotocol/client');
    return error instanceof SdkError && error.code === SdkErrorCode.EraNegotiationFailed;
  }

  #forget(client: Client): void {
    this.#tools = undefined;
    const connecting = this.#connecting;
    void connecting?.then(
      (current) => {
        if (current === client && this.#connecting === connecting) this.#connecting = undefined;
      },
      () => undefined,
    );
  }

  #toError(error: unknown, { isTimeout, isRefusal, isLost }: Failure): LegateError {
    if (error instanceof LegateError) return error;
    const code = isTimeout
      ? 'REQUEST_TIMEOUT'
      : isRefusal
        ? 'UNAUTHENTICATED'
        : isLost
          ? 'PEER_UNREACHABLE'
          : 'PEER_INVALID';
    const text = error instanceof Error ? error.message.slice(0, 300) : 'unknown failure';
    return new LegateError(code, `MCP server "${this.name}": ${text}`, { cause: error });
  }
}

interface Failure {
  readonly isTimeout: boolean;
  /** The server rejects our credentials. */
  readonly isRefusal: boolean;
  /** The connection is lost. */
  readonly isLost: boolean;
  /** The server has not seen the request. */
  readonly isUnsent: boolean;
}

async function judge(error: unknown): Promise<Failure> {
  const { SdkError, SdkErrorCode, SdkHttpError, UnauthorizedError } =
    await import('@modelcontextprotocol/client');
  const code = error instanceof SdkError ? error.code : undefined;
  const status = error instanceof SdkHttpError ? error.status : undefined;
  // A server that was restarted does not know our session, and says so before anything is done.
  const isForgotten = status === 404 || (status === 400 && /session/i.test(String(error)));
  const isUnreachable = causesOf(error).some((cause) => cause instanceof TypeError);
  const isUnsent =
    isForgotten ||
    causesOf(error).some(isConnectionRefused) ||
    code === SdkErrorCode.NotConnected ||
    code === SdkErrorCode.SendFailed;
  return {
    isTimeout: code === SdkErrorCode.RequestTimeout,
    isRefusal: status === 401 || status === 403 || error instanceof UnauthorizedError,
    isLost: isUnsent || isUnreachable || code === SdkErrorCode.ConnectionClosed,
    isUnsent,
  };
}

function isConnectionRefused(error: object): boolean {
  const { code } = error as { readonly code?: unknown };
  return code === 'ECONNREFUSED' || code === 'ENOTFOUND';
}

/** An error and what led to it. */
function causesOf(error: unknown): readonly object[] {
  const causes: object[] = [];
  for (let each = error; each instanceof Error && causes.length < 5; each = each.cause) {
    causes.push(each);
  }
  return causes;
}

function toInfo({ name, description, title, inputSchema, annotations }: Tool): McpToolInfo {
  return {
    name,
    description: description ?? title ?? name,
    inputSchema: inputSchema as unknown as JsonObject,
    isReadOnly: annotations?.readOnlyHint === true,
    isIdempotent: annotations?.idempotentHint === true,
  };
}
