import type { Caller } from '../../agents/index.ts';
import type { SendMessageRequest, TaskState } from '../../protocol/index.ts';
import type { Call } from '../../tasks/index.ts';
import type { Delivery } from '../transport/bus.ts';

/** A task message that this process handles. */
export interface Job {
  readonly delivery: Delivery;
  readonly request: SendMessageRequest;
  /** Who sent it, whatever tenant the request names. */
  readonly sender: Caller;
  readonly call: Call;
  /** Numbers the updates of this delivery: each delivery starts a new series. */
  readonly updates: { readonly series: string; sequence: number };
  /** Known once the message is admitted. */
  ids: { readonly taskId: string; readonly contextId: string } | undefined;
  /** Its caller cancelled it before the task was known. */
  isCancelled: boolean;
  /** The state that was broadcast last. */
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
    // The broker may have redelivered the same message meanwhile.
    if (this.#jobs.get(key) === job) this.#jobs.delete(key);
  }

  find(correlationId: string | undefined, sender: Caller): Job | undefined {
    return correlationId === undefined ? undefined : this.#jobs.get(keyOf(correlationId, sender));
  }
}

function keyOfJob({ delivery, sender }: Job): string {
  return keyOf(delivery.correlationId ?? delivery.id, sender);
}

/** Callers choose correlation ids, so they are unique per caller only. */
function keyOf(correlationId: string, { tenant, subject }: Caller): string {
  return JSON.stringify([tenant, subject, correlationId]);
}
