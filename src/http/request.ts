import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { TLSSocket } from 'node:tls';
import type { Caller } from '../agents/index.ts';
import { type AuthRequest, authHeaders, isLocalRequest, tlsFacts } from '../auth/index.ts';
import { parsedBody, readBytes } from '../net/index.ts';
import {
  invalidParams,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  LegateError,
  type Operation,
  operations,
  parseJson,
} from '../protocol/index.ts';
import { admit, admitStream, authenticate, callOf, type RequestLimits } from '../service/index.ts';
import { type Call, callerGone } from '../tasks/index.ts';
import type { HttpService } from './options.ts';
import { refuseForeignPages } from './request-guard.ts';

/** Authenticates the caller of a request before its body is read. */
export function authenticateRequest(
  service: HttpService,
  request: IncomingMessage,
  response: ServerResponse,
  query: URLSearchParams,
): Caller | Promise<Caller> {
  refuseForeignPages(request, response, service.corsOrigins);
  return authenticate(service, addressOf(request), () => authRequestOf(request, query));
}

export function addressOf({ socket }: IncomingMessage): string {
  return socket.remoteAddress ?? '';
}

/** Client certificates by connection: parsing a certificate can cost more than handling a request. */
const facts = new WeakMap<TLSSocket, ReturnType<typeof tlsFacts>>();

/** The parts of a request that authentication reads. */
export function authRequestOf(request: IncomingMessage, query: URLSearchParams): AuthRequest {
  return { headers: authHeaders(request), query, ...factsOf(request) };
}

function factsOf({ socket }: IncomingMessage): ReturnType<typeof tlsFacts> {
  if (!(socket instanceof TLSSocket)) return {};
  const known = facts.get(socket) ?? tlsFacts(socket);
  facts.set(socket, known);
  return known;
}

/** Acquires a permit for a request, released when the response is sent or the client disconnects. */
export function admitRequest(
  service: HttpService,
  request: IncomingMessage,
  response: ServerResponse,
  caller: Caller,
): Disposable | Promise<Disposable> {
  const hold = (permit: Disposable): Disposable => {
    response.on('close', () => permit[Symbol.dispose]());
    return permit;
  };
  const permit = admit(service, caller, addressOf(request));
  return permit instanceof Promise ? permit.then(hold) : hold(permit);
}

/** Acquires a permit for the stream of a streaming operation; undefined for other operations. */
export function admitAnswer(
  service: HttpService,
  request: IncomingMessage,
  caller: Caller,
  operation: Operation,
  permit: Disposable,
): Disposable | undefined {
  if (!operations[operation].streams) return undefined;
  return admitStream(service, caller, addressOf(request), permit);
}

/** Creates the call of an operation from the headers of a request. */
export function callOfRequest(
  request: IncomingMessage,
  response: ServerResponse,
  known: Pick<Call, 'caller' | 'version'> & { readonly operation: Operation },
): Call {
  const { caller, version, operation } = known;
  return callOf(request.headers, {
    caller,
    version,
    isLocal: () => isLocalRequest(request),
    // `EventSender` closes a stream when the client disconnects.
    ...(!operations[operation].streams && { signal: closeSignal(response) }),
  });
}

/** Aborts when the client disconnects, also when it has done so before. */
export function closeSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  if (response.destroyed) controller.abort(callerGone());
  else {
    response.once('close', () => {
      if (!response.writableFinished) controller.abort(callerGone());
    });
  }
  return controller.signal;
}

/**
 * Reads the whole body as text, bounded in size, time and memory. Uses a body that a framework in front
 * of the handler has parsed (such as Express `json()`).
 */
export async function readBody(request: IncomingMessage, limits: RequestLimits): Promise<string> {
  const parsed = parsedBody(request);
  if (parsed !== undefined) return parsed;
  const bytes = await readBytes(request, limits);
  // Decoding would replace invalid bytes, and the agent would get a different text than the client sent.
  if (!isUtf8(bytes)) {
    throw new LegateError('PARSE_ERROR', 'the body is not valid UTF-8; encode it as UTF-8');
  }
  return bytes.toString('utf8');
}

/** Reads the body as JSON; an empty body counts as an empty object. */
export async function readJson(
  request: IncomingMessage,
  limits: RequestLimits,
): Promise<JsonValue> {
  const text = await readBody(request, limits);
  return text === '' ? {} : parseJson(text, { maxDepth: limits.maxJsonDepth });
}

/** Reads the body as a JSON object. */
export async function readJsonObject(
  request: IncomingMessage,
  limits: RequestLimits,
): Promise<JsonObject> {
  const body = await readJson(request, limits);
  if (isJsonObject(body)) return body;
  throw invalidParams({ field: 'body', description: 'must be a JSON object' });
}

const jsonTypes = new Set(['application/json', 'application/a2a+json']);

/** Refuses a body whose content-type is not JSON; the header may be missing. */
export function requireJson(request: IncomingMessage): void {
  const header = request.headers['content-type'];
  const essence = header?.split(';', 1)[0]?.trim().toLowerCase() ?? 'application/json';
  if (jsonTypes.has(essence)) return;
  throw new LegateError(
    'CONTENT_TYPE_NOT_SUPPORTED',
    `content-type ${header} is not supported; send application/json`,
    { metadata: { mediaType: header ?? '' } },
  );
}
