import type { Caller } from '../../agents/index.ts';
import { LegateError, toLegateError } from '../../protocol/index.ts';
import type { Replica } from '../../store/index.ts';
import { retryWhileUnavailable, type Scheduler, type Timer } from '../../tasks/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { retry, sleep, until } from '../../time/index.ts';
import type { WorkingMemory } from '../memory/working-memory.ts';
import { type AnswerContent, outcomeNotice, saveResult } from './answers.ts';
import type { Conversations } from './conversations.ts';
import type { Invocation, InvocationOutcome, PeerTransport } from './invocation.ts';
import type { InvocationStore } from './invocation-store.ts';
import type { InvokeTelemetry } from './invoke-telemetry.ts';

/**
 * Options for waiting on a call.
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
  readonly replica: Replica;
  readonly conversations: Conversations;
  readonly memory: (caller: Caller) => WorkingMemory;
  /** How long results are kept in working memory, in milliseconds. */
  readonly resultTtlMs: number;
  readonly telemetry: InvokeTelemetry;
  readonly scheduler: Scheduler;
  readonly logger: Logger;
  /** Aborts when the invoker stops. */
  readonly closing: AbortSignal;
}

interface CloseOptions {
  /** Doesn't notify the conversation. */
  readonly isQuiet?: boolean;
  /** The peer's task has to be cancelled. */
  readonly mustCancel?: boolean;
}

type Watcher = (news: { readonly invocation?: Invocation; readonly progress?: string }) => void;

/** The interval for polling the store for changes by other processes, in milliseconds. */
const pollIntervalMs = 1_000;
/** Limits for the status messages of one invocation: remembered ids, and texts buffered for a waiter. */
const MAX_SEEN = 10_000;
const MAX_UNHEARD = 100;
/** Delays before a cancellation is sent again, in milliseconds. After the last one, the next start retries it. */
const cancelDelaysMs = [1_000, 5_000, 30_000, 120_000, 600_000];

/**
 * Manages the calls of this process to peers: sends them, stores their outcomes, sets their timers, and
 * notifies conversations and local waiters.
 */
export class Calls {
  readonly #options: CallsOptions;
  readonly #timers = new Map<string, Timer>();
  readonly #watchers = new Map<string, Set<Watcher>>();
  /** The status messages of open invocations: delivered ids, and texts buffered for a waiter. */
  readonly #progress = new Map<string, { seen: Set<string>; unheard: string[] }>();
  /** Whether a call has timed out whose peer may still answer. */
  hasTimedOut = false;

  constructor(options: CallsOptions) {
    this.#options = options;
  }

  find(id: string): Promise<Invocation | undefined> {
    return this.#options.store.find(id);
  }

  /** Like `InvocationStore.change`; also updates timers, telemetry and waiters. */
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
    this.#time(invocation);
    if (invocation.outcome !== undefined && !wasOver) {
      telemetry.ended(invocation, invocation.outcome, scheduler.now());
    }
    if (invocation.state === 'ended') this.#progress.delete(id);
    this.#watch(id, { invocation });
    return changed;
  }

  /** Sends the message of an invocation in state `sending`. */
  async send(invocation: Invocation): Promise<Invocation> {
    this.#time(invocation);
    const transport = this.transportOf(invocation);
    await this.#options.telemetry.within(invocation, () => transport.send(invocation));
    const sent = await this.change(invocation.id, (current) =>
      current.state === 'sending' && current.message.messageId === invocation.message.messageId
        ? { ...current, state: 'working' }
        : undefined,
    );
    return sent?.invocation ?? invocation;
  }

  /** Sends a cancellation to the peer. Resolves after the first attempt; retries run in the background. */
  cancelRemote(invocation: Invocation): Promise<void> {
    const { telemetry, scheduler, logger, closing } = this.#options;
    const { id, agent } = invocation;
    const attempted = Promise.withResolvers<void>();
    const cancel = async (): Promise<void> => {
      const transport = this.transportOf(invocation);
      await telemetry.within(invocation, () => transport.cancel(invocation));
      await this.change(id, ({ mustCancel, ...rest }) => (mustCancel === true ? rest : undefined));
    };
    const failed = ({ error }: { readonly error: unknown }): void => {
      if (!closing.aborted) logger.warn({ invocation: id, agent, error }, 'peers.cancel.failed');
      attempted.resolve();
    };
    retry(cancel, {
      delays: cancelDelaysMs,
      signal: closing,
      sleep: (delay, signal) => sleep(delay, signal, scheduler),
      onRetry: failed,
    }).then(attempted.resolve, (error: unknown) => failed({ error }));
    return attempted.promise;
  }

  transportOf({ transportKind, agent }: Invocation): PeerTransport {
    const found = this.#options.transports.find((each) => each.transportKind === transportKind);
    if (found !== undefined) return found;
    throw new LegateError(
      'PEER_UNREACHABLE',
      `${agent} can't be reached: this process has no ${transportKind} transport any more`,
    );
  }

  /** Passes a status message of the peer to the conversation and to local waiters, once. */
  async progress(
    invocation: Invocation,
    { text, id: messageId }: { readonly text: string; readonly id?: string },
  ): Promise<void> {
    const { id, state, mode } = invocation;
    if (state === 'ended' || text === '') return;
    const progress = this.#progress.get(id) ?? { seen: new Set(), unheard: [] };
    if (messageId !== undefined && progress.seen.has(messageId)) return;
    this.#progress.set(id, progress);
    if (messageId !== undefined && progress.seen.size < MAX_SEEN) progress.seen.add(messageId);
    const isHeard = this.#watchers.has(id);
    if (isHeard) this.#watch(id, { progress: text });
    // The waiter starts after the message is sent: the peer may be faster.
    else if (mode === 'wait' && progress.unheard.length < MAX_UNHEARD) progress.unheard.push(text);
    await this.#options.conversations.progress?.(invocation, text);
  }

  /** Ends an invocation, once; returns undefined if it had already ended. */
  async close(
    id: string,
    outcome: InvocationOutcome,
    { isQuiet = false, mustCancel = false }: CloseOptions = {},
  ): Promise<Invocation | undefined> {
    const { replica } = this.#options;
    const ended = await this.change(id, (current) =>
      current.state === 'ended'
        ? undefined
        : {
            ...current,
            state: 'ended',
            outcome,
            // A waiter in another process sets this flag when it has the outcome.
            isNotified: isQuiet || (current.mode === 'wait' && current.process === replica.id),
            // In the same write, so that a crash doesn't leave the peer's task running.
            ...(mustCancel && { mustCancel }),
          },
    );
    if (ended?.isChanged !== true) return undefined;
    const { invocation } = ended;
    if (invocation.isNotified !== true && !(await this.#isWaitedFor(invocation)))
      await this.notify(invocation);
    return invocation;
  }

  /** Ends an invocation and cancels the peer's task. */
  async abandon(id: string, outcome: InvocationOutcome, isQuiet = false): Promise<void> {
    const ended = await this.close(id, outcome, { isQuiet, mustCancel: true });
    if (ended !== undefined) await this.cancelRemote(ended);
  }

  /** The peer or its transport failed. */
  async fail({ id, agent }: Invocation, error: Error): Promise<void> {
    this.#options.logger.warn({ invocation: id, agent, error }, 'peers.invocation.failed');
    await this.close(id, { end: 'error', text: toLegateError(error).message, data: [] });
  }

  /** The peer has finished. A result after the timeout still counts; a confirmed cancellation doesn't. */
  async finish(invocation: Invocation, content: AnswerContent): Promise<void> {
    const { id, state, outcome: earlier } = invocation;
    if (state !== 'ended') {
      await this.close(id, await this.#outcomeOf(invocation, content));
      return;
    }
    if (earlier?.end !== 'timed-out' || content.state === 'TASK_STATE_CANCELED') return;
    const outcome = await this.#outcomeOf(invocation, content);
    const late = await this.change(id, (current) =>
      current.outcome?.end === 'timed-out' ? { ...current, outcome } : undefined,
    );
    if (late?.isChanged !== true) return;
    const text = outcomeNotice(invocation, outcome, true);
    const notice = { id: `${id} late`, text, outcome };
    await this.#options.conversations.ended?.(late.invocation, notice);
  }

  /** Notifies the conversation of the outcome. A failure is retried after a restart. */
  async notify(invocation: Invocation): Promise<void> {
    const { conversations, logger } = this.#options;
    const { id, outcome } = invocation;
    if (outcome === undefined) return;
    try {
      const text = outcomeNotice(invocation, outcome);
      await conversations.ended?.(invocation, { id: `${id} result`, text, outcome });
      await this.change(id, (current) => ({ ...current, isNotified: true }));
    } catch (error) {
      logger.error({ invocation: id, error }, 'peers.outcome.notify_failed');
    }
  }

  /** Waits until an invocation has ended or asks the user; undefined if it is unknown. */
  async wait(
    id: string,
    { onProgress }: WaitOptions,
    signal: AbortSignal,
  ): Promise<Invocation | undefined> {
    const settled = Promise.withResolvers<Invocation | undefined>();
    let isOver = false;
    const { scheduler, logger } = this.#options;
    const tell = (text: string): void => {
      const told = async (): Promise<void> => onProgress?.(text);
      told().catch((error: unknown) => {
        logger.warn({ invocation: id, error }, 'peers.progress.failed');
      });
    };
    const look = (): void => {
      retryWhileUnavailable(scheduler, () => this.find(id), { signal }).then((known) => {
        if (known === undefined || isSettled(known)) settled.resolve(known);
        else if (!isOver) timer = scheduler.after(pollIntervalMs, look);
      }, settled.reject);
    };
    let timer: Timer | undefined;
    const watcher: Watcher = ({ invocation, progress }) => {
      if (progress !== undefined) tell(progress);
      if (invocation !== undefined && isSettled(invocation)) settled.resolve(invocation);
    };
    const watchers = this.#watchers.get(id) ?? new Set();
    watchers.add(watcher);
    this.#watchers.set(id, watchers);
    try {
      for (const text of this.#progress.get(id)?.unheard.splice(0) ?? []) tell(text);
      signal.throwIfAborted();
      look();
      return await until(settled.promise, signal);
    } finally {
      isOver = true;
      timer?.cancel();
      watchers.delete(watcher);
      if (watchers.size === 0) this.#watchers.delete(id);
    }
  }

  stop(): void {
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
  }

  /** Resets the timer of an invocation. */
  #time({ id, state, deadline }: Invocation): void {
    const { scheduler, closing } = this.#options;
    this.#timers.get(id)?.cancel();
    this.#timers.delete(id);
    if (state === 'ended' || closing.aborted) return;
    const left = Math.max(0, deadline - scheduler.now());
    this.#timers.set(
      id,
      scheduler.after(left, () => this.#expire(id)),
    );
  }

  /** Not queued behind the events of the invocation, because these may cause the delay. */
  #expire(id: string): void {
    const { scheduler, logger } = this.#options;
    const expire = async (): Promise<void> => {
      const invocation = await this.find(id);
      if (invocation === undefined || invocation.state === 'ended') return;
      if (invocation.deadline > scheduler.now()) return this.#time(invocation);
      const text = `Agent '${invocation.agent}' did not answer in time; the task was cancelled.`;
      this.hasTimedOut = true;
      await this.abandon(id, { end: 'timed-out', text, data: [] });
    };
    expire().catch((error: unknown) => {
      logger.error({ invocation: id, error }, 'peers.timeout.failed');
    });
  }

  /** Whether another replica waits for the outcome; if it dies, the replica that takes over notifies. */
  async #isWaitedFor({ mode, process }: Invocation): Promise<boolean> {
    const { replica } = this.#options;
    if (mode !== 'wait' || process === undefined || process === replica.id) return false;
    return (await replica.dead([process])).size === 0;
  }

  async #outcomeOf(invocation: Invocation, content: AnswerContent): Promise<InvocationOutcome> {
    const { resultTtlMs: ttlMs, memory, logger } = this.#options;
    const { end, text, data } = content;
    const options = { memory: memory(invocation.session.caller), ttlMs, logger };
    const keys = await saveResult(invocation, content, options);
    return { end, text, data, ...(keys !== undefined && { keys }) };
  }

  #watch(id: string, news: Parameters<Watcher>[0]): void {
    for (const watcher of this.#watchers.get(id) ?? []) watcher(news);
  }
}

function isSettled({ state, question }: Invocation): boolean {
  return state === 'ended' || (state === 'asking' && question?.answerer === 'user');
}
