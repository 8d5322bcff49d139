import type { Endings } from './endings.ts';
import type { Invocation } from './invocation.ts';
import type { Questions } from './questions.ts';
import { cancelRemote, sendMessage, transportOf, type Workings } from './workings.ts';

/** How a process goes on with what others, that are gone, left behind. */
export class Succession {
  readonly #workings: Workings;
  readonly #endings: Endings;
  readonly #questions: Questions;
  /** Calls that could not be taken up; some of them are claimed already. */
  #failed: ReadonlySet<string> = new Set();

  constructor(workings: Workings, endings: Endings, questions: Questions) {
    this.#workings = workings;
    this.#endings = endings;
    this.#questions = questions;
  }

  /** False when something could not be taken up: it is tried again with the next call. */
  async takeUp(isLeft: (invocation: Invocation) => boolean): Promise<boolean> {
    const { store, logger } = this.#workings;
    const failed = new Set<string>();
    for (const invocation of await store.all()) {
      if (!isLeft(invocation) && !this.#failed.has(invocation.id)) continue;
      await this.#takeUp(invocation).catch((error: unknown) => {
        failed.add(invocation.id);
        logger.error({ invocation: invocation.id, error }, 'peers.invocation.not_taken_up');
      });
    }
    this.#failed = failed;
    return failed.size === 0;
  }

  async #takeUp(left: Invocation): Promise<void> {
    const invocation = isDone(left) ? undefined : await this.#claim(left);
    if (invocation === undefined) return;
    const { state } = invocation;
    if (state === 'ended') {
      if (invocation.isTold !== true) await this.#endings.tell(invocation);
      if (invocation.mustCancel === true) await cancelRemote(this.#workings, invocation);
      return;
    }
    this.#workings.deadlines.set(invocation);
    const transport = transportOf(this.#workings, invocation);
    if (state === 'asking') await this.#questions.ask(invocation);
    else if (state === 'sending' && transport.knowsRepeats)
      await sendMessage(this.#workings, invocation);
    else await transport.resume(invocation);
  }

  /**
   * Of several that come to it, one goes on. Whoever waited for it is gone with its process, so that
   * the conversation is told instead; but a question that was passed on is answered where it was put.
   */
  async #claim(left: Invocation): Promise<Invocation | undefined> {
    const { store, processes } = this.#workings;
    const claimed = await store.change(left.id, (current) => {
      if (current.process !== left.process) return undefined;
      const mode = current.state === 'asking' ? current.mode : 'notify';
      return { ...current, process: processes.id, mode };
    });
    return claimed?.isChanged === true ? claimed.invocation : undefined;
  }
}

function isDone({ state, isTold, mustCancel }: Invocation): boolean {
  return state === 'ended' && isTold === true && mustCancel !== true;
}
