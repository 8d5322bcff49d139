import type { IncomingMessage, ServerResponse } from 'node:http';
import { LegateError, statusOf, toLegateError, toPublicError } from '../../protocol/index.ts';
import { guardedFetch, httpsOrLoopbackPolicy } from '../../push/index.ts';
import { storeScheduler } from '../../tasks/index.ts';
import { describeRequest } from '../audit.ts';
import { type HandlerOptions, only } from '../handler.ts';
import { sendJson } from '../respond.ts';
import { defaultLimits } from '../service.ts';
import { errorHeaders } from '../statuses.ts';
import { admitOperator, callersAccess, type InspectorAccess } from './access.ts';
import { talkToAgent } from './agent-door.ts';
import { handleApi } from './api.ts';
import { AttemptLog } from './attempt-log.ts';
import type { Inspection } from './inspection.ts';
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
 */
export interface InspectorDoor {
  /** For `before` of a server: answers what is below `/inspect`, and nothing else. */
  readonly handle: NonNullable<HandlerOptions['before']>;
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
 * and talks to them. It is for operators: where the server asks callers who they are, an operator must
 * prove it too; where it asks nobody, only this machine may look.
 * @example
 * const inspector = inspectorDoor();
 * await using server = await serve(agent, { before: inspector.handle });
 * inspector.open({ agents: [{ name: agent.name, service: server.router.service }], store: server.router.store });
 */
export function inspectorDoor(options: InspectorOptions = {}): InspectorDoor {
  const closing = new AbortController();
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
      return page.send(request, response, path, inspection.proxy !== undefined);
    }
    const operator = await admitOperator(ways, request, query);
    const call = { request, response, query, operator, limits };
    if (isApi) return handleApi(inspection, call, path.slice(4));
    return talkToAgent(inspection, { ...call, params: [] }, path.slice(4));
  };
  return {
    async handle(request, response, path, query) {
      if (path === root) {
        // Relative, for the server may be mounted below a path of its own.
        response.writeHead(308, { location: 'inspect/' }).end();
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
  const policy = typeof proxy === 'object' ? proxy.policy : httpsOrLoopbackPolicy;
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
    proxy: proxy === false ? undefined : guardedFetch(policy),
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
