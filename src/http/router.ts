import type { Agent } from '../agents/index.ts';
import type { Authenticator } from '../auth/index.ts';
import type { Store } from '../store/index.ts';
import type { Engine } from '../tasks/index.ts';
import { openDoors } from './agent-doors.ts';
import type { Cards } from './cards.ts';
import type { Handler } from './handler.ts';
import type { PushService } from './push-service.ts';
import { agentOptionsOf, type RouterOptions } from './router-options.ts';
import type { Service } from './service.ts';
import { openShared } from './shared.ts';

/**
 * An agent's doors without a server of their own.
 * @example
 * const doors: Router = await router(agent, { url: 'https://example.com/agent' });
 * process.once('SIGTERM', () => {
 *   doors.leave();
 *   void doors.close({ graceMs: 10_000 });
 * });
 */
export interface Router extends AsyncDisposable {
  readonly handler: Handler;
  readonly engine: Engine;
  readonly store: Store;
  readonly cards: Cards;
  readonly push: PushService | undefined;
  /** What callers must prove, if anything. */
  readonly auth: Authenticator;
  /** What doors of other kinds need to serve the same agent beside this one. */
  readonly service: Service;
  /**
   * From now on `/ready` says no and every response closes its connection; everything else is served
   * as before.
   */
  leave(): void;
  /**
   * Lets turns end by themselves for `graceMs`, then hands them over. Streams end with their turns;
   * those that are left get a last comment.
   */
  drain(options: { readonly graceMs: number }): Promise<void>;
  /** Drains and lets go of everything. @default graceMs 0 */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/**
 * The doors of an agent as a `(req, res)` handler, for a server you have already.
 * @example
 * const { handler } = await router(agent, { url: 'https://example.com/agent' });
 * express().use('/agent', handler);
 */
export async function router(agent: Agent, options: RouterOptions = {}): Promise<Router> {
  const shared = await openShared(options);
  const { store, push, replica, readiness } = shared;
  const doors = await openDoors(agent, agentOptionsOf(options), shared, replica).catch(
    async (error: unknown) => {
      await shared.close();
      throw error;
    },
  );
  push?.start();
  let closed: Promise<void> | undefined;
  let isLeaving = false;
  const leave = (): void => {
    isLeaving = true;
    readiness.leave();
  };
  const shutDown = async (graceMs: number): Promise<void> => {
    leave();
    await doors.drain({ graceMs });
    // The claims of webhooks end with the replica, so they are settled before it retires.
    await push?.stop();
    await doors.engine.stop();
    await shared.close();
  };
  const close: Router['close'] = ({ graceMs = 0 } = {}) => (closed ??= shutDown(graceMs));
  return {
    ...doors,
    handler: (request, response) => {
      if (isLeaving) response.setHeader('connection', 'close');
      doors.handler(request, response);
    },
    store,
    push,
    leave,
    close,
    [Symbol.asyncDispose]: () => close(),
  };
}
