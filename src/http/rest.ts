import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller } from '../agents/index.ts';
import {
  type Dialect,
  invalidParams,
  LegateError,
  type Operation,
  parseJson,
  type ProtocolVersion,
  toRestError,
  v03Rest,
  v1,
} from '../protocol/index.ts';
import {
  checkVersion,
  errorHeaders,
  execute,
  inTenant,
  legacyDialect,
  RequestMeter,
  statedVersion,
} from '../service/index.ts';
import type { HttpService } from './options.ts';
import {
  admitAnswer,
  admitRequest,
  authenticateRequest,
  callOfRequest,
  readBody,
  requireJson,
} from './request.ts';
import {
  methodNotAllowed,
  reportError,
  responseMediaType,
  routeNotFound,
  sendJson,
  sendResult,
} from './respond.ts';
import { pathParams, pathPattern } from './routes.ts';

/** A request matched to an operation, with the parameters of its path. */
interface RestRoute {
  readonly operation: Operation;
  /** Parameters from the path, named as in 1.x requests. */
  readonly params: Readonly<Record<string, string>>;
  readonly tenant?: string;
}

type RestMatch =
  | RestRoute
  /** The path exists, with these methods. */
  | { readonly allow: string }
  | undefined;

/** The operations of one resource, by HTTP method. */
interface Resource {
  readonly methods: Readonly<Record<string, Operation>>;
  readonly version?: ProtocolVersion;
  readonly direct: RegExp;
  /** The path with a leading tenant segment. */
  readonly tenanted: RegExp;
}

function resource(
  path: string,
  methods: Readonly<Record<string, Operation>>,
  version?: ProtocolVersion,
): Resource {
  return {
    methods,
    ...(version !== undefined && { version }),
    direct: pathPattern(path),
    tenanted: pathPattern(`/{tenant}${path}`),
  };
}

const configs = '/tasks/{taskId}/pushNotificationConfigs';

/** The first match wins. Ids can contain colons; the verb follows the last colon. */
const resources = [
  resource('/message:send', { POST: 'sendMessage' }),
  resource('/message:stream', { POST: 'sendStreamingMessage' }),
  resource('/tasks', { GET: 'listTasks' }),
  resource('/extendedAgentCard', { GET: 'getExtendedAgentCard' }, '1.0'),
  resource('/card', { GET: 'getExtendedAgentCard' }, '0.3'),
  resource('/tasks/{id}:cancel', { POST: 'cancelTask' }),
  // The text of the specification has POST, its proto file GET.
  resource('/tasks/{id}:subscribe', { POST: 'subscribeToTask', GET: 'subscribeToTask' }),
  resource('/tasks/{id}', { GET: 'getTask' }),
  resource(configs, {
    POST: 'createTaskPushNotificationConfig',
    GET: 'listTaskPushNotificationConfigs',
  }),
  resource(`${configs}/{id}`, {
    GET: 'getTaskPushNotificationConfig',
    DELETE: 'deleteTaskPushNotificationConfig',
  }),
];

/** Finds the operation of a path below a version's prefix. */
function matchRest(method: string, path: string, version: ProtocolVersion): RestMatch {
  for (const place of ['direct', 'tenanted'] as const) {
    const found = resources.find(
      (one) => (one.version ?? version) === version && one[place].test(path),
    );
    if (found === undefined) continue;
    const operation = found.methods[method];
    if (operation === undefined) return { allow: Object.keys(found.methods).join(', ') };
    const { tenant, ...params } = pathParams(found[place], path);
    return { operation, params, ...(tenant !== undefined && { tenant }) };
  }
  return undefined;
}

/** HTTP+JSON: 1.x below the root, 0.3 below `/v1`. */
export async function handleRest(
  service: HttpService,
  request: IncomingMessage,
  response: ServerResponse,
  target: { readonly path: string; readonly query: URLSearchParams },
  closing: AbortSignal,
): Promise<void> {
  const { method = 'GET' } = request;
  let dialect: Dialect = v1;
  let caller: Caller | undefined;
  using meter = new RequestMeter('rest');
  try {
    // A tenant can be called v1. The version header then distinguishes the paths.
    const stated = statedVersion(request.headers, target.query);
    const isV03 = target.path.startsWith('/v1/') && !stated.includes('1.');
    dialect = isV03 ? v03Rest : v1;
    caller = await authenticateRequest(service, request, response, target.query);
    if (isV03) dialect = legacyDialect(service, caller);
    using permit = await admitRequest(service, request, response, caller);
    const { version } = dialect;
    const match = matchRest(method, isV03 ? target.path.slice(3) : target.path, version);
    if (match === undefined) throw routeNotFound(target.path);
    if ('allow' in match) throw methodNotAllowed(response, method, match.allow);
    const { operation } = match;
    meter.operation = operation;
    checkVersion(service, stated, { expected: version, what: 'path' });
    const params = await parameters(service, request, target.query, match);
    if (isV03) nameTask(params, match);
    // Requests of 0.3 have no field for the tenant, so it is passed with the call.
    const tenant = isV03 ? match.tenant : undefined;
    const call = inTenant(callOfRequest(request, response, { caller, version, operation }), tenant);
    using _stream = admitAnswer(service, request, caller, operation, permit);
    const result = await execute(service, operation, dialect, params, call);
    await sendResult(service, response, result, {
      meter,
      dialect,
      call,
      closing,
      mediaType: responseMediaType(request),
      envelope: ['', ''],
      empty: '{}',
      errorFrame: (error) =>
        `event: error\ndata: ${JSON.stringify(toRestError(error, { version }).body)}\n\n`,
    });
  } catch (thrown) {
    const error = reportError(service, request, thrown, { caller });
    meter.error = error.code;
    const { version } = dialect;
    const { status, body } = toRestError(error, { version, profile: service.errorProfile });
    sendJson(response, status, JSON.stringify(body), {
      ...errorHeaders(error),
      'content-type': responseMediaType(request),
    });
  }
}

/** Merges path, query and body into one object. A parameter of the body must not contradict the path. */
async function parameters(
  service: HttpService,
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
        description: `does not match ${value} in the path`,
      });
    }
    params[name] = value;
  }
  return params;
}

/**
 * 0.3 names the task of a push configuration by a resource name, and the task of a list by `id`. Sets
 * `id`, and refuses a resource name with another task than the path.
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
      throw invalidParams({ field, description: `does not match ${taskId} in the path` });
    }
  }
}
