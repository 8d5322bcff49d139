import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type Dialect,
  LegateError,
  type StreamResponse,
  toLegateError,
} from '../protocol/index.ts';
import {
  type DeniedRequest,
  extensionHeaders,
  type OperationResult,
  type RequestMeter,
  type Service,
} from '../service/index.ts';
import type { Call } from '../tasks/index.ts';
import type { HttpService } from './options.ts';
import { frame, sendEvents } from './sse.ts';

/** Response headers by name. */
type Headers = Readonly<Record<string, string | string[]>>;

const jsonHeaders: Headers = {
  'content-type': 'application/json',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
};

/** Sends JSON text and ends the response, unless the client has disconnected. Default: `no-store`. */
export function sendJson(
  response: ServerResponse,
  status: number,
  text: string,
  headers?: Headers,
): void {
  if (response.headersSent || response.destroyed) return;
  sendText(response, status, text, { ...jsonHeaders, ...headers });
}

/** Sends a complete body with its length and ends the response. */
function sendText(response: ServerResponse, status: number, text: string, headers: Headers): void {
  limitUnreadBody(response);
  response.writeHead(status, { 'content-length': Buffer.byteLength(text), ...headers });
  response.end(text);
}

/** How long a client may continue sending an unread body after the response, in milliseconds. */
const lingerMs = 2_000;

/**
 * When a response ends before the request body was read, Node discards the rest of the body, so that
 * clients can finish sending and read the response. Closes the connection of a client that keeps sending.
 */
function limitUnreadBody(response: ServerResponse): void {
  const { req: request } = response;
  if (request.complete) return;
  response.once('finish', () => {
    if (request.complete) return;
    const timer = setTimeout(() => {
      if (!request.complete) request.socket.destroy();
    }, lingerMs).unref();
    request.once('close', () => clearTimeout(timer));
  });
}

/** How JSON-RPC and REST encode the result of an operation. */
export interface ResultEncoding {
  readonly dialect: Dialect;
  readonly call: Call;
  /** Aborts when the server has drained. Open streams then end. */
  readonly closing: AbortSignal;
  readonly mediaType: string;
  /** Text around each JSON value. */
  readonly envelope: readonly [before: string, after: string];
  /** The JSON value of an empty result. */
  readonly empty: string;
  /** Encodes an error within a stream as a frame. */
  readonly errorFrame: (error: LegateError) => string;
  readonly meter: RequestMeter;
  /** Rewrites 1.0 responses for clients with other expectations. @default none */
  readonly rewrite?: {
    answer(text: string): string;
    event(event: StreamResponse): StreamResponse;
  };
}

export async function sendResult(
  service: HttpService,
  response: ServerResponse,
  result: OperationResult,
  encoding: ResultEncoding,
): Promise<void> {
  const { dialect, call, closing, mediaType, empty, rewrite } = encoding;
  const [before, after] = encoding.envelope;
  if (result.kind === 'stream') {
    encoding.meter.stream();
    return sendEvents(response, result.stream, {
      encode(event) {
        const { body, isLast } = event;
        const text =
          dialect.version !== '1.0'
            ? JSON.stringify(dialect.streamResponse.encode(body.value, isLast))
            : rewrite === undefined
              ? body.text
              : JSON.stringify(rewrite.event(body.value));
        return frame(event, `${before}${text}${after}`);
      },
      encodeError: encoding.errorFrame,
      logger: service.logger,
      keepAliveMs: service.limits.keepAliveMs,
      extraHeaders: extensionHeaders(service, call),
      closing,
    });
  }
  const stored = result.kind === 'json' ? result.text : empty;
  const text = rewrite === undefined ? stored : rewrite.answer(stored);
  return sendJson(response, 200, `${before}${text}${after}`, {
    ...contextHints(service, result),
    ...extensionHeaders(service, call),
    'content-type': mediaType,
  });
}

/** `application/json`, or `application/a2a+json` for callers that send or accept it. */
export function responseMediaType({ headers }: IncomingMessage): string {
  const named = `${headers.accept ?? ''},${headers['content-type'] ?? ''}`;
  return named.includes('application/a2a+json') ? 'application/a2a+json' : 'application/json';
}

/** Ids that are safe in a header and a cookie. */
const plain = /^[\w.~:-]{1,128}$/;

/**
 * The context id as a header and a cookie, for ingress rules that route by it. Legate does not need such
 * routing.
 */
function contextHints(
  { setsContextHints }: HttpService,
  result: OperationResult,
): Record<string, string> | undefined {
  if (!setsContextHints || result.kind !== 'json') return undefined;
  const { contextId } = result;
  if (contextId === undefined || !plain.test(contextId)) return undefined;
  return {
    'x-a2a-context-id': contextId,
    'set-cookie': `a2a-context-id=${contextId}; Path=/; Max-Age=3600; HttpOnly; SameSite=Lax`,
  };
}

/** Longest path in a log line, in characters. */
const maxPathLength = 200;

/** The fields of a request in the audit log. */
export function describeRequest(request: IncomingMessage): Omit<DeniedRequest, 'caller'> {
  const { method = '', url = '' } = request;
  const path = url.split('?', 1)[0] ?? '';
  return {
    address: request.socket.remoteAddress ?? '',
    what: `${method} ${path.slice(0, maxPathLength)}`,
  };
}

/** Logs internal errors, audits refusals, and returns the error to send. */
export function reportError(
  { audit, logger }: Pick<Service, 'audit' | 'logger'>,
  request: IncomingMessage,
  thrown: unknown,
  known: Partial<Pick<DeniedRequest, 'what' | 'caller'>> = {},
): LegateError {
  const error = toLegateError(thrown);
  if (error.code === 'INTERNAL') {
    logger.error({ error: error.cause ?? error }, 'http.internal_error');
  }
  audit.denied(error, { ...describeRequest(request), ...known });
  return error;
}

export function routeNotFound(path: string, index?: string): LegateError {
  const hint = index === undefined ? '' : `; ${index} lists the agents here`;
  return new LegateError('ROUTE_NOT_FOUND', `no such path: ${path.slice(0, 200)}${hint}`);
}

/** Sets the `Allow` header too. */
export function methodNotAllowed(
  response: ServerResponse,
  method: string,
  allow: string,
): LegateError {
  response.setHeader('allow', allow);
  return new LegateError('METHOD_NOT_ALLOWED', `${method} is not allowed here; use ${allow}`);
}

export function requireMethod(
  method: string,
  response: ServerResponse,
  ...allowed: string[]
): void {
  if (!allowed.includes(method)) throw methodNotAllowed(response, method, allowed.join(', '));
}
