import { once } from 'node:events';
import { createServer } from 'node:http';
import { toNodeHandler } from '../net/index.ts';
import {
  checkOptions,
  isJsonObject,
  type JsonObject,
  LegateError,
  type OptionNames,
  parseJson,
} from '../protocol/index.ts';
import { type Script, type ScriptedRequest, ScriptPlayer } from './script.ts';
import { answerFromScript, errorResponse } from './scripted-wire.ts';

/**
 * Answers a request for embeddings: a vector for each text, or the status of an error.
 * @example const embed: EmbeddingScript = (texts) => texts.map((text) => [text.length, 1]);
 */
export type EmbeddingScript = (
  texts: readonly string[],
  index: number,
) => readonly (readonly number[])[] | { readonly status: number; readonly message?: string };

/**
 * Options of a scripted model server.
 * @example const options: ScriptedModelServerOptions = { apiKey: 'key-of-the-test', models: ['qwen3'] };
 */
export interface ScriptedModelServerOptions {
  /** If set, calls without it as bearer token get status 401. */
  readonly apiKey?: string;
  /** Returned by `GET /v1/models`. @default ['scripted'] */
  readonly models?: readonly string[];
  /** The address that the server listens on. @default '127.0.0.1' */
  readonly host?: string;
  /** The port that the server listens on. @default any free port */
  readonly port?: number;
  /** Largest request body in bytes. @default 10 MiB */
  readonly maxBodyBytes?: number;
  /** Answers `POST /v1/embeddings`. @default 404 */
  readonly embed?: EmbeddingScript;
}

const optionNames: OptionNames<ScriptedModelServerOptions> = {
  apiKey: 'string',
  models: 'list',
  host: 'string',
  port: 'number',
  maxBodyBytes: 'number',
  embed: 'function',
};

/**
 * The parts of an HTTP request that the script does not get.
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
  /** Base URL for `api_base`: `http://<host>:<port>/v1`. */
  readonly url: string;
  readonly requests: readonly ScriptedRequest[];
  readonly calls: readonly ReceivedCall[];
  /** Calls whose client disconnected before the answer was complete. */
  readonly abandoned: () => number;
  close(): Promise<void>;
}

/**
 * A real OpenAI-compatible endpoint, on loopback by default, that answers from a script: chat
 * completions, complete or streamed, tool calls, usage, errors, delays, silence and broken connections;
 * with `embed`, embeddings as well. For tests that need the same HTTP path as production.
 * @example await using server = await startScriptedModelServer(['start flow transfer_money'])
 */
export async function startScriptedModelServer(
  script: Script,
  options: ScriptedModelServerOptions = {},
): Promise<ScriptedModelServer> {
  checkOptions('startScriptedModelServer', options, optionNames);
  const { apiKey, models = ['scripted'], maxBodyBytes = 10 * 1024 * 1024, embed } = options;
  const { host = '127.0.0.1', port: wanted = 0 } = options;
  const player = new ScriptPlayer(script);
  const calls: ReceivedCall[] = [];
  let abandoned = 0;
  let embeddings = 0;

  const answer = async (request: Request): Promise<Response> => {
    const { method, headers, signal } = request;
    signal.addEventListener('abort', () => {
      abandoned += 1;
    });
    const { pathname: path, search } = new URL(request.url);
    const sent = headers.get('authorization') ?? `Bearer ${headers.get('api-key')}`;
    if (apiKey !== undefined && sent !== `Bearer ${apiKey}`) {
      return errorResponse(401, 'wrong API key');
    }
    if (method === 'GET' && path.endsWith('/models')) {
      const data = models.map((id) => ({ id, object: 'model', owned_by: 'script' }));
      return Response.json({ object: 'list', data });
    }
    const isEmbedding = embed !== undefined && path.endsWith('/embeddings');
    if (method !== 'POST' || !(isEmbedding || path.endsWith('/chat/completions'))) {
      return errorResponse(404, `no route ${method} ${path}`);
    }
    const body = parseBody(await request.text());
    if (body === undefined) return errorResponse(400, 'the body must be a JSON object');
    calls.push({ path: path + search, headers: Object.fromEntries(headers), body });
    if (isEmbedding) return embeddingResponse(embed, body, (embeddings += 1) - 1);
    return answerFromScript(player, body, signal);
  };

  const handle = toNodeHandler(answer, maxBodyBytes);
  const server = createServer((request, outgoing) => {
    handle(request, outgoing).catch((error: unknown) => {
      // If the script breaks the connection, it closes without a response.
      if (outgoing.headersSent || !(error instanceof LegateError)) outgoing.destroy();
      else outgoing.writeHead(500).end(error.message);
    });
  });
  await once(server.listen(wanted, host), 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const close = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
  };
  return {
    url: `http://${host}:${port}/v1`,
    requests: player.requests,
    calls,
    abandoned: () => abandoned,
    close,
    [Symbol.asyncDispose]: close,
  };
}

function embeddingResponse(embed: EmbeddingScript, { input }: JsonObject, index: number): Response {
  const texts = (Array.isArray(input) ? input : [input]).map(String);
  const answer = embed(texts, index);
  if ('status' in answer) return errorResponse(answer.status, answer.message ?? 'scripted');
  const data = answer.map((embedding, at) => ({ object: 'embedding', index: at, embedding }));
  const usage = { prompt_tokens: texts.length, total_tokens: texts.length };
  return Response.json({ object: 'list', model: 'scripted', data, usage });
}

function parseBody(text: string): JsonObject | undefined {
  try {
    const value = parseJson(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
