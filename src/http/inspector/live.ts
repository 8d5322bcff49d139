import { once } from 'node:events';
import { LegateError, sseComment, sseFrame } from '../../protocol/index.ts';
import { ownerKey, type Store } from '../../store/index.ts';
import type { Scheduler, Timer } from '../../tasks/index.ts';
import type { ApiCall, Inspection, Routes } from './inspection.ts';
import type { LiveNotice } from './model.ts';

/** A connected page, and the conversation that it shows. */
interface Viewer {
  /** The owner key and the context id, and the length of the log at the last notification. */
  readonly context: { readonly owner: string; readonly id: string; seen: number } | undefined;
  readonly notify: (notice: LiveNotice) => void;
}

interface LiveOptions {
  readonly store: Store;
  readonly scheduler: Scheduler;
}

/** Pause between polls, in milliseconds. */
const pauseMs = 500;
/** Maximum numbers of tasks and deliveries polled. Only recent tasks change. */
const maxTasks = 100;
const maxDeliveries = 200;

/** Notifies viewers of changes in the store. It polls, so that it also finds changes by other replicas. */
export class Live {
  readonly #options: LiveOptions;
  readonly #viewers = new Set<Viewer>();
  /** Versions of tasks and deliveries at the last poll; undefined before the first. */
  #versions: ReadonlyMap<string, string | number> | undefined;
  #hasPushed = false;
  #timer: Timer | undefined;
  #isPolling = false;

  constructor(options: LiveOptions) {
    this.#options = options;
  }

  /** Notifies the viewer of changes until the returned function is called. */
  join(viewer: Viewer): () => void {
    this.#viewers.add(viewer);
    if (this.#viewers.size === 1) this.poll();
    return () => {
      this.#viewers.delete(viewer);
      if (this.#viewers.size > 0) return;
      this.#timer?.cancel();
      this.#versions = undefined;
    };
  }

  get viewers(): number {
    return this.#viewers.size;
  }

  publish(notice: LiveNotice): void {
    for (const viewer of this.#viewers) viewer.notify(notice);
  }

  /** A webhook was called; the next notice covers it. */
  notePush(): void {
    this.#hasPushed = true;
  }

  /** Polls now instead of after the pause. */
  poll(): void {
    if (this.#isPolling || this.#viewers.size === 0) return;
    this.#timer?.cancel();
    this.#isPolling = true;
    this.#pollOnce()
      // Operations that use the store report its failures; the next poll can succeed.
      .catch(() => {})
      .finally(() => {
        this.#isPolling = false;
        if (this.#viewers.size === 0) return;
        this.#timer = this.#options.scheduler.after(pauseMs, () => this.poll());
      });
  }

  async #pollOnce(): Promise<void> {
    const { store } = this.#options;
    const { records } = await store.list({ limit: maxTasks });
    const deliveries = await store.push.deliveries({ limit: maxDeliveries });
    const versions = new Map<string, string | number>(
      records.map(({ id, version }) => [`task ${id}`, version]),
    );
    versions.set(
      'push',
      deliveries.map(({ id, attempts, state }) => `${id}:${attempts}:${state}`).join(),
    );
    for (const { context, notify } of this.#viewers) {
      if (context === undefined) continue;
      const length = await this.logLength(context);
      if (length === context.seen) continue;
      context.seen = length;
      notify({ context: context.id });
    }
    const before = this.#versions;
    this.#versions = versions;
    if (before === undefined) return;
    const isChanged = (key: string): boolean => before.get(key) !== versions.get(key);
    const tasks = records
      .filter(({ id }) => isChanged(`task ${id}`))
      .map(({ id, contextId }) => ({ id, contextId }));
    const isPushChanged = this.#hasPushed || isChanged('push');
    this.#hasPushed = false;
    if (tasks.length > 0) this.publish({ tasks });
    if (isPushChanged) this.publish({ push: true });
  }

  /** The number of events in the log of a conversation. */
  async logLength(context: { readonly owner: string; readonly id: string }): Promise<number> {
    const found = await this.#options.store.loadContext(context.owner, context.id);
    return found?.logLength ?? 0;
  }
}

const maxViewers = 50;

/** Notices of changes, as a stream. */
export const liveRoutes: Routes = [['GET', 'live', follow]];

async function follow(inspection: Inspection, call: ApiCall): Promise<void> {
  const { live, closing, agent } = inspection;
  const { response, query, limits } = call;
  const owner = query.get('owner') ?? ownerKey({ agent, tenant: '', subject: '' });
  const id = query.get('context');
  const context =
    id === null ? undefined : { owner, id, seen: await live.logLength({ owner, id }) };
  // Nothing is awaited from here to `join`: a page that has disconnected is not a viewer.
  if (response.destroyed) return;
  if (live.viewers >= maxViewers) {
    throw new LegateError('RATE_LIMITED', `${maxViewers} pages are connected already; close one`, {
      retryAfter: 30,
    });
  }
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store, no-transform',
    'x-content-type-options': 'nosniff',
  });
  response.write(sseComment('connected'));
  const send = (frame: string): void => {
    // A page that does not read misses notices. It reloads everything when it reconnects.
    if (!response.writableNeedDrain) response.write(frame);
  };
  const leave = live.join({
    context,
    notify: (notice) => send(sseFrame({ data: JSON.stringify(notice) })),
  });
  const keepAlive = setInterval(() => send(sseComment('keep-alive')), limits.keepAliveMs).unref();
  try {
    await once(response, 'close', { signal: closing });
  } catch (error) {
    if (!closing.aborted) throw error;
  } finally {
    clearInterval(keepAlive);
    leave();
    response.end();
  }
}
