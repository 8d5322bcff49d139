import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type Dialect,
  invalidParams,
  LegateError,
  parseJson,
  toLegateError,
  toRestError,
  v03Rest,
  v1,
} from '../protocol/index.ts';
import type { Caller } from '../agents/index.ts';
import type { Call } from '../tasks/index.ts';
import { describeRequest } from './audit.ts';
import { readBody } from './body.ts';
import { contextHints } from './context-hints.ts';
import { authenticate, enter, openStream } from './entrance.ts';
import { extensionHeaders } from './extension-headers.ts';
import { callOf } from './http-call.ts';
import { requireJson, responseMediaType } from './media-type.ts';
import { execute, inTenant, type OperationResult } from './operations.ts';
import { sendJson } from './respond.ts';
import { matchRest, type RestRoute } from './rest-routes.ts';
import type { Service } from './service.ts';
import { sendEvents } from './sse.ts';
import { errorHeaders } from './statuses.ts';
import { versionOf } from './version.ts';

/** HTTP+JSON: 1.x below the root, 0.3 below `/v1`. */
export async function handleRest(
  service: Service,
  request: IncomingMessage,
  response: ServerResponse,
  target: { readonly path: string; readonly query: URLSearchParams },
  closing: AbortSignal,
): Promise<void> {
  const { method = 'GET' } = request;
  let dialect: Dialect = v1;
  let caller: Caller | undefined;
  try {
    // A tenant may be called v1: then the version header tells the paths apart.
    const isV03 =
      target.path.startsWith('/v1/') && !(request.headers['a2a-version'] ?? '').includes('1.');
    dialect = isV03 ? v03Rest : v1;
    caller = await authenticate(service, request, response, target.query);
    using place = await enter(service, request, response, caller);
    const match = matchRest(method, isV03 ? target.path.slice(3) : target.path, dialect.version);
    if (match === undefined) {
      throw new LegateError('ROUTE_NOT_FOUND', `there is nothing at ${target.path.slice(0, 200)}`);
    }
    if ('allow' in match) {
      response.setHeader('allow', match.allow);
      throw new LegateError(
        'METHOD_NOT_ALLOWED',
        `${method} is not possible here; use ${match.allow}`,
      );
    }
    checkVersion(service, request, target.query, isV03);
    const params = await parameters(service, request, target.query, match);
    if (isV03) nameTask(params, match);
    // The requests of 0.3 have no field for the tenant that a path may name.
    const tenant = isV03 ? match.tenant : undefined;
    const call = inTenant(
      callOf(request, response, caller, dialect.version, match.operation),
      tenant,
    );
    using _stream = openStream(service, request, caller, match.operation, place);
    const result = await execute(service, match.operation, dialect, params, call);
    await answer(service, request, response, { dialect, result, call, closing });
  } catch (thrown) {
    const error = toLegateError(thrown);
    service.audit.denied(error, { ...describeRequest(request), caller });
    fail(service, request, response, error, dialect.version);
  }
}

/** REST paths are per version, so the header has only to agree. */
function checkVersion(
  service: Service,
  request: IncomingMessage,
  query: URLSearchParams,
  isV03: boolean,
): void {
  const { version, isStated } = versionOf(request, query);
  const expected = isV03 ? '0.3' : '1.0';
  if (version === expected || (!isStated && (isV03 || service.isLenient))) return;
  throw new LegateError(
    'VERSION_NOT_SUPPORTED',
    `this path belongs to A2A ${expected}: send the header A2A-Version: ${expected}`,
    { metadata: { supportedVersions: expected } },
  );
}

/** Path, query and body as one object; what the path says, the body cannot unsay. */
async function parameters(
  service: Service,
  request: IncomingMessage,
  query: URLSearchParams,
  route: RestRoute,
): Promise<Record<string, unknown>> {
  const params: Record<string, unknown> = {};
  if (request.method === 'POST') {
    const text = await readBody(request, service.limits);
    if (text.trim() !== '') {
      requireJson(request);
      const body = parseJson(text, { maxDepth: service.limits.maxJsonDepth });
      if (body !== null && (typeof body !== 'object' || Array.isArray(body))) {
        throw new LegateError('INVALID_REQUEST', 'the request body must be a JSON object');
      }
      Object.assign(params, body);
    }
  } else {
    for (const [name, value] of query) {
      if (name === 'A2A-Version' || name === '__proto__') continue;
      params[name] = value === 'true' ? true : value === 'false' ? false : value;
    }
  }
  const path =
    route.tenant === undefined ? route.params : { ...route.params, tenant: route.tenant };
  for (const [name, value] of Object.entries(path)) {
    const given = params[name];
    const isAnother = given !== undefined && given !== null && given !== '' && given !== value;
    if (isAnother) {
      throw invalidParams({
        field: name,
        description: `does not match the path, which says ${value}`,
      });
    }
    params[name] = value;
  }
  return params;
}

/**
 * 0.3 names the task of a push configuration by a resource name, and that of a list by `id`: neither
 * may say another than the path.
 */
function nameTask(params: Record<string, unknown>, { operation, params: path }: RestRoute): void {
  const { taskId } = path;
  if (taskId === undefined) return;
  if (operation === 'listTaskPushNotificationConfigs') params.id = taskId;
  for (const field of ['name', 'parent']) {
    const given = params[field];
    if (given === undefined || given === null || given === '') continue;
    const named = typeof given === 'string' ? given.split('/') : [];
    if (named[0] !== 'tasks' || named[1] !== taskId) {
      throw invalidParams({ field, description: `does not match the path, which says ${taskId}` });
    }
  }
}

async function answer(
  service: Service,
  request: IncomingMessage,
  response: ServerResponse,
  options: { dialect: Dialect; result: OperationResult; call: Call; closing: AbortSignal },
): Promise<void> {
  const { dialect, result, call, closing } = options;
  if (result.kind === 'stream') {
    return sendEvents(response, result.stream, {
      encode: (event) =>
        dialect.version === '1.0'
          ? event.body.text
          : JSON.stringify(dialect.streamResponse.encode(event.body.value, event.isLast)),
      encodeError: (error) =>
        `event: error\ndata: ${JSON.stringify(toRestError(error, { version: dialect.version }).body)}\n\n`,
      logger: service.logger,
      keepAliveMs: service.limits.keepAliveMs,
      extraHeaders: extensionHeaders(service, call),
      closing,
    });
  }
  sendJson(response, 200, result.kind === 'json' ? result.text : '{}', {
    ...contextHints(service, result),
    ...extensionHeaders(service, call),
    'content-type': responseMediaType(request),
  });
}

function fail(
  service: Service,
  request: IncomingMessage,
  response: ServerResponse,
  error: LegateError,
  version: '0.3' | '1.0',
): void {
  if (error.code === 'INTERNAL') {
    service.logger.error({ error: error.cause ?? error }, 'http.internal_error');
  }
  const { status, body } = toRestError(error, { version, profile: service.errorProfile });
  sendJson(response, status, JSON.stringify(body), {
    ...errorHeaders(error),
    'content-type': responseMediaType(request),
  });
}
