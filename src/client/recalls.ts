import { LegateError, type Message } from '../protocol/index.ts';
import { Deadline } from '../time/index.ts';
import type { RecallOptions } from './options.ts';
import type { Peer } from './peer.ts';
import { Recall } from './recall.ts';
import { Search } from './search.ts';
import { timedOut } from './within.ts';

/** Of one client. Beyond that a message is left to itself, as it would be without recalls. */
const mostRecalls = 100;
const defaultTimeoutMs = 30_000;

export interface WatchOptions {
  /** Aborts when the sender gives up. */
  readonly givenUp: AbortSignal;
  /** What the sender wishes for that case. */
  readonly recall: RecallOptions | undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;
}

/**
 * Messages that are called back: their sender gave up before the peer named the task, so the task
 * has to be found before it can be cancelled. In the background, bounded in number and time.
 */
export class Recalls {
  readonly #running = new Map<Promise<void>, Deadline>();

  /** Watches over one message. A message to a task that is known needs none of it. */
  watch(peer: Peer, message: Message, options: WatchOptions): Recall | undefined {
    const { givenUp, recall: wish, headers } = options;
    if (wish === undefined || message.taskId !== undefined) return undefined;
    const { isMeant = () => true, onFailure } = wish;
    const take = (recall: Recall): boolean => {
      if (!isMeant(givenUp.reason)) return false;
      if (this.#running.size >= mostRecalls) {
        const why = `${mostRecalls} messages are being called back: message ${message.messageId} is not`;
        onFailure?.(new LegateError('UNAVAILABLE', why));
        return false;
      }
      this.#start(new Search(peer, recall, headers), wish);
      return true;
    };
    return new Recall({ message, givenUp, take });
  }

  /** Resolves when the last is over; they may take no longer than so many milliseconds. */
  async end(graceMs: number): Promise<void> {
    const ms = Math.max(1, graceMs);
    for (const deadline of this.#running.values()) {
      deadline.restart({ milliseconds: ms, reason: () => late(ms) });
    }
    await Promise.all(this.#running.keys());
  }

  #start(search: Search, { timeoutMs = defaultTimeoutMs, onFailure }: RecallOptions): void {
    const deadline = new Deadline({ milliseconds: timeoutMs, reason: () => late(timeoutMs) });
    const run = async (): Promise<void> => {
      try {
        const taskId = await search.find(deadline.signal);
        if (taskId !== undefined) await search.cancel(taskId, deadline.signal);
      } catch (error) {
        onFailure?.(error);
      } finally {
        deadline.close();
        search.close();
        this.#running.delete(running);
      }
    };
    // Not before the sender is let go.
    const running = Promise.resolve().then(run);
    this.#running.set(running, deadline);
  }
}

function late(ms: number): LegateError {
  return timedOut('a message that was given up could not be called back', ms);
}
