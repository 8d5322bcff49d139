import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller } from '../../agents/index.ts';
import { AuthError } from '../../auth/index.ts';
import { LegateError, statusOf, toLegateError, toPublicError } from '../../protocol/index.ts';
import { storeScheduler } from '../../tasks/index.ts';
import { describeRequest } from '../audit.ts';
import { type HandlerOptions, only } from '../handler.ts';
import { Reach } from '../reach.ts';
import { sendJson } from '../respond.ts';
import { defaultLimits } from '../service.ts';
import { errorHeaders } from '../statuses.ts';
import { admitOperator, callersAccess, type InspectorAccess, tokenAccess } from './access.ts';
import { talkToAgent } from './agent-door.ts';
import { AgentProxy } from './agent-proxy.ts';
import { handleApi } from './api.ts';
import { AttemptLog } from './attempt-log.ts';
import type { Inspection } from './inspection.ts';
import { InspectorToken } from './inspector-token.ts';
import { Live } from './live.ts';
import type { ErrorView } from './model.ts';
import type { Inspected, InspectorOptions } from './options.ts';
import { PageFiles } from './page-files.ts';
import { WebhookReceiver } from './receiver.ts';

/**
 * The inspector beside an agent's own doors.
 * @example
 * const inspector: InspectorDoor = inspectorDoor({ proxy: true });
 * await using server = await serve(agent, { before: inspector.handle }); // /inspect/ answers 503
 * const { service, store } = server.router;
 * inspector.open({ agents: [{ name: agent.name, service }], store }); // and now with the page
 * console.log(inspector.link(server.url)); // http://localhost:8080/inspect/?token=...
 */
export interface InspectorDoor {
  /** For `before` of a server: answers what is below `/inspect`, and nothing else. */
  readonly handle: NonNullable<HandlerOptions['before']>;
  /** The link that opens it, with its token, for a server at this address. */
  link(url: string): string;
  /** From now on there is something to look at. */
  open(inspected: Inspected): void;
  /** Ends its streams and lets go of its connections. */
  close(): void;
}

interface Opened {
  readonly inspection: Inspection;
  readonly ways: readonly InspectorAccess[];
}

const root = '/inspect';

/**
 * The inspector: a page below `/inspect` that shows tasks, conversations, webhooks and other agents,
 * and talks to them. It is for operators: whoever opens its link, which has a token, and callers whom
 * the server knows as operators.
 * @example
 * const inspector = inspectorDoor();
 * await using server = await serve(agent, { before: inspector.handle });
 * inspector.open({ agents: [{ name: agent.name, service: server.router.service }], store: server.router.store });
 */
export function inspectorDoor(options: InspectorOptions = {}): InspectorDoor {
  const closing = new AbortController();
  const token = new InspectorToken(options.token);
  const page = new PageFiles();
  let opened: Opened | undefined;
  const serve = async (
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
    query: URLSearchParams,
  ): Promise<void> => {
    if (opened === undefined) {
      throw new LegateError('UNAVAILABLE', 'the server is about to start', { retryAfter: 1 });
    }
    const { inspection, ways } = opened;
    const { receiver, agents } = inspection;
    const limits = agents[0]?.service.limits ?? defaultLimits;
    if (path === `hook/${receiver.key}`) {
      only(request.method ?? '', response, 'POST');
      await receiver.take(request, limits);
      return void response.writeHead(204).end();
    }
    const isApi = path.startsWith('api/');
    if (!isApi && !path.startsWith('a2a/')) {
      only(request.method ?? '', response, 'GET', 'HEAD');
      if (path === '' && query.has('token')) {
        return exchange(request, response, query.getAll('token'));
      }
      return page.send(request, response, path, inspection.proxy !== undefined);
    }
    const operator = await admit(() => admitOperator(ways, request, query), request);
    const call = { request, response, query, operator, limits };
    if (isApi) return handleApi(inspection, call, path.slice(4));
    return talkToAgent(inspection, { ...call, params: [] }, path.slice(4));
  };
  /** Guessing is as slow as at the agent's own entrance. */
  const admit = (work: () => Promise<Caller>, { socket }: IncomingMessage): Promise<Caller> => {
    const limits = opened?.inspection.agents[0]?.service.callerLimits;
    return limits === undefined ? work() : limits.authentication(socket.remoteAddress ?? '', work);
  };
  /** Gives a cookie for the token of the link, and leads to the page without it, which says the rest. */
  const exchange = async (
    request: IncomingMessage,
    response: ServerResponse,
    given: readonly string[],
  ): Promise<void> => {
    try {
      await admit(() => token.holder(given), request);
      response.setHeader('set-cookie', token.cookieFor(request));
    } catch (error) {
      if (!(error instanceof AuthError)) throw error;
      opened?.inspection.agents[0]?.service.audit.denied(error, describeRequest(request));
    }
    const headers = {
      location: './',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    };
    response.writeHead(303, headers).end();
  };
  return {
    link: (url) => token.linkBelow(url),
    async handle(request, response, path, query) {
      if (path === root) {
        // Relative, for the server may be mounted below a path of its own.
        const [, search = ''] = /(?<search>\?.*)$/s.exec(request.url ?? '') ?? [];
        response.writeHead(308, { location: `inspect/${search}` }).end();
        return true;
      }
      if (!path.startsWith(`${root}/`)) return false;
      try {
        await serve(request, response, path.slice(root.length + 1), query);
      } catch (error) {
        refuse(opened, request, response, error);
      }
      return true;
    },
    open(inspected) {
      opened = {
        inspection: inspectionOf(options, inspected, closing.signal),
        ways: [
          tokenAccess(token),
          ...(inspected.access === undefined ? [] : [inspected.access]),
          ...inspected.agents.map(({ service }) => callersAccess(service.auth, options.isOperator)),
        ],
      };
    },
    close() {
      closing.abort();
      opened?.inspection.proxy?.close();
      opened = undefined;
    },
  };
}

function inspectionOf(
  options: InspectorOptions,
  { agents, store, push }: Inspected,
  closing: AbortSignal,
): Inspection {
  const { scheduler = storeScheduler(store), proxy = false, version = '', network } = options;
  const now = (): number => scheduler.now();
  const live = new Live({ store, scheduler });
  const attempts = new AttemptLog();
  const leave = push?.watch((attempt) => {
    attempts.add(attempt);
    live.notePush();
  });
  closing.addEventListener('abort', () => leave?.(), { once: true });
  const receiver = new WebhookReceiver({
    now,
    keys: () => agents.find(({ service }) => service.jwks !== undefined)?.service.jwks?.(),
    onCall: () => live.tell({ receiver: true }),
    ...(options.receiverLimit !== undefined && { limit: options.receiverLimit }),
  });
  const policy = typeof proxy === 'object' ? proxy.policy : undefined;
  const reach = agents[0]?.service.reach ?? new Reach(false);
  return {
    agents,
    agentOf(owner) {
      const found = agents.find(({ name }) => owner.startsWith(`[${JSON.stringify(name)},`));
      if (found !== undefined) return found;
      throw new LegateError('UNSUPPORTED_OPERATION', 'the agent of this task is served elsewhere');
    },
    store,
    push,
    attempts,
    receiver,
    live,
    network,
    proxy: proxy === false ? undefined : new AgentProxy({ reach, policy }),
    version,
    now,
    closing,
  };
}

function refuse(
  opened: Opened | undefined,
  request: IncomingMessage,
  response: ServerResponse,
  thrown: unknown,
): void {
  const error = toLegateError(thrown);
  const service = opened?.inspection.agents[0]?.service;
  if (error.code === 'INTERNAL') {
    service?.logger.error({ error: error.cause ?? error }, 'http.internal_error');
  }
  service?.audit.denied(error, describeRequest(request));
  if (response.headersSent) return void response.destroy();
  const { code, message, violations } = toPublicError(error);
  const body: ErrorView = {
    error: { code, message, ...(violations !== undefined && { violations }) },
  };
  // A browser would answer a challenge with a window of its own; the page asks for itself.
  const { 'www-authenticate': _challenge, ...headers } = errorHeaders(error);
  sendJson(response, statusOf(error.code).http, JSON.stringify(body), headers);
}
