import { LegateError, type TaskState } from '../../protocol/index.ts';
import type { Scheduler } from '../../tasks/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { Sender } from '../exchange/index.ts';
import { topics } from '../transport/index.ts';

/** How long it is believed that somebody listens, or that nobody does, in milliseconds. */
const beliefMs = 2_000;

/**
 * Tells whoever looks on which states tasks come to, without their contents.
 *
 * - **unknown**: the next state is sent in such a way that the broker says whether anybody listens.
 * - **heard**: somebody does; states are told without asking, until that may have changed.
 * - **unheard**: nobody does, as is usual; nothing is sent, until that may have changed.
 */
export class Onlookers {
  readonly #sender: Sender;
  readonly #scheduler: Scheduler;
  readonly #logger: Logger;
  #belief: 'unknown' | 'heard' | 'unheard' = 'unknown';
  /** Milliseconds since 1970. */
  #until = 0;

  constructor(options: { sender: Sender; scheduler: Scheduler; logger: Logger }) {
    this.#sender = options.sender;
    this.#scheduler = options.scheduler;
    this.#logger = options.logger;
  }

  tell(
    ids: { readonly taskId: string; readonly contextId: string },
    state: TaskState,
    correlationId: string | undefined,
  ): void {
    const isBelieved = this.#scheduler.now() < this.#until;
    if (isBelieved && this.#belief === 'unheard') return;
    const asks = !isBelieved;
    // Others that come before the answer are told without asking.
    if (asks) this.#believe('heard');
    const body = JSON.stringify({ statusUpdate: { ...ids, status: { state } } });
    this.#sender
      .send(
        topics.status,
        { type: 'update', body, correlationId, persistent: false },
        asks ? { mandatory: true } : { confirm: false },
      )
      .catch((error: unknown) => {
        if (error instanceof LegateError && error.code === 'PEER_UNREACHABLE') {
          this.#believe('unheard');
        } else {
          this.#logger.debug({ error }, 'bus.status.not_told');
        }
      });
  }

  #believe(belief: 'heard' | 'unheard'): void {
    this.#belief = belief;
    this.#until = this.#scheduler.now() + beliefMs;
  }
}
