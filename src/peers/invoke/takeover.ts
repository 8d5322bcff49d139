import type { Replica } from '../../store/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { Calls } from './calls.ts';
import type { Outcomes } from './outcomes.ts';
import type { Invocation } from './invocation.ts';
import { type InvocationStore, isDone } from './invocation-store.ts';
import type { Questions } from './questions.ts';

export interface TakeoverOptions {
  readonly store: InvocationStore;
  readonly calls: Calls;
  readonly outcomes: Outcomes;
  readonly questions: Questions;
  readonly replica: Replica;
  readonly logger: Logger;
  /** Aborts when the invoker stops. */
  readonly closing: AbortSignal;
}

/** Takes over the invocations of dead replicas. */
export class Takeover {
  readonly #options: TakeoverOptions;
  /** Invocations that this replica claimed and could not continue. */
  readonly #failed = new Set<string>();

  constructor(options: TakeoverOptions) {
    this.#options = options;
  }

  /** Invocations that could not be taken over are retried with the next call. */
  async takeOver(): Promise<void> {
    const { store, replica, logger, closing } = this.#options;
    const unfinished = await store.unfinished();
    const holders = new Set(unfinished.flatMap(({ process }) => process ?? []));
    const dead = await replica.dead([...holders]);
    for (const { id, process } of unfinished) {
      const isOrphaned = process === undefined || dead.has(process) || this.#failed.has(id);
      if (!isOrphaned || closing.aborted) continue;
      this.#failed.delete(id);
      await this.#resume(id, process).catch((error: unknown) => {
        this.#failed.add(id);
        logger.error({ invocation: id, error }, 'peers.takeover.failed');
      });
    }
  }

  async #resume(id: string, process: string | undefined): Promise<void> {
    const { store, calls, outcomes, questions } = this.#options;
    const left = await store.find(id);
    // Another replica may have taken it over since the list was read.
    if (left === undefined || left.process !== process || isDone(left)) return;
    const invocation = await this.#claim(left);
    if (invocation === undefined) return;
    const { state } = invocation;
    if (state === 'ended') {
      if (invocation.isNotified !== true) await outcomes.notify(invocation);
      if (invocation.mustCancel === true) await calls.cancelRemote(invocation);
      return;
    }
    const transport = calls.transportOf(invocation);
    if (state === 'asking') await questions.ask(invocation);
    else if (state === 'sending' && transport.deduplicates) await calls.send(invocation);
    else await transport.resume(invocation);
  }

  /**
   * One of several replicas succeeds. The waiter died with its process, so the conversation is
   * notified instead; a question that was already asked is answered where it was asked.
   */
  async #claim(left: Invocation): Promise<Invocation | undefined> {
    const { calls, replica } = this.#options;
    const claimed = await calls.change(left.id, (current) => {
      if (current.process !== left.process) return undefined;
      const mode = current.state === 'asking' ? current.mode : 'notify';
      return { ...current, process: replica.id, mode };
    });
    return claimed?.isChanged === true ? claimed.invocation : undefined;
  }
}
