import { readResumePoint, type ResumePoint } from '../../client/index.ts';
import type { JsonObject } from '../../protocol/index.ts';

const maxTasks = 32;

/** Saved state of a conversation with a remote agent: its context there, and the waiting tasks. */
export class RemoteState {
  contextId: string | undefined;
  /** By our own task's id. */
  readonly tasks = new Map<string, ResumePoint>();

  constructor(value: JsonObject | undefined) {
    const { contextId, tasks } = value ?? {};
    this.contextId = typeof contextId === 'string' ? contextId : undefined;
    if (typeof tasks !== 'object' || tasks === null) return;
    for (const [id, stored] of Object.entries(tasks)) {
      const point = readResumePoint(stored);
      if (point !== undefined) this.tasks.set(id, point);
    }
  }

  /** Saves a waiting task. Tasks that ended without us stay in the map, so the oldest are evicted. */
  pause(taskId: string, point: ResumePoint): void {
    const [oldest] = this.tasks.keys();
    if (this.tasks.size >= maxTasks && oldest !== undefined) this.tasks.delete(oldest);
    this.tasks.set(taskId, point);
  }

  toValue(): JsonObject {
    return {
      ...(this.contextId !== undefined && { contextId: this.contextId }),
      ...(this.tasks.size > 0 && { tasks: Object.fromEntries(this.tasks) }),
    };
  }
}
