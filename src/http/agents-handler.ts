import { LegateError, toLegateError, toRestError } from '../protocol/index.ts';
import { describeRequest } from './audit.ts';
import { catalogueOf, cataloguePath, sendCatalogue } from './catalogue.ts';
import { allowOrigin } from './cors.ts';
import type { AgentDoors } from './agent-doors.ts';
import { authenticate } from './entrance.ts';
import { type Handler, only, sendKeys, sendWell } from './handler.ts';
import { sendJson } from './respond.ts';
import { errorHeaders } from './statuses.ts';
import type { ReadyReport } from './readiness.ts';

export interface ManyAgents {
  /** By the first segment of their paths. */
  readonly doors: ReadonlyMap<string, AgentDoors>;
  /** The root's own address, without a slash at the end. */
  readonly url: string;
  readonly isReady: () => Promise<ReadyReport>;
}

/** Leads below `/{agent}` to the doors of that agent; at the root are the catalogue and health. */
export function createAgentsHandler({ doors, url, isReady }: ManyAgents): Handler {
  const host = new URL(url).hostname;
  const listed = Array.from(doors, ([name, { cards }]) => ({ name, url: `${url}/${name}`, cards }));
  // What is true of all agents is asked of the first.
  const [first] = doors.values();
  const route: (...args: Parameters<Handler>) => Promise<void> = async (request, response) => {
    const { url: target = '/', method = 'GET' } = request;
    const [, segment = '', rest = ''] = /^\/([^/?]*)(.*)$/s.exec(target) ?? [];
    const inner = doors.get(segment);
    if (inner !== undefined) {
      // As frameworks do it that mount handlers below a path.
      request.url = rest.startsWith('/') ? rest : `/${rest}`;
      return inner.handler(request, response);
    }
    const service = first?.service;
    if (service === undefined) throw nothingAt(target);
    if (allowOrigin(service.corsOrigins, request, response)) return;
    const mark = target.indexOf('?');
    const path = mark < 0 ? target : target.slice(0, mark);
    if (path === cataloguePath) {
      only(method, response, 'GET', 'HEAD');
      const query = new URLSearchParams(mark < 0 ? '' : target.slice(mark + 1));
      if (service.protectsCard) await authenticate(service, request, response, query);
      return sendCatalogue(request, response, catalogueOf(host, listed), service.protectsCard);
    }
    if (path === '/.well-known/jwks.json' && service.jwks !== undefined) {
      only(method, response, 'GET', 'HEAD');
      return sendKeys(response, service.jwks());
    }
    if (path === service.metricsDoor?.path) {
      only(method, response, 'GET', 'HEAD');
      const query = new URLSearchParams(mark < 0 ? '' : target.slice(mark + 1));
      return service.metricsDoor.send(service, request, response, query);
    }
    if (path === '/health' || path === '/ready') {
      only(method, response, 'GET', 'HEAD');
      return sendWell(response, path === '/health' ? { isReady: true } : await isReady());
    }
    throw nothingAt(path);
  };
  return (request, response) => {
    route(request, response).catch((thrown: unknown) => {
      const error = toLegateError(thrown);
      first?.service.audit.denied(error, describeRequest(request));
      if (error.code === 'INTERNAL') {
        first?.service.logger.error({ error: error.cause ?? error }, 'http.internal_error');
      }
      const { status, body } = toRestError(error);
      sendJson(response, status, JSON.stringify(body), errorHeaders(error));
    });
  };
}

function nothingAt(path: string): LegateError {
  return new LegateError(
    'ROUTE_NOT_FOUND',
    `there is no agent at ${path.slice(0, 200)}; ${cataloguePath} lists those there are`,
  );
}
