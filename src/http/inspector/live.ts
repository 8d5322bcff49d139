import { once } from 'node:events';
import { LegateError, sseComment, sseFrame } from '../../protocol/index.ts';
import { ownerKey, type Store } from '../../store/index.ts';
import type { Scheduler, Timer } from '../../tasks/index.ts';
import type { ApiCall, Inspection, Routes } from './inspection.ts';
import type { LiveNotice } from './model.ts';

/** A subscriber, and its conversations. */
interface Viewer {
  /** Owner keys and context ids. */
  readonly contexts: readonly { readonly owner: string; readonly id: string }[];
  notify(notice: LiveNotice): void;
}

interface LiveOptions {
  readonly store: Store;
  readonly scheduler: Scheduler;
}

/** Pause between polls, in milliseconds. */
const pauseMs = 500;
/** Tasks that are polled: the latest, which are those that change. */
const maxTasks = 100;

/** Publishes changes of the store while there are viewers. Polls, so that it sees all replicas. */
export class Live {
  readonly #options: LiveOptions;
  readonly #viewers = new Set<Viewer>();
  /** Versions of tasks, lengths of conversations; undefined before the first poll. */
  #versions: Map<string, number> | undefined;
  readonly #lengths = new Map<string, number>();
  #deliveries = '';
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
      this.#timer = undefined;
      this.#versions = undefined;
      this.#lengths.clear();
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
      // The operation that needs the store reports its failure; the next poll may succeed.
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
    const versions = new Map(records.map(({ id, version }) => [id, version]));
    const before = this.#versions;
    this.#versions = versions;
    const tasks = records
      .filter(({ id, version }) => before !== undefined && before.get(id) !== version)
      .map(({ id, contextId }) => ({ id, contextId }));
    const deliveries = await store.push.deliveries({ limit: 200 });
    const marks = deliveries.map(({ id, attempts, state }) => `${id}:${attempts}:${state}`).join();
    const isPushNew = before !== undefined && (marks !== this.#deliveries || this.#hasPushed);
    this.#hasPushed = false;
    this.#deliveries = marks;
    if (tasks.length > 0 || isPushNew) {
      this.publish({
        ...(tasks.length > 0 && { tasks }),
        ...(isPushNew && { push: true as const }),
      });
    }
    await this.#pollContexts();
  }

  async #pollContexts(): Promise<void> {
    const { store } = this.#options;
    const lengths = new Map<string, number>();
    for (const viewer of this.#viewers) {
      const changed: string[] = [];
      for (const { owner, id } of viewer.contexts) {
        const key = `${owner} ${id}`;
        const length = lengths.get(key) ?? (await store.loadContext(owner, id))?.logLength ?? 0;
        lengths.set(key, length);
        const known = this.#lengths.get(key);
        if (known !== undefined && known !== length) changed.push(id);
      }
      if (changed.length > 0) viewer.notify({ contexts: changed });
    }
    this.#lengths.clear();
    for (const [key, length] of lengths) this.#lengths.set(key, length);
  }
}

const maxViewers = 50;
const maxContexts = 50;

/** Notices of changes, as a stream. */
export const liveRoutes: Routes = [['GET', 'live', follow]];

async function follow(inspection: Inspection, call: ApiCall): Promise<void> {
  const { live, closing, agent } = inspection;
  const { response, query, limits } = call;
  if (live.viewers >= maxViewers) {
    throw new LegateError('RATE_LIMITED', `${maxViewers} pages are connected already; close one`, {
      retryAfter: 30,
    });
  }
  const owner = ownerKey({ agent, tenant: '', subject: '' });
  const contexts = query
    .getAll('context')
    .slice(0, maxContexts)
    .map((id) => ({ owner, id }));
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store, no-transform',
    'x-content-type-options': 'nosniff',
  });
  response.write(sseComment('connected'));
  const send = (frame: string): void => {
    // A page that does not read misses notices; it reloads everything when it reconnects.
    if (!response.writableNeedDrain) response.write(frame);
  };
  const leave = live.join({
    contexts,
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
