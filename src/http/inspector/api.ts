import { LegateError } from '../../protocol/index.ts';
import { type ApiCall, reply } from './api-call.ts';
import { cardRoutes } from './api-cards.ts';
import { conversationRoutes } from './api-conversations.ts';
import { liveRoutes } from './api-live.ts';
import { networkRoutes } from './api-network.ts';
import { proxyRoutes } from './api-proxy.ts';
import { pushRoutes } from './api-push.ts';
import { taskRoutes } from './api-tasks.ts';
import type { Inspection, Route } from './inspection.ts';
import type { AboutView } from './model.ts';

/** By method and path below `api/`; `{}` stands for any one segment. */
const routes: readonly (readonly [string, Route])[] = [
  ['GET about', about],
  ...taskRoutes,
  ...pushRoutes,
  ...conversationRoutes,
  ...networkRoutes,
  ...cardRoutes,
  ...liveRoutes,
  ...proxyRoutes,
];
const compiled = routes.map(([key, route]) => {
  const [method = '', pattern = ''] = key.split(' ');
  return { method, segments: pattern.split('/'), route };
});

/** Serves a request to the API. Throws where there is no such thing. */
export async function handleApi(
  inspection: Inspection,
  call: Omit<ApiCall, 'params'>,
  path: string,
): Promise<void> {
  const given = path.split('/');
  const fitting = compiled.filter(
    ({ segments }) =>
      segments.length === given.length &&
      segments.every((segment, index) => segment === '{}' || segment === given[index]),
  );
  const method = call.request.method === 'HEAD' ? 'GET' : call.request.method;
  const found = fitting.find((one) => one.method === method);
  if (found === undefined) {
    const allowed = fitting.map((one) => one.method).join(', ');
    if (allowed !== '') {
      call.response.setHeader('allow', allowed);
      throw new LegateError('METHOD_NOT_ALLOWED', `use ${allowed}`);
    }
    throw new LegateError('ROUTE_NOT_FOUND', `there is nothing at ${path.slice(0, 200)}`);
  }
  const params = given.filter((_, index) => found.segments[index] === '{}').map(decode);
  await found.route(inspection, { ...call, params });
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new LegateError('ROUTE_NOT_FOUND', 'the path is not well-formed');
  }
}

async function about(inspection: Inspection, { response, operator }: ApiCall): Promise<void> {
  const view: AboutView = {
    version: inspection.version,
    agents: inspection.agents.map(({ name, service, assistant }) => ({
      name,
      card: service.cards.current,
      isAssistant: assistant !== undefined,
    })),
    store: inspection.store.driver,
    hasPush: inspection.push !== undefined,
    hasNetwork: inspection.network !== undefined,
    hasProxy: inspection.proxy !== undefined,
    receiverKey: inspection.receiver.key,
    operator: operator.subject,
  };
  reply(response, view);
}
