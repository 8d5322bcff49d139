import type { Scheduler } from '../../tasks/index.ts';
import type { Invocation } from './invocation.ts';

/**
 * How a call is waited for.
 * @example
 * const options: WaitOptions = { signal: AbortSignal.timeout(30_000), onProgress: console.log };
 */
export interface WaitOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (text: string) => void | Promise<void>;
}

type Watcher = (news: { readonly invocation?: Invocation; readonly progress?: string }) => void;

/** How often to look for what another process heard, in milliseconds. */
const pollIntervalMs = 1_000;

/** Those in this process who wait for invocations. */
export class Watchers {
  readonly #find: (id: string) => Promise<Invocation | undefined>;
  readonly #scheduler: Scheduler;
  readonly #watchers = new Map<string, Set<Watcher>>();

  constructor(options: {
    find: (id: string) => Promise<Invocation | undefined>;
    scheduler: Scheduler;
  }) {
    this.#find = options.find;
    this.#scheduler = options.scheduler;
  }

  tell(id: string, news: Parameters<Watcher>[0]): void {
    for (const watcher of this.#watchers.get(id) ?? []) watcher(news);
  }

  /** Waits until an invocation is over or asks the user; undefined when it is not known. */
  async wait(
    id: string,
    { onProgress }: WaitOptions,
    signal: AbortSignal,
  ): Promise<Invocation | undefined> {
    const settled = Promise.withResolvers<Invocation | undefined>();
    const look = (): void => {
      this.#find(id).then((known) => {
        if (known === undefined || isSettled(known)) settled.resolve(known);
        else timer = this.#scheduler.after(pollIntervalMs, look);
      }, settled.reject);
    };
    let timer: ReturnType<Scheduler['after']> | undefined;
    const watcher: Watcher = ({ invocation, progress }) => {
      if (progress !== undefined) void onProgress?.(progress);
      if (invocation !== undefined && isSettled(invocation)) settled.resolve(invocation);
    };
    const abort = (): void => settled.reject(signal.reason as Error);
    const watchers = this.#watchers.get(id) ?? new Set();
    watchers.add(watcher);
    this.#watchers.set(id, watchers);
    signal.addEventListener('abort', abort, { once: true });
    try {
      signal.throwIfAborted();
      look();
      return await settled.promise;
    } finally {
      timer?.cancel();
      signal.removeEventListener('abort', abort);
      watchers.delete(watcher);
      if (watchers.size === 0) this.#watchers.delete(id);
    }
  }
}

function isSettled({ state, question }: Invocation): boolean {
  return state === 'ended' || (state === 'asking' && question?.answerer === 'user');
}
