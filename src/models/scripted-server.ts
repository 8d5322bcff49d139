import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { defaultBodyLimits, readBytes } from '../net/index.ts';
import { isJsonObject, type JsonObject, LegateError } from '../protocol/index.ts';
import { type Script, type ScriptedRequest, ScriptPlayer } from './script.ts';
import { answerFromScript, errorResponse } from './scripted-wire.ts';

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

  const answer = async (request: IncomingMessage, leaving: AbortSignal): Promise<Response> => {
    const path = new URL(request.url ?? '/', 'http://localhost').pathname;
    const sent = request.headers.authorization ?? `Bearer ${String(request.headers['api-key'])}`;
    if (apiKey !== undefined && sent !== `Bearer ${apiKey}`) {
      return errorResponse(401, 'wrong API key');
    }
    if (request.method === 'GET' && path.endsWith('/models')) {
      const data = models.map((id) => ({ id, object: 'model', owned_by: 'script' }));
      return Response.json({ object: 'list', data });
    }
    if (request.method !== 'POST' || !path.endsWith('/chat/completions')) {
      return errorResponse(404, `no route ${request.method ?? ''} ${path}`);
    }
    const bytes = await readBytes(request, { ...defaultBodyLimits, maxBodyBytes });
    const body = parseBody(bytes.toString('utf8'));
    if (body === undefined) return errorResponse(400, 'the body must be a JSON object');
    calls.push({ path: request.url ?? '', headers: request.headers, body });
    return answerFromScript(player, body, leaving);
  };

  const handle = async (request: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const leaving = new AbortController();
    outgoing.on('close', () => {
      if (outgoing.writableEnded || outgoing.errored !== null) return;
      abandoned += 1;
      leaving.abort();
    });
    const { status, headers, body } = await answer(request, leaving.signal);
    outgoing.writeHead(status, Object.fromEntries(headers)).flushHeaders();
    await pipeline(Readable.fromWeb(body as never), outgoing);
  };

  const server = createServer((request, outgoing) => {
    handle(request, outgoing).catch((error: unknown) => {
      // A connection that the script breaks ends without an answer.
      if (outgoing.headersSent || !(error instanceof LegateError)) outgoing.destroy();
      else outgoing.writeHead(500).end(error.message);
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

function parseBody(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
