import type { IncomingMessage, ServerResponse } from 'node:http';
import { cardPaths, toLegateError, toRestError } from '../protocol/index.ts';
import type { PublicKeySet } from '../push/index.ts';
import { errorHeaders, type ReadyReport, RequestMeter } from '../service/index.ts';
import { sendCard } from './card.ts';
import type { RouteCall } from './channel.ts';
import { handleJsonRpc } from './json-rpc.ts';
import type { HttpService } from './options.ts';
import { allowOrigin } from './request-guard.ts';
import { authenticateRequest } from './request.ts';
import {
  methodNotAllowed,
  reportError,
  requireMethod,
  routeNotFound,
  sendJson,
} from './respond.ts';
import { handleRest } from './rest.ts';
import type { ChannelRoutes, RouteMatch } from './routes.ts';

/**
 * Handles one request; never throws. Works with every framework that mounts `(req, res)` handlers.
 * @example
 * const timed: Handler = (request, response) => {
 *   const start = performance.now();
 *   response.once('close', () => histogram.record(performance.now() - start));
 *   endpoints.handler(request, response);
 * };
 */
export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

export interface HandlerOptions {
  /** Aborts when turns have been drained; streams that are still open then end. */
  readonly closing: AbortSignal;
  /** The readiness check of `/ready`. */
  readonly isReady: () => Promise<ReadyReport>;
  /** Routes of channels, matched before A2A's routes. */
  readonly channels: ChannelRoutes;
  /** The path of JSON-RPC. */
  readonly rpcPath: string;
  /** The path of the card. @default its well-known paths */
  readonly cardPath: string | undefined;
  /** Whether to serve A2A and the card. */
  readonly hasA2a: boolean;
  /** The path that lists the agents, named in the error for an unknown path. */
  readonly index?: string;
}

const noQuery = new URLSearchParams();

/** The endpoints of one agent, by path: JSON-RPC, REST, card, health, and those of channels. */
export function createHandler(service: HttpService, options: HandlerOptions): Handler {
  return (request, response) => {
    route(service, options, request, response).catch((thrown: unknown) => {
      const error = reportError(service, request, thrown);
      const { status, body } = toRestError(error, { profile: service.errorProfile });
      sendJson(response, status, JSON.stringify(body), errorHeaders(error));
    });
  };
}

async function route(
  service: HttpService,
  options: HandlerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { url = '/', method = 'GET' } = request;
  const mark = url.indexOf('?');
  const path = mark < 0 ? url : url.slice(0, mark);
  const query = mark < 0 ? noQuery : new URLSearchParams(url.slice(mark + 1));
  if (allowOrigin(service.corsOrigins, request, response)) return;
  if (path === service.metricsEndpoint?.path) {
    requireMethod(method, response, 'GET', 'HEAD');
    return service.metricsEndpoint.send(service, request, response, query);
  }
  const channelRoute = findChannelRoute(options, method, path);
  if (channelRoute !== undefined) {
    return callChannel(service, channelRoute, { request, response, path, query });
  }
  if (path === '/health' || path === '/ready') {
    requireMethod(method, response, 'GET', 'HEAD');
    return sendHealth(response, path === '/health' ? { isReady: true } : await options.isReady());
  }
  if (path === '/.well-known/jwks.json' && service.jwks !== undefined) {
    requireMethod(method, response, 'GET', 'HEAD');
    return sendKeys(response, await service.jwks());
  }
  if (!options.hasA2a) throw routeNotFound(path, options.index);
  if (path === options.rpcPath) {
    requireMethod(method, response, 'POST');
    return handleJsonRpc(service, request, response, query, options.closing);
  }
  if (
    options.cardPath === undefined
      ? cardPaths.some((one) => one === path)
      : path === options.cardPath
  ) {
    requireMethod(method, response, 'GET', 'HEAD');
    if (service.protectsCard) await authenticateRequest(service, request, response, query);
    await service.cards.settled();
    return sendCard(service, request, response, query);
  }
  return handleRest(service, request, response, { path, query }, options.closing);
}

/** The route of a channel. On the JSON-RPC path, methods without a route of a channel belong to A2A. */
function findChannelRoute(
  { channels, rpcPath }: HandlerOptions,
  method: string,
  path: string,
): RouteMatch | undefined {
  const match = channels.match(method, path);
  return match?.handler === undefined && path === rpcPath ? undefined : match;
}

async function callChannel(
  service: HttpService,
  { channel, isMetered, handler, allowed, params }: RouteMatch,
  call: Omit<RouteCall, 'params'>,
): Promise<void> {
  const { request, response } = call;
  const { method = 'GET' } = request;
  using meter = isMetered ? new RequestMeter('http') : undefined;
  if (meter !== undefined) meter.operation = channel.name;
  try {
    if (handler === undefined) throw methodNotAllowed(response, method, allowed.join(', '));
    await handler({ ...call, params: params() });
  } catch (thrown) {
    if (meter !== undefined) meter.error = toLegateError(thrown).code;
    if (channel.sendError === undefined) throw thrown;
    channel.sendError(response, reportError(service, request, thrown));
  }
}

/** Sends the public keys with which receivers verify webhooks. */
function sendKeys(response: ServerResponse, keys: PublicKeySet): void {
  sendJson(response, 200, JSON.stringify(keys), {
    'cache-control': 'public, max-age=300',
    'access-control-allow-origin': '*',
  });
}

/** Sends the response of `/health` and `/ready`. */
export function sendHealth(response: ServerResponse, { isReady, ...details }: ReadyReport): void {
  const status = isReady ? 'ok' : 'unavailable';
  sendJson(response, isReady ? 200 : 503, JSON.stringify({ status, ...details }));
}
