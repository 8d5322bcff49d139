import type { Client, jsonSchemaValidator, Tool } from '@modelcontextprotocol/client';
import { errorMessage, isJsonObject, type JsonObject, LegateError } from '../protocol/index.ts';
import { defaultLogger, type Logger, traced, traceHeaders } from '../telemetry/index.ts';
import { backoff, retry, until } from '../time/index.ts';
import { type OpenTransport, transportOf } from './open-transport.ts';
import { outputValidator } from './output-validator.ts';
import { type McpToolResult, toResult } from './result.ts';
import type { McpServerConfig } from './server-config.ts';

/** A tool as its server describes it. */
export interface McpToolInfo {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  /** A hint from the server; do not rely on it for safety. */
  readonly isReadOnly: boolean;
  readonly isIdempotent: boolean;
}

export interface McpCallOptions {
  readonly signal?: AbortSignal;
  /** Sent as `_meta`. */
  readonly meta?: JsonObject;
  /** Milliseconds. @default the timeout in the server's configuration */
  readonly timeoutMs?: number;
}

const toolCalls = traced({
  span: 'tools/call',
  subject: 'gen_ai.tool.name',
  label: 'tool',
  calls: 'legate.mcp.calls',
  duration: 'legate.mcp.duration',
});

const waits = { initialMs: 200, maximumMs: 5_000 };

/**
 * A connection to an MCP server. It connects on first use, and reconnects after the connection is lost.
 *
 * - **idle**: no connection. A call starts **connecting**.
 * - **connecting**: up to `maxRetries` retries with backoff; concurrent callers wait for the same
 *   attempt.
 * - **connected**: when the connection closes, the state returns to **idle**.
 * - **closed**: `close` was called. Final.
 *
 * A call that could not be sent is retried over a new connection. A call that was sent but not answered
 * may have taken effect: it is retried only if the tool is read-only or idempotent.
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
  /** The program exits on the version probe, so it is restarted without the probe. */
  #skipsProbe = false;

  constructor(config: McpServerConfig, clock: { now(): number } = Date) {
    this.name = config.name;
    this.#config = config;
    this.#logger = config.logger ?? defaultLogger;
    this.#open = transportOf(config, this.#logger);
    this.#clock = clock;
  }

  /** The server's tools, cached for `listTtlMs` or until the server reports that the list has changed. */
  async tools(options: { readonly signal?: AbortSignal } = {}): Promise<readonly McpToolInfo[]> {
    const { listTtlMs = 60_000, maxTools = 512, connectTimeoutMs: timeout = 10_000 } = this.#config;
    const known = this.#tools;
    if (known !== undefined && this.#clock.now() - known.at < listTtlMs) return known.list;
    const { tools } = await this.#attempt(
      (client) => client.listTools(undefined, { timeout, ...options, cacheMode: 'refresh' }),
      { isRepeatable: true, ...options },
    );
    if (tools.length > maxTools) {
      throw new LegateError(
        'PEER_INVALID',
        `MCP server "${this.name}" offers ${tools.length} tools, more than the limit of ${maxTools} (maxTools)`,
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
    return toolCalls(tool.name, () => this.#call(tool, input, options), {
      kind: 'client',
      attributes: { 'mcp.method.name': 'tools/call', 'legate.mcp.server': this.name },
      labels: { server: this.name },
      signal: options.signal,
      failureOf: ({ isError }) => (isError ? 'tool_error' : undefined),
    });
  }

  async #call(
    tool: Pick<McpToolInfo, 'name'> & Partial<McpToolInfo>,
    input: JsonObject,
    options: McpCallOptions,
  ): Promise<McpToolResult> {
    const { callTimeoutMs = 60_000, toolTimeouts = {} } = this.#config;
    const { signal, timeoutMs } = options;
    // The stdio transport has no headers for the trace context.
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
      { isRepeatable, ...(signal !== undefined && { signal }) },
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

  /** Runs a request, and retries it once over a new connection if that is safe. */
  async #attempt<T>(
    run: (client: Client) => Promise<T>,
    { isRepeatable, signal }: { readonly isRepeatable: boolean; readonly signal?: AbortSignal },
  ): Promise<T> {
    const sdk = await import('@modelcontextprotocol/client');
    const attempt = async (isLast: boolean): Promise<T> => {
      // Other callers may wait for the same connection, so an abort ends only the wait.
      const client = await until(this.#client(), signal);
      try {
        return await run(client);
      } catch (error) {
        const failure = describeFailure(error, sdk);
        if (failure.isLost) this.#forget(client);
        const isSafe = failure.isLost && (failure.isUnsent || isRepeatable);
        if (isLast || !isSafe) throw this.#toError(error, failure.code);
        this.#logger.warn({ server: this.name, error }, 'mcp.connection.lost');
        return attempt(true);
      }
    };
    return attempt(false);
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
    const { maxRetries = 3 } = this.#config;
    const sdk = await import('@modelcontextprotocol/client');
    const jsonSchemaValidator = await outputValidator();
    return retry(() => this.#connectOnce(sdk, jsonSchemaValidator), {
      delays: (failures) => (failures > maxRetries ? undefined : backoff(failures, waits)),
      isRetryable: (error) =>
        !this.#isClosed && !(error instanceof LegateError && error.code === 'UNAUTHENTICATED'),
      onRetry: ({ attempt, delayMs: waitMs, error }) =>
        this.#logger.warn(
          { server: this.name, attempt, waitMs, reason: errorMessage(error) },
          'mcp.connect.retry',
        ),
    });
  }

  async #connectOnce(sdk: Sdk, jsonSchemaValidator: jsonSchemaValidator): Promise<Client> {
    const { connectTimeoutMs: timeout = 10_000 } = this.#config;
    const client = new sdk.Client(
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
      const known = this.#skipsProbe && { prior: { kind: 'legacy' as const } };
      await client.connect(await this.#open(), { timeout, ...known });
      return client;
    } catch (error) {
      await client.close().catch(() => undefined);
      const { code, hasEndedAtProbe } = describeFailure(error, sdk);
      this.#skipsProbe =
        hasEndedAtProbe && !this.#skipsProbe && !this.#isClosed && !('url' in this.#config);
      if (this.#skipsProbe) return this.#connectOnce(sdk, jsonSchemaValidator);
      throw this.#toError(error, code);
    }
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

  #toError(error: unknown, code: Failure['code']): LegateError {
    if (error instanceof LegateError) return error;
    // The message of a failed request is only "fetch failed"; the details are in its causes.
    const cause = causesOf(error).at(-1);
    const text = cause === undefined ? 'unknown failure' : errorMessage(cause).slice(0, 300);
    return new LegateError(code, `MCP server "${this.name}": ${text}`, { cause: error });
  }
}

type Sdk = typeof import('@modelcontextprotocol/client');

interface Failure {
  readonly code: 'REQUEST_TIMEOUT' | 'UNAUTHENTICATED' | 'PEER_UNREACHABLE' | 'PEER_INVALID';
  /** The connection is lost. */
  readonly isLost: boolean;
  /** The server has not received the request. */
  readonly isUnsent: boolean;
  /** The server process exited on the version probe. */
  readonly hasEndedAtProbe: boolean;
}

function describeFailure(error: unknown, sdk: Sdk): Failure {
  const { SdkError, SdkErrorCode, SdkHttpError, UnauthorizedError } = sdk;
  const reason = error instanceof SdkError ? error.code : undefined;
  const status = error instanceof SdkHttpError ? error.status : undefined;
  // A restarted server rejects the old session before it executes the request.
  const isForgotten = status === 404 || (status === 400 && /session/i.test(String(error)));
  const causes = causesOf(error);
  const isUnsent =
    isForgotten ||
    causes.some(isConnectionRefused) ||
    reason === SdkErrorCode.NotConnected ||
    reason === SdkErrorCode.SendFailed;
  const isLost =
    isUnsent ||
    causes.some((cause) => cause instanceof TypeError) ||
    reason === SdkErrorCode.ConnectionClosed;
  const isRefusal = status === 401 || status === 403 || error instanceof UnauthorizedError;
  const isTimeout = reason === SdkErrorCode.RequestTimeout;
  const code = isLost ? 'PEER_UNREACHABLE' : 'PEER_INVALID';
  return {
    code: isTimeout ? 'REQUEST_TIMEOUT' : isRefusal ? 'UNAUTHENTICATED' : code,
    isLost,
    isUnsent,
    hasEndedAtProbe: reason === SdkErrorCode.EraNegotiationFailed,
  };
}

function isConnectionRefused(error: object): boolean {
  return 'code' in error && (error.code === 'ECONNREFUSED' || error.code === 'ENOTFOUND');
}

/** An error and its causes, outermost first. */
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
    inputSchema: isJsonObject(inputSchema) ? inputSchema : {},
    isReadOnly: annotations?.readOnlyHint === true,
    isIdempotent: annotations?.idempotentHint === true,
  };
}
