import type { IncomingMessage, ServerResponse } from 'node:http';
import { LegateError, toLegateError, toRestError } from '../protocol/index.ts';
import type { PublicKeySet } from '../push/index.ts';
import { describeRequest } from './audit.ts';
import { allowOrigin } from './cors.ts';
import type { ChannelRoutes, RouteCall } from './channel.ts';
import { authenticate } from './entrance.ts';
import { handleJsonRpc } from './json-rpc.ts';
import type { ReadyReport } from './readiness.ts';
import { sendJson } from './respond.ts';
import { handleRest } from './rest.ts';
import type { Service } from './service.ts';
import { errorHeaders } from './statuses.ts';

/**
 * Handles one request; never throws. Mounts wherever `(req, res)` handlers do.
 * @example
 * const timed: Handler = (request, response) => {
 *   const start = performance.now();
 *   response.once('close', () => histogram.record(performance.now() - start));
 *   doors.handler(request, response);
 * };
 */
export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

export interface HandlerOptions {
  /** Aborts when the turns have been drained: streams that are left are then ended. */
  readonly closing: AbortSignal;
  /** Whether requests are welcome, for `/ready`. */
  readonly isReady: () => Promise<ReadyReport>;
  /** Endpoints of channels, matched before A2A's own. */
  readonly channels: ChannelRoutes;
  /** Whether A2A is answered, and the card shown. */
  readonly hasA2a: boolean;
  /** Paths of other doors on the same port, asked first. */
  readonly before?: (
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
    query: URLSearchParams,
  ) => boolean | Promise<boolean>;
}

const cardPaths = new Set(['/.well-known/agent-card.json', '/.well-known/agent.json']);
const noQuery = new URLSearchParams();

/** The doors of one agent: JSON-RPC, REST, card and health, by path. */
export function createHandler(service: Service, options: HandlerOptions): Handler {
  return (request, response) => {
    route(service, options, request, response).catch((thrown: unknown) => {
      const error = refused(service, request, thrown);
      const { status, body } = toRestError(error, { profile: service.errorProfile });
      sendJson(response, status, JSON.stringify(body), errorHeaders(error));
    });
  };
}

async function route(
  service: Service,
  options: HandlerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { url = '/', method = 'GET' } = request;
  const mark = url.indexOf('?');
  const path = mark < 0 ? url : url.slice(0, mark);
  const query = mark < 0 ? noQuery : new URLSearchParams(url.slice(mark + 1));
  if (allowOrigin(service.corsOrigins, request, response)) return;
  if (path === service.metricsDoor?.path) {
    only(method, response, 'GET', 'HEAD');
    return service.metricsDoor.send(service, request, response, query);
  }
  if (options.before !== undefined && (await options.before(request, response, path, query)))
    return;
  if (await routeToChannel(service, options.channels, { request, response, path, query })) return;
  if (path === '/health' || path === '/ready') {
    only(method, response, 'GET', 'HEAD');
    return sendWell(response, path === '/health' ? { isReady: true } : await options.isReady());
  }
  if (!options.hasA2a) throw nothingAt(path);
  if (path === '/' && method === 'POST') {
    return handleJsonRpc(service, request, response, query, options.closing);
  }
  if (cardPaths.has(path)) {
    only(method, response, 'GET', 'HEAD');
    if (service.protectsCard) await authenticate(service, request, response, query);
    return service.cards.send(request, response, service.protectsCard);
  }
  if (path === '/.well-known/jwks.json' && service.jwks !== undefined) {
    only(method, response, 'GET', 'HEAD');
    return sendKeys(response, service.jwks());
  }
  if (path === '/') {
    only(method, response, 'POST');
  }
  return handleRest(service, request, response, { path, query }, options.closing);
}

/** Whether a channel took the request. */
async function routeToChannel(
  service: Service,
  channels: ChannelRoutes,
  call: Omit<RouteCall, 'params'>,
): Promise<boolean> {
  const { request, response, path } = call;
  const { method = 'GET' } = request;
  const match = channels.match(method, path);
  if (match === undefined || (match.handler === undefined && path === '/')) return false;
  const { channel, handler, allowed, params } = match;
  try {
    if (handler === undefined) only(method, response, ...allowed);
    await handler?.({ ...call, params });
  } catch (thrown) {
    if (channel.sendError === undefined) throw thrown;
    const error = refused(service, request, thrown);
    channel.sendError(response, error);
  }
  return true;
}

/** Audits and logs what a request was refused with. */
function refused(service: Service, request: IncomingMessage, thrown: unknown): LegateError {
  const error = toLegateError(thrown);
  if (error.code === 'INTERNAL') {
    service.logger.error({ error: error.cause ?? error }, 'http.internal_error');
  }
  service.audit.denied(error, describeRequest(request));
  return error;
}

function nothingAt(path: string): LegateError {
  return new LegateError('ROUTE_NOT_FOUND', `there is nothing at ${path.slice(0, 200)}`);
}

/** The keys by which receivers of webhooks verify them: for everybody. */
export function sendKeys(response: ServerResponse, keys: PublicKeySet): void {
  sendJson(response, 200, JSON.stringify(keys), {
    'cache-control': 'public, max-age=300',
    'access-control-allow-origin': '*',
  });
}

export function sendWell(response: ServerResponse, { isReady, ...details }: ReadyReport): void {
  const status = isReady ? 'ok' : 'unavailable';
  sendJson(response, isReady ? 200 : 503, JSON.stringify({ status, ...details }));
}

export function only(method: string, response: ServerResponse, ...allowed: string[]): void {
  if (allowed.includes(method)) return;
  const allow = allowed.join(', ');
  response.setHeader('allow', allow);
  throw new LegateError('METHOD_NOT_ALLOWED', `${method} is not possible here; use ${allow}`);
}
