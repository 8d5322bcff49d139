import { isTerminal, LegateError, type Task } from '../protocol/index.ts';
import { backoff, Deadline, until } from '../time/index.ts';
import type { Peer } from './peer.ts';
import type { Recall } from './recall.ts';
import { isTransient } from './retry.ts';
import { taskOfMessage } from './task-of-message.ts';

/** Before each look: most peers name the task sooner by themselves. */
const pauses = { initialMs: 250, maximumMs: 5_000 };
const mostLooks = 12;
/**
 * Finds the task of a message that was given up, in two ways at once; the first to find it counts.
 *
 * The connection stays open: whatever comes over it names the task, in every binding and version.
 * Meanwhile the tasks are looked through for one whose history has the message: that finds the task
 * of a peer that tells nothing before its first result, and also after a break. Message ids are ours
 * and unique, so nobody else's task is taken for it.
 *
 * The third way, to send the message again and be told of its task, is not gone: a peer that does
 * not know a repetition for what it is would do the work twice.
 */
export class Search {
  readonly #peer: Peer;
  readonly #recall: Recall;
  readonly #headers: Readonly<Record<string, string>> | undefined;

  constructor(peer: Peer, recall: Recall, headers: Readonly<Record<string, string>> | undefined) {
    this.#peer = peer;
    this.#recall = recall;
    this.#headers = headers;
  }

  /** Undefined where the message led to no task. Rejects where that stays open. */
  async find(givenUp: AbortSignal): Promise<string | undefined> {
    const looking = new Deadline({ signal: givenUp });
    const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
    const told = this.#recall.answer().then((answer) => {
      if (answer.kind !== 'unknown') resolve(answer.kind === 'task' ? answer.id : undefined);
    });
    const seen = this.#look(looking.signal).then((task) => {
      if (task !== undefined) resolve(isTerminal(task.status.state) ? undefined : task.id);
    });
    Promise.all([told, seen]).then(() => reject(this.#notFound()), reject);
    try {
      return await until(promise, givenUp);
    } finally {
      looking.abort();
    }
  }

  async cancel(id: string, signal: AbortSignal): Promise<void> {
    try {
      await this.#peer.call('cancelTask', { id }, { signal, headers: this.#headers });
    } catch (error) {
      // It came to its end meanwhile.
      if (!(error instanceof LegateError) || error.code !== 'TASK_NOT_CANCELABLE') throw error;
    }
  }

  close(): void {
    this.#recall.close();
  }

  /** Undefined where the peer does not list its tasks, or has not shown it for long enough. */
  async #look(signal: AbortSignal): Promise<Task | undefined> {
    for (let look = 1; look <= mostLooks; look += 1) {
      await this.#peer.settings.sleep(backoff(look, pauses), signal);
      try {
        const call = { signal, headers: this.#headers };
        const task = await taskOfMessage(this.#peer, this.#recall.message, call);
        if (task !== undefined) return task;
      } catch (error) {
        signal.throwIfAborted();
        if (!isTransient(error)) return undefined;
      }
    }
    return undefined;
  }

  #notFound(): LegateError {
    const { messageId } = this.#recall.message;
    return new LegateError(
      'PEER_UNREACHABLE',
      `the task of message ${messageId} was not found: the peer may still work on it`,
    );
  }
}
