import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Dialect, LegateError, toLegateError } from '../protocol/index.ts';
import {
  type DeniedRequest,
  extensionHeaders,
  type OperationResult,
  type Service,
} from '../service/index.ts';
import type { Call } from '../tasks/index.ts';
import type { HttpService } from './options.ts';
import { sendEvents } from './sse.ts';

/** Response headers by name. */
type Headers = Readonly<Record<string, string | string[]>>;

const jsonHeaders: Headers = {
  'content-type': 'application/json',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
};

/** Sends JSON text and ends the response, unless the client has disconnected. Not cached by default. */
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

/** How long the rest of a body that nobody wants may still come, in milliseconds. */
const lingerMs = 2_000;

/**
 * Answers before the body has arrived leave it to be thrown away, so that honest clients can finish
 * and read the answer. One that goes on sending after that is cut off.
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

/** How JSON-RPC and REST put what an operation answers on the wire. */
export interface Answer {
  readonly dialect: Dialect;
  readonly call: Call;
  /** Aborts when the server has drained: streams that are left are then ended. */
  readonly closing: AbortSignal;
  readonly mediaType: string;
  /** Text around each JSON value. */
  readonly envelope: readonly [before: string, after: string];
  /** The JSON value of an operation that answers nothing. */
  readonly nothing: string;
  /** The frame that tells of a failure in the middle of a stream. */
  readonly errorFrame: (error: LegateError) => string;
}

export async function sendResult(
  service: HttpService,
  response: ServerResponse,
  result: OperationResult,
  answer: Answer,
): Promise<void> {
  const { dialect, call, closing, mediaType, nothing } = answer;
  const [before, after] = answer.envelope;
  if (result.kind === 'stream') {
    return sendEvents(response, result.stream, {
      encode({ body, isLast }) {
        const text =
          dialect.version === '1.0'
            ? body.text
            : JSON.stringify(dialect.streamResponse.encode(body.value, isLast));
        return `${before}${text}${after}`;
      },
      encodeError: answer.errorFrame,
      logger: service.logger,
      keepAliveMs: service.limits.keepAliveMs,
      extraHeaders: extensionHeaders(service, call),
      closing,
    });
  }
  const text = result.kind === 'json' ? result.text : nothing;
  return sendJson(response, 200, `${before}${text}${after}`, {
    ...contextHints(service, result),
    ...extensionHeaders(service, call),
    'content-type': mediaType,
  });
}

/** `application/json`, unless the caller names the protocol's own media type. */
export function responseMediaType({ headers }: IncomingMessage): string {
  const named = `${headers.accept ?? ''},${headers['content-type'] ?? ''}`;
  return named.includes('application/a2a+json') ? 'application/a2a+json' : 'application/json';
}

/** Ids that are safe in a header and a cookie; others are left out. */
const plain = /^[\w.~:-]{1,128}$/;

/**
 * Names the context of an answer for ingress rules that were written to route by it. Legate itself
 * needs no such routing.
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

/** Longest path that is told. */
const maxPathLength = 200;

/** A request in the words of the audit log. */
export function describeRequest(request: IncomingMessage): Omit<DeniedRequest, 'caller'> {
  const { method = '', url = '' } = request;
  const path = url.split('?', 1)[0] ?? '';
  return {
    address: request.socket.remoteAddress ?? '',
    what: `${method} ${path.slice(0, maxPathLength)}`,
  };
}

/** Audits and logs what a request failed with, as far as that is of interest to operators. */
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
  return new LegateError('ROUTE_NOT_FOUND', `there is nothing at ${path.slice(0, 200)}${hint}`);
}

/** Also names the methods that the path takes, in a header of the response. */
export function methodNotAllowed(
  response: ServerResponse,
  method: string,
  allow: string,
): LegateError {
  response.setHeader('allow', allow);
  return new LegateError('METHOD_NOT_ALLOWED', `${method} is not possible here; use ${allow}`);
}

export function requireMethod(
  method: string,
  response: ServerResponse,
  ...allowed: string[]
): void {
  if (!allowed.includes(method)) throw methodNotAllowed(response, method, allowed.join(', '));
}
