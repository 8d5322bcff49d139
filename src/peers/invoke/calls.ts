import { LegateError } from '../../protocol/index.ts';
import type { Scheduler, Timer } from '../../tasks/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { until } from '../../time/index.ts';
import type { Invocation, PeerTransport } from './invocation.ts';
import type { InvocationStore } from './invocation-store.ts';
import type { InvokeTelemetry } from './invoke-telemetry.ts';

/**
 * How a call is waited for.
 * @example
 * const options: WaitOptions = { signal: AbortSignal.timeout(30_000), onProgress: console.log };
 */
export interface WaitOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (text: string) => void | Promise<void>;
}

export interface CallsOptions {
  readonly store: InvocationStore;
  readonly transports: readonly PeerTransport[];
  readonly telemetry: InvokeTelemetry;
  readonly scheduler: Scheduler;
  readonly logger: Logger;
  /** Aborts when the invoker stops. */
  readonly closing: AbortSignal;
  /** The deadline of an invocation is over, or was when the timer was set. */
  readonly onDue: (id: string) => void;
}

type Watcher = (news: { readonly invocation?: Invocation; readonly progress?: string }) => void;

/** The interval for polling the store for changes by other processes, in milliseconds. */
const pollIntervalMs = 1_000;
const longestTimerMs = 2 ** 31 - 1;
/** Delays before a cancellation is sent again, in milliseconds. After the last one, the next start retries it. */
const cancelDelaysMs = [1_000, 5_000, 30_000, 120_000, 600_000] as const;

/**
 * The calls to peers of this process: sets timers for changes in the store and notifies local
 * waiters.
 */
export class Calls {
  readonly #options: CallsOptions;
  readonly #timers = new Map<string, Timer>();
  readonly #watchers = new Map<string, Set<Watcher>>();

  constructor(options: CallsOptions) {
    this.#options = options;
  }

  find(id: string): Promise<Invocation | undefined> {
    return this.#options.store.find(id);
  }

  /** As `InvocationStore.change`. */
  async change(
    id: string,
    change: (invocation: Invocation) => Invocation | undefined,
  ): ReturnType<InvocationStore['change']> {
    const { store, telemetry, scheduler } = this.#options;
    let wasOver = false;
    const changed = await store.change(id, (current) => {
      wasOver = current.state === 'ended';
      return change(current);
    });
    if (changed?.isChanged !== true) return changed;
    const { invocation } = changed;
    this.time(invocation);
    if (invocation.outcome !== undefined && !wasOver) {
      telemetry.ended(invocation, invocation.outcome, scheduler.now());
    }
    this.#notify(id, { invocation });
    return changed;
  }

  /** Sends the message of an invocation in state `sending`. */
  async send(invocation: Invocation): Promise<Invocation> {
    this.time(invocation);
    const transport = this.transportOf(invocation);
    await this.#options.telemetry.within(invocation, () => transport.send(invocation));
    const sent = await this.change(invocation.id, (current) =>
      current.state === 'sending' && current.message.messageId === invocation.message.messageId
        ? { ...current, state: 'working' }
        : undefined,
    );
    return sent?.invocation ?? invocation;
  }

  /**
   * Sends a cancellation to the peer. A failure is retried later, by this process or the next, and
   * doesn't reject.
   */
  async cancelRemote(invocation: Invocation, attempt = 0): Promise<void> {
    const { telemetry, scheduler, logger, closing } = this.#options;
    const { id, agent } = invocation;
    try {
      const transport = this.transportOf(invocation);
      await telemetry.within(invocation, () => transport.cancel(invocation));
      await this.change(id, ({ mustCancel, ...rest }) => (mustCancel === true ? rest : undefined));
    } catch (error) {
      logger.warn({ invocation: id, agent, error }, 'peers.cancel.failed');
      const delay = cancelDelaysMs[attempt];
      if (delay === undefined || closing.aborted) return;
      const timer = scheduler.after(delay, () => {
        closing.removeEventListener('abort', forget);
        void this.cancelRemote(invocation, attempt + 1);
      });
      const forget = (): void => timer.cancel();
      closing.addEventListener('abort', forget, { once: true });
    }
  }

  transportOf({ transportKind, agent }: Invocation): PeerTransport {
    const found = this.#options.transports.find((each) => each.transportKind === transportKind);
    if (found !== undefined) return found;
    throw new LegateError(
      'PEER_UNREACHABLE',
      `${agent} can't be reached: this process has no ${transportKind} transport any more`,
    );
  }

  /** Passes a status message of the peer to local waiters. */
  progress(id: string, progress: string): void {
    this.#notify(id, { progress });
  }

  /** Waits until an invocation has ended or asks the user; undefined if it is unknown. */
  async wait(
    id: string,
    { onProgress }: WaitOptions,
    signal: AbortSignal,
  ): Promise<Invocation | undefined> {
    const settled = Promise.withResolvers<Invocation | undefined>();
    const look = (): void => {
      this.find(id).then((known) => {
        if (known === undefined || isSettled(known)) settled.resolve(known);
        else timer = this.#options.scheduler.after(pollIntervalMs, look);
      }, settled.reject);
    };
    let timer: Timer | undefined;
    const watcher: Watcher = ({ invocation, progress }) => {
      if (progress !== undefined) void onProgress?.(progress);
      if (invocation !== undefined && isSettled(invocation)) settled.resolve(invocation);
    };
    const watchers = this.#watchers.get(id) ?? new Set();
    watchers.add(watcher);
    this.#watchers.set(id, watchers);
    try {
      signal.throwIfAborted();
      look();
      return await until(settled.promise, signal);
    } finally {
      timer?.cancel();
      watchers.delete(watcher);
      if (watchers.size === 0) this.#watchers.delete(id);
    }
  }

  stop(): void {
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
  }

  /** Resets the timer of an invocation; a very long one fires early. */
  time({ id, state, deadline }: Invocation): void {
    const { scheduler, closing, onDue } = this.#options;
    this.#timers.get(id)?.cancel();
    this.#timers.delete(id);
    if (state === 'ended' || closing.aborted) return;
    const left = Math.min(Math.max(0, deadline - scheduler.now()), longestTimerMs);
    this.#timers.set(
      id,
      scheduler.after(left, () => onDue(id)),
    );
  }

  #notify(id: string, news: Parameters<Watcher>[0]): void {
    for (const watcher of this.#watchers.get(id) ?? []) watcher(news);
  }
}

function isSettled({ state, question }: Invocation): boolean {
  return state === 'ended' || (state === 'asking' && question?.answerer === 'user');
}
