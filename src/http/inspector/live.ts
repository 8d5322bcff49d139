import { LegateError, sseComment, sseFrame } from '../../protocol/index.ts';
import { ownerKey, type Store } from '../../store/index.ts';
import type { Scheduler, Timer } from '../../tasks/index.ts';
import type { ApiCall, Inspection, Routes } from './inspection.ts';
import type { LiveNotice } from './model.ts';

/** A subscriber, and its conversations. */
export interface Viewer {
  /** Owner keys and context ids. */
  readonly contexts: readonly { readonly owner: string; readonly id: string }[];
  tell(notice: LiveNotice): void;
}

export interface LiveOptions {
  readonly store: Store;
  readonly scheduler: Scheduler;
  /** Pause between looks, in milliseconds. @default 500 */
  readonly pauseMs?: number;
}

/** Tasks looked at: the latest, which are those that change. */
const looked = 100;

/**
 * Notices what changes while somebody looks, and does nothing while nobody does. It looks again and
 * again instead of listening, so it sees what other replicas do as well.
 */
export class Live {
  readonly #options: LiveOptions;
  readonly #viewers = new Set<Viewer>();
  /** Versions of tasks, lengths of conversations; undefined before the first look. */
  #versions: Map<string, number> | undefined;
  readonly #lengths = new Map<string, number>();
  #deliveries = '';
  #hasPushed = false;
  #timer: Timer | undefined;
  #isLooking = false;

  constructor(options: LiveOptions) {
    this.#options = options;
  }

  /** Tells the viewer of changes until the function that is returned is called. */
  join(viewer: Viewer): () => void {
    this.#viewers.add(viewer);
    if (this.#viewers.size === 1) this.look();
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

  tell(notice: LiveNotice): void {
    for (const viewer of this.#viewers) viewer.tell(notice);
  }

  /** A webhook was called; the next notice says so. There may be many calls to one notice. */
  notePush(): void {
    this.#hasPushed = true;
  }

  /** Looks now instead of in a moment. */
  look(): void {
    if (this.#isLooking || this.#viewers.size === 0) return;
    this.#timer?.cancel();
    this.#isLooking = true;
    this.#lookOnce()
      // The operation that needs the store reports its failure; the next poll may succeed.
      .catch(() => {})
      .finally(() => {
        this.#isLooking = false;
        if (this.#viewers.size === 0) return;
        const { scheduler, pauseMs = 500 } = this.#options;
        this.#timer = scheduler.after(pauseMs, () => this.look());
      });
  }

  async #lookOnce(): Promise<void> {
    const { store } = this.#options;
    const { records } = await store.list({ limit: looked });
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
      this.tell({ ...(tasks.length > 0 && { tasks }), ...(isPushNew && { push: true as const }) });
    }
    await this.#lookAtContexts();
  }

  async #lookAtContexts(): Promise<void> {
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
      if (changed.length > 0) viewer.tell({ contexts: changed });
    }
    this.#lengths.clear();
    for (const [key, length] of lengths) this.#lengths.set(key, length);
  }
}

const maxViewers = 50;
const maxContexts = 50;

/** Notices of what changed, as a stream. */
export const liveRoutes: Routes = [['GET', 'live', follow]];

async function follow(inspection: Inspection, call: ApiCall): Promise<void> {
  const { live, closing, agent } = inspection;
  const { response, query, limits } = call;
  if (live.viewers >= maxViewers) {
    throw new LegateError('RATE_LIMITED', `${maxViewers} pages follow already; close one`, {
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
  response.write(sseComment('following'));
  await new Promise<void>((resolve) => {
    const tell = (notice: LiveNotice): void => {
      // A page that does not read misses notices; it asks for everything when it comes back.
      if (!response.writableNeedDrain) response.write(sseFrame({ data: JSON.stringify(notice) }));
    };
    const leave = live.join({ contexts, tell });
    const keepAlive = setInterval(() => {
      if (!response.writableNeedDrain) response.write(sseComment('keep-alive'));
    }, limits.keepAliveMs).unref();
    const end = (): void => {
      clearInterval(keepAlive);
      closing.removeEventListener('abort', end);
      leave();
      response.end();
      resolve();
    };
    closing.addEventListener('abort', end, { once: true });
    response.once('close', end);
    if (closing.aborted) end();
  });
}
