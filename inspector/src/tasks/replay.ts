import type { LoggedEvent } from '../../../src/http/inspector/model.ts';
import { message } from '../../../src/protocol/index.ts';
import { TalkTurn } from '../talk/turn.ts';

/**
 * A task as it was after any of its events. Going on is cheap, for events are taken one by one; going
 * back begins anew.
 */
export class Replay {
  readonly #events: readonly LoggedEvent[];
  #turn = fresh();
  #at = 0;

  constructor(events: readonly LoggedEvent[]) {
    this.#events = events;
  }

  /** `count`: how many events have happened. */
  after(count: number): TalkTurn {
    if (count < this.#at) {
      this.#turn = fresh();
      this.#at = 0;
    }
    for (; this.#at < count; this.#at += 1) {
      const event = this.#events[this.#at];
      if (event !== undefined) this.#turn.take(event.body);
    }
    return this.#turn;
  }
}

function fresh(): TalkTurn {
  return new TalkTurn(0, message(''));
}
