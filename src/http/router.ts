import type { Agent } from '../agents/index.ts';
import { type AgentEndpoints, type Endpoints, openEndpoints } from './endpoints.ts';
import type { RouterOptions } from './options.ts';

/**
 * An agent's endpoints without a server of their own.
 * @example
 * const endpoints: Router = await router(agent, { url: 'https://example.com/agent' });
 * process.once('SIGTERM', () => {
 *   endpoints.leave();
 *   void endpoints.close({ graceMs: 10_000 });
 * });
 */
export interface Router
  extends AsyncDisposable, AgentEndpoints, Pick<Endpoints, 'store' | 'push' | 'drain' | 'close'> {
  /**
   * From now on `/ready` says no and every response closes its connection; everything else is served
   * as before.
   */
  leave(): void;
}

/**
 * The endpoints of an agent as a `(req, res)` handler, for a server you have already.
 * @example
 * const { handler } = await router(agent, { url: 'https://example.com/agent' });
 * express().use('/agent', handler);
 */
export async function router(agent: Agent, options: RouterOptions = {}): Promise<Router> {
  const { agents, store, push, readiness, drain, close } = await openEndpoints(
    [{ agent, options }],
    options,
  );
  const [endpoints] = agents;
  if (endpoints === undefined) throw new TypeError('the agent has no endpoints');
  return {
    ...endpoints,
    handler(request, response) {
      if (readiness.isLeaving) response.setHeader('connection', 'close');
      endpoints.handler(request, response);
    },
    store,
    push,
    leave: () => readiness.leave(),
    drain,
    close,
    [Symbol.asyncDispose]: () => close(),
  };
}
