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
  /** Undefined for callers who want to hear nothing on the way. */
  readonly telling: Telling | undefined;
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

  /** Until it is removed. */
  add(job: Job): void {
    this.#jobs.set(keyOfJob(job), job);
  }

  remove(job: Job): void {
    const key = keyOfJob(job);
    // The broker may have given the same message out again meanwhile.
    if (this.#jobs.get(key) === job) this.#jobs.delete(key);
  }

  find(correlationId: string | undefined, caller: Caller): Job | undefined {
    return correlationId === undefined ? undefined : this.#jobs.get(keyOf(correlationId, caller));
  }
}

function keyOfJob({ delivery, call }: Job): string {
  return keyOf(delivery.correlationId ?? delivery.id, call.caller);
}

/**
 * Correlation ids are the callers' to choose: the same one of two callers is two. Their lengths keep
 * the parts of a key apart, whatever is in them.
 */
function keyOf(correlationId: string, { tenant, subject }: Caller): string {
  return `${tenant.length} ${subject.length} ${tenant}${subject}${correlationId}`;
}
