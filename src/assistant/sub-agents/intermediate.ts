import type { Call } from '../executor/call-handler.ts';
import { bounded } from './outcome.ts';

/** Messages on the way that users see of one call; who tells more does not get through. */
const mostMessages = 200;

/**
 * What an agent tells on the way, over all attempts to call it: told once, although an agent that
 * is called again may tell it again, and not without end. What comes after the call is told nobody.
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
