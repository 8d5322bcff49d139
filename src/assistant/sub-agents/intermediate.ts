import type { Call } from '../executor/call-handler.ts';
import { bounded } from './outcome.ts';

/** Maximum number of progress messages per call; further ones are dropped. */
const mostMessages = 200;

/**
 * Progress messages of a call over all attempts: deduplicated, since a retried agent may send them
 * again, and limited in number. Messages after the end of the call are dropped.
 */
export class Intermediate implements Disposable {
  readonly #call: Call;
  readonly #said = new Set<string>();
  #count = 0;
  #isOver = false;

  constructor(call: Call) {
    this.#call = call;
  }

  /** For the next attempt. */
  attempt(): Call['say'] {
    const before = new Set(this.#said);
    return async (message) => {
      if (this.#isOver) return;
      const { text } = message;
      const told = text === undefined ? message : { ...message, text: bounded(text) };
      const identity = JSON.stringify(told);
      if (before.has(identity)) return;
      this.#count += 1;
      if (this.#count === mostMessages + 1) {
        this.#call.logger.warn({ agent: this.#call.step.target }, 'sub_agent.too_talkative');
      }
      if (this.#count > mostMessages) return;
      this.#said.add(identity);
      await this.#call.say(told);
    };
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
  }
}
