import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller } from '../../agents/index.ts';
import { Authenticator, AuthError } from '../../auth/index.ts';
import { present } from '../../config/index.ts';
import { statusOf, toPublicError } from '../../protocol/index.ts';
import { errorHeaders } from '../../service/index.ts';
import { storeScheduler } from '../../tasks/index.ts';
import type { Channel, ChannelHost, RouteCall } from '../channel.ts';
import { handleJsonRpc } from '../json-rpc.ts';
import type { HttpService } from '../options.ts';
import { describeRequest, requireMethod, sendJson } from '../respond.ts';
import { handleRest } from '../rest.ts';
import { admitOperator, callersAccess, InspectorToken } from './access.ts';
import { AgentProxy } from './agent-proxy.ts';
import { routes } from './api.ts';
import { type ApiCall, type Inspection, notFound } from './inspection.ts';
import { Live } from './live.ts';
import type { AttemptView, ErrorView } from './model.ts';
import type { InspectorOptions } from './options.ts';
import { PageFiles } from './page.ts';
import { attemptView, RecentList, WebhookReceiver } from './webhook-calls.ts';

/**
 * The inspector as a channel of an agent.
 * @example
 * const inspector: InspectorChannel = inspectorChannel({ proxy: true });
 * await using server = await serve(agent, { channels: [inspector] });
 * console.log(inspector.link(server.url)); // http://localhost:8080/inspect/?token=...
 */
export interface InspectorChannel extends Channel {
  /** The link that opens the inspector of a server at this URL, with its token. */
  link(url: string): string;
}

/**
 * The inspector: a page below `/inspect` that shows tasks, conversations, webhooks and other agents, and
 * sends messages to agents. It admits operators: users who open its link with a token, and callers with
 * the permission to inspect.
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

/** Creates the inspection of an agent. It stops when `closing` aborts. */
function inspect(
  options: InspectorOptions,
  { agent, service, store, push }: ChannelHost,
  closing: AbortSignal,
): Inspection {
  const { scheduler = storeScheduler(store), proxy = false, version = '' } = options;
  const now = (): number => scheduler.now();
  const live = new Live({ store, scheduler });
  const attempts = new RecentList<AttemptView>(300);
  const stopWatching = push?.watch((attempt) => {
    attempts.add(attemptView(attempt));
    live.notePush();
  });
  const receiver = new WebhookReceiver({
    now,
    limit: options.receiverLimit ?? 200,
    keys: async () => service.jwks?.(),
    onCall: () => live.publish({ receiver: true }),
  });
  const policy = typeof proxy === 'object' ? proxy.policy : undefined;
  const agentProxy =
    proxy === false
      ? undefined
      : new AgentProxy({ exposure: service.exposure, policy, target: options.target });
  const close = (): void => {
    stopWatching?.();
    agentProxy?.close();
  };
  closing.addEventListener('abort', close, { once: true });
  return {
    ...present({
      assistant: options.assistant,
      network: options.network,
      target: options.target,
      bindings: options.bindings,
    }),
    agent: agent.name,
    service,
    store,
    push,
    attempts,
    receiver,
    live,
    proxy: agentProxy,
    version,
    now,
    closing,
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
    token,
    ...(options.access === undefined ? [] : [options.access]),
    callersAccess(service.auth, options.isOperator),
  ];
  /** Limits failed authentication attempts, like the agent's own endpoints. */
  const limited = (work: () => Promise<Caller>, { socket }: IncomingMessage): Promise<Caller> =>
    service.callerLimits?.authentication(socket.remoteAddress ?? '', work) ?? work();
  const forOperators =
    (handle: (call: ApiCall) => Promise<void>) =>
    async (call: RouteCall): Promise<void> => {
      const { request, query } = call;
      const operator = await limited(() => admitOperator(ways, request, query), request);
      await handle({ ...call, operator, limits });
    };
  host.route('GET', '/inspect', ({ request, response }) => {
    // Relative: the server can be mounted below a path.
    const [, search = ''] = /(\?.*)$/s.exec(request.url ?? '') ?? [];
    response.writeHead(308, { location: `inspect/${search}` }).end();
  });
  host.route('*', `/inspect/hook/${inspection.receiver.key}`, async ({ request, response }) => {
    requireMethod(request.method ?? '', response, 'POST');
    await inspection.receiver.receive(request, limits);
    response.writeHead(204).end();
  });
  for (const [method, path, handle] of routes) {
    const served = forOperators(async (call) => {
      const answer = await handle(inspection, call);
      if (answer !== undefined) sendJson(call.response, 200, JSON.stringify(answer));
    });
    host.route(method, `/inspect/api/${path}`, served);
  }
  for (const path of ['/inspect/a2a/{agent}', '/inspect/a2a/{agent}/*']) {
    host.route(
      '*',
      path,
      forOperators((call) => callAgent(inspection, call)),
    );
  }
  host.route('GET', '/inspect/*', async ({ request, response, query, params }) => {
    const name = params['*'] ?? '';
    if (name !== '' || !query.has('token')) {
      return page.send(request, response, name, inspection.proxy !== undefined);
    }
    // Exchanges the token of the link for a cookie and redirects to the page. The page reports a refusal.
    try {
      await limited(() => token.redeem(query.getAll('token')), request);
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
  // Browsers would show a login dialog for a challenge; the page has its own form.
  const { 'www-authenticate': _challenge, ...headers } = errorHeaders(error);
  sendJson(response, statusOf(error.code).http, JSON.stringify(body), headers);
};

/**
 * Serves A2A for the page below `a2a/{agent}`: both HTTP bindings and both versions, independent of the
 * agent's own transports. Operators call the agent under their own identity.
 */
async function callAgent(
  inspection: Inspection,
  { request, response, query, params, operator }: ApiCall,
): Promise<void> {
  const { closing } = inspection;
  const { agent = '', '*': rest = '' } = params;
  if (agent !== inspection.agent) throw notFound(`agent ${agent.slice(0, 100)} here`);
  const service: HttpService = {
    ...inspection.service,
    auth: authenticatedAs(operator),
    isLenient: true,
  };
  if (rest === '') return handleJsonRpc(service, request, response, query, closing);
  return handleRest(service, request, response, { path: `/${rest}`, query }, closing);
}

/** An operator without a subject. It owns the tasks of anonymous callers; its method is `inspector`. */
class AnonymousOperator extends Authenticator {
  override get anonymousCaller(): Caller {
    return { tenant: '', subject: '', method: 'inspector' };
  }
}

/** An authenticator that returns the operator, whom the inspector has authenticated. */
function authenticatedAs(operator: Caller): Authenticator {
  if (operator.subject === '') return new AnonymousOperator({ verifiers: [] });
  return new Authenticator({
    verifiers: [
      {
        method: 'inspector',
        challenge: 'Bearer',
        schemes: {},
        verify: async () => ({ ...operator, method: 'inspector' }),
      },
    ],
  });
}
