import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { defaultBodyLimits, readBytes } from '../net/index.ts';
import type { JsonObject, JsonValue } from '../protocol/index.ts';
import { toRequest, writeAnswer } from './scripted-wire.ts';
import { type Script, type ScriptedAnswer, type ScriptedRequest, ScriptPlayer } from './script.ts';

/**
 * What such a server asks for, and says of itself.
 * @example const options: ScriptedModelServerOptions = { apiKey: 'key-of-the-test', models: ['qwen3'] };
 */
export interface ScriptedModelServerOptions {
  /** When given, calls without it as bearer token are answered 401. */
  readonly apiKey?: string;
  /** Shown by `GET /v1/models`. @default ['scripted'] */
  readonly models?: readonly string[];
  /** Largest request body in bytes. @default 10 MiB */
  readonly maxBodyBytes?: number;
}

/**
 * What arrived over HTTP, beside what a script sees of it.
 * @example const temperatureOf = ({ body }: ReceivedCall) => body['temperature'];
 */
export interface ReceivedCall {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: JsonObject;
}

/**
 * A running server that answers from a script.
 * @example
 * const server: ScriptedModelServer = await startScriptedModelServer(['Hello!']);
 * const entry = { provider: 'openai-compatible', model: 'scripted', api_base: server.url };
 * const model = createModel({ id: 'test', models: [entry] });
 */
export interface ScriptedModelServer extends AsyncDisposable {
  /** Base URL for `api_base`: `http://127.0.0.1:<port>/v1`. */
  readonly url: string;
  readonly requests: readonly ScriptedRequest[];
  readonly calls: readonly ReceivedCall[];
  /** Calls whose client left before the answer was whole. */
  readonly abandoned: () => number;
  close(): Promise<void>;
}

/**
 * A real OpenAI-compatible endpoint on loopback that answers from a script: chat completions whole
 * and streamed, tool calls, usage, errors, delays, silence and broken connections. For tests that
 * must take the same way over HTTP as production does.
 * @example await using server = await startScriptedModelServer(['start flow transfer_money'])
 */
export async function startScriptedModelServer(
  script: Script,
  options: ScriptedModelServerOptions = {},
): Promise<ScriptedModelServer> {
  const { apiKey, models = ['scripted'], maxBodyBytes = 10 * 1024 * 1024 } = options;
  const player = new ScriptPlayer(script);
  const calls: ReceivedCall[] = [];
  let abandoned = 0;

  const complete = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = parseBody(
      (await readBytes(request, { ...defaultBodyLimits, maxBodyBytes })).toString('utf8'),
    );
    if (body === undefined) return sendError(response, 400, 'the body is no JSON object');
    calls.push({ path: request.url ?? '', headers: request.headers, body });
    const asked = toRequest(body);
    const leaving = new AbortController();
    response.on('close', () => {
      if (response.writableEnded) return;
      abandoned += 1;
      leaving.abort();
    });
    const answer = await player.next(asked);
    if (await happened(answer, response, leaving.signal)) return;
    await writeAnswer({ response, answer, asked, body, signal: leaving.signal });
  };

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = new URL(request.url ?? '/', 'http://localhost').pathname;
    const sent = request.headers.authorization ?? `Bearer ${String(request.headers['api-key'])}`;
    if (apiKey !== undefined && sent !== `Bearer ${apiKey}`) {
      return sendError(response, 401, 'wrong API key');
    }
    if (request.method === 'GET' && path.endsWith('/models')) {
      return sendJson(response, 200, {
        object: 'list',
        data: models.map((id) => ({ id, object: 'model', owned_by: 'script' })),
      });
    }
    if (request.method === 'POST' && path.endsWith('/chat/completions')) {
      return complete(request, response);
    }
    return sendError(response, 404, `no route ${request.method ?? ''} ${path}`);
  };

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      if (response.headersSent || response.destroyed) response.destroy();
      else sendError(response, 500, error instanceof Error ? error.message : 'failed');
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const close = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests: player.requests,
    calls,
    abandoned: () => abandoned,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Delays and all that is no answer; true when the call is over. */
async function happened(
  answer: ScriptedAnswer,
  response: ServerResponse,
  leaving: AbortSignal,
): Promise<boolean> {
  if (answer.delayMs !== undefined) {
    await delay(answer.delayMs, undefined, { signal: leaving }).catch(() => undefined);
  }
  if (leaving.aborted || answer.hang === true) return true;
  if (answer.disconnect === 'before') {
    response.destroy();
    return true;
  }
  if (answer.error !== undefined) {
    const { status, message = `scripted status ${status}`, headers } = answer.error;
    sendError(response, status, message, headers);
    return true;
  }
  if (answer.rawBody !== undefined) {
    response.writeHead(200, { 'content-type': 'application/json' }).end(answer.rawBody);
    return true;
  }
  return false;
}

function parseBody(text: string): JsonObject | undefined {
  try {
    const value = JSON.parse(text) as JsonValue;
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as JsonObject)
      : undefined;
  } catch {
    return undefined;
  }
}

function sendJson(
  response: ServerResponse,
  status: number,
  body: JsonObject,
  headers: Readonly<Record<string, string>> = {},
): void {
  response
    .writeHead(status, { 'content-type': 'application/json', ...headers })
    .end(JSON.stringify(body));
}

function sendError(
  response: ServerResponse,
  status: number,
  message: string,
  headers?: Readonly<Record<string, string>>,
): void {
  sendJson(response, status, { error: { message, type: 'scripted', code: status } }, headers);
}
