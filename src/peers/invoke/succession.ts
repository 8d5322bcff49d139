import type { Endings } from './endings.ts';
import type { Invocation } from './invocation.ts';
import { isDone } from './invocation-store.ts';
import type { Questions } from './questions.ts';
import { cancelRemote, sendMessage, transportOf, type Workings } from './workings.ts';

/** How a replica goes on with what dead replicas left behind. */
export class Succession {
  readonly #workings: Workings;
  readonly #endings: Endings;
  readonly #questions: Questions;
  /** Invocations that this replica claimed and could not go on with. */
  readonly #failed = new Set<string>();

  constructor(workings: Workings, endings: Endings, questions: Questions) {
    this.#workings = workings;
    this.#endings = endings;
    this.#questions = questions;
  }

  /** What could not be taken up is tried again with the next call. */
  async takeOver(): Promise<void> {
    const { store, replica, logger, closing } = this.#workings;
    const unfinished = await store.unfinished();
    const holders = new Set(unfinished.flatMap(({ process }) => process ?? []));
    const dead = await replica.dead([...holders]);
    for (const { id, process } of unfinished) {
      const isLeft = process === undefined || dead.has(process) || this.#failed.has(id);
      const invocation = isLeft && !closing.aborted ? await store.find(id) : undefined;
      // Another replica may have taken it over since the list was read.
      if (invocation === undefined || invocation.process !== process) continue;
      this.#failed.delete(id);
      await this.#takeUp(invocation).catch((error: unknown) => {
        this.#failed.add(id);
        logger.error({ invocation: id, error }, 'peers.invocation.not_taken_up');
      });
    }
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
    const { store, replica } = this.#workings;
    const claimed = await store.change(left.id, (current) => {
      if (current.process !== left.process) return undefined;
      const mode = current.state === 'asking' ? current.mode : 'notify';
      return { ...current, process: replica.id, mode };
    });
    return claimed?.isChanged === true ? claimed.invocation : undefined;
  }
}
