import type { JsonObject, JsonValue } from '../../protocol/index.ts';

/** A task of the peer that waits for our caller. */
export interface RemoteTask {
  readonly id: string;
  /** Whether it waits for consent, which may be given elsewhere. */
  readonly needsConsent: boolean;
  /** Artifacts that were passed on, by what they held. */
  readonly artifacts: Readonly<Record<string, string>>;
}

const mostTasks = 32;

/** What is kept of a conversation with a peer: its context there, and the tasks that wait. */
export class RemoteState {
  contextId: string | undefined;
  /** By our own task's id. */
  readonly tasks: Map<string, RemoteTask>;

  constructor(value: JsonObject | undefined) {
    const { contextId, tasks } = value ?? {};
    this.contextId = typeof contextId === 'string' ? contextId : undefined;
    const entries = typeof tasks === 'object' && tasks !== null ? Object.entries(tasks) : [];
    this.tasks = new Map(entries as unknown as [string, RemoteTask][]);
  }

  /** Tasks that ended without us leave their traces, so the oldest give way. */
  pause(taskId: string, task: RemoteTask): void {
    const [oldest] = this.tasks.keys();
    if (this.tasks.size >= mostTasks && oldest !== undefined) this.tasks.delete(oldest);
    this.tasks.set(taskId, task);
  }

  toValue(): JsonObject {
    return {
      ...(this.contextId !== undefined && { contextId: this.contextId }),
      ...(this.tasks.size > 0 && {
        tasks: Object.fromEntries(this.tasks) as unknown as JsonValue,
      }),
    };
  }
}
