import type { Caller } from '../../agents/index.ts';
import type { SendMessageRequest, TaskState } from '../../protocol/index.ts';
import type { Call } from '../../tasks/index.ts';
import type { Delivery } from '../transport/index.ts';
import type { Telling } from './telling.ts';

/** A task message in the hands of this process. */
export interface Job {
  readonly delivery: Delivery;
  readonly request: SendMessageRequest;
  readonly call: Call;
  readonly telling: Telling;
  /** Known once the message is admitted. */
  ids: { readonly taskId: string; readonly contextId: string } | undefined;
  /** Its caller wished so before the task was known. */
  isCancelled: boolean;
  /** The state that onlookers were told last. */
  state: TaskState | undefined;
}

/** The jobs of one process, by the callers' correlation ids. */
export class Jobs {
  readonly #jobs = new Map<string, Job>();

  /** Until it is disposed. */
  add(job: Job): Disposable {
    const key = keyOf(job.delivery.correlationId ?? job.delivery.id, job.call.caller);
    this.#jobs.set(key, job);
    return {
      [Symbol.dispose]: () => {
        // The broker may have given the same message out again meanwhile.
        if (this.#jobs.get(key) === job) this.#jobs.delete(key);
      },
    };
  }

  find(correlationId: string | undefined, caller: Caller): Job | undefined {
    return correlationId === undefined ? undefined : this.#jobs.get(keyOf(correlationId, caller));
  }
}

/** Correlation ids are the callers' to choose: the same one of two callers is two. */
function keyOf(correlationId: string, { tenant, subject }: Caller): string {
  return JSON.stringify([tenant, subject, correlationId]);
}
