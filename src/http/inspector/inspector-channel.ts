import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller } from '../../agents/index.ts';
import { Authenticator, AuthError } from '../../auth/index.ts';
import { statusOf, toPublicError } from '../../protocol/index.ts';
import { errorHeaders } from '../../service/index.ts';
import type { Channel, ChannelHost, RouteCall } from '../channel.ts';
import { handleJsonRpc } from '../json-rpc.ts';
import type { HttpService } from '../options.ts';
import { describeRequest, requireMethod, sendJson } from '../respond.ts';
import { handleRest } from '../rest.ts';
import { admitOperator, callersAccess, tokenAccess } from './access.ts';
import { routes } from './api.ts';
import { type ApiCall, inspect, type Inspection, nothing } from './inspection.ts';
import { InspectorToken } from './inspector-token.ts';
import type { ErrorView } from './model.ts';
import type { InspectorOptions } from './options.ts';
import { PageFiles } from './page-files.ts';

/**
 * The inspector as a channel of an agent.
 * @example
 * const inspector: InspectorChannel = inspectorChannel({ proxy: true });
 * await using server = await serve(agent, { channels: [inspector] });
 * console.log(inspector.link(server.url)); // http://localhost:8080/inspect/?token=...
 */
export interface InspectorChannel extends Channel {
  /** The link that opens it, with its token, for a server at this address. */
  link(url: string): string;
}

/**
 * The inspector: a page below `/inspect` that shows tasks, conversations, webhooks and other agents,
 * and talks to them. It is for operators: users who open its link, which has a token, and callers whom
 * the server knows as operators.
 * @example const { handler } = await router(agent, { channels: [inspectorChannel()] });
 */
export function inspectorChannel(options: InspectorOptions = {}): InspectorChannel {
  const token = new InspectorToken(options.token);
  return {
    name: 'inspector',
    link: (url) => token.linkBelow(url),
    sendError,
    mount(host) {
      const closing = new AbortController();
      mountInspector(host, options, token, closing.signal);
      return { [Symbol.dispose]: () => closing.abort() };
    },
  };
}

function mountInspector(
  host: ChannelHost,
  options: InspectorOptions,
  token: InspectorToken,
  closing: AbortSignal,
): void {
  const { service } = host;
  const { limits } = service;
  const inspection = inspect(options, host, closing);
  const page = new PageFiles();
  const ways = [
    tokenAccess(token),
    ...(options.access === undefined ? [] : [options.access]),
    callersAccess(service.auth, options.isOperator),
  ];
  /** Guessing is as slow as at the agent's own endpoints. */
  const slowly = (work: () => Promise<Caller>, { socket }: IncomingMessage): Promise<Caller> =>
    service.callerLimits?.authentication(socket.remoteAddress ?? '', work) ?? work();
  const forOperators =
    (handle: (call: ApiCall) => Promise<void>) =>
    async (call: RouteCall): Promise<void> => {
      const { request, query } = call;
      const operator = await slowly(() => admitOperator(ways, request, query), request);
      await handle({ ...call, operator, limits });
    };
  host.route('GET', '/inspect', ({ request, response }) => {
    // Relative, for the server may be mounted below a path of its own.
    const [, search = ''] = /(\?.*)$/s.exec(request.url ?? '') ?? [];
    response.writeHead(308, { location: `inspect/${search}` }).end();
  });
  host.route('*', `/inspect/hook/${inspection.receiver.key}`, async ({ request, response }) => {
    requireMethod(request.method ?? '', response, 'POST');
    await inspection.receiver.take(request, limits);
    response.writeHead(204).end();
  });
  for (const [method, path, handle] of routes) {
    const served = forOperators((call) => handle(inspection, call));
    host.route(method, `/inspect/api/${path}`, served);
  }
  for (const path of ['/inspect/a2a/{agent}', '/inspect/a2a/{agent}/*']) {
    host.route(
      '*',
      path,
      forOperators((call) => talkToAgent(inspection, call)),
    );
  }
  host.route('GET', '/inspect/*', async ({ request, response, query, params }) => {
    const name = params['*'] ?? '';
    if (name !== '' || !query.has('token')) {
      return page.send(request, response, name, inspection.proxy !== undefined);
    }
    // Gives a cookie for the token of the link, and leads to the page without it, which says the rest.
    try {
      await slowly(() => token.holder(query.getAll('token')), request);
      response.setHeader('set-cookie', token.cookieFor(request));
    } catch (error) {
      if (!(error instanceof AuthError)) throw error;
      service.audit.denied(error, describeRequest(request));
    }
    const plain = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' };
    response.writeHead(303, { location: './', ...plain }).end();
  });
}

const sendError: NonNullable<Channel['sendError']> = (response: ServerResponse, error) => {
  if (response.headersSent) return void response.destroy();
  const { code, message, violations } = toPublicError(error);
  const body: ErrorView = {
    error: { code, message, ...(violations !== undefined && { violations }) },
  };
  // A browser would answer a challenge with a window of its own; the page asks for itself.
  const { 'www-authenticate': _challenge, ...headers } = errorHeaders(error);
  sendJson(response, statusOf(error.code).http, JSON.stringify(body), headers);
};

/**
 * A2A for the page, below `a2a/{agent}`: both bindings, both versions, whatever transports the agent has of
 * its own. Who may look may talk, as who they are.
 */
export async function talkToAgent(
  inspection: Inspection,
  { request, response, query, params, operator }: ApiCall,
): Promise<void> {
  const { closing } = inspection;
  const { agent = '', '*': rest = '' } = params;
  if (agent !== inspection.agent) throw nothing(`agent ${agent.slice(0, 100)} here`);
  const service: HttpService = {
    ...inspection.service,
    auth: knownAs(operator),
    isLenient: true,
  };
  if (rest === '') return handleJsonRpc(service, request, response, query, closing);
  return handleRest(service, request, response, { path: `/${rest}`, query }, closing);
}

/** The operator proved who they are to the inspector. */
function knownAs(operator: Caller): Authenticator {
  if (operator.subject === '') return new Authenticator({ verifiers: [] });
  return new Authenticator({
    verifiers: [
      { method: operator.method, challenge: 'Bearer', schemes: {}, verify: async () => operator },
    ],
  });
}
