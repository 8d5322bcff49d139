import { type PushAttempt, redactPushConfig } from '../../push/index.ts';
import type { AttemptView } from './model.ts';

/** Calls that are remembered: the latest. */
const most = 300;

/**
 * The latest calls to webhooks, also those that succeeded, of which the store keeps nothing: of this
 * process, since the inspector opened.
 */
export class AttemptLog {
  readonly #attempts: AttemptView[] = [];
  #count = 0;

  add({ delivery, outcome, at }: PushAttempt): void {
    const { taskId, sequence, attempts, push } = delivery;
    this.#count += 1;
    this.#attempts.push({
      number: this.#count,
      time: at,
      taskId,
      sequence,
      attempt: attempts + 1,
      url: redactPushConfig(push.config).url,
      outcome: outcome.kind,
      ...(outcome.kind !== 'delivered' && { error: outcome.error }),
    });
    if (this.#attempts.length > most) this.#attempts.shift();
  }

  /** The latest first. */
  list(taskId?: string): readonly AttemptView[] {
    const latest = this.#attempts.toReversed();
    return taskId === undefined ? latest : latest.filter((one) => one.taskId === taskId);
  }
}
