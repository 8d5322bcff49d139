import type { TurnEnd } from '../agents/index.ts';
import type { StreamResponse, TaskState } from '../protocol/index.ts';
import type { Scheduler } from './scheduler.ts';
import { timestamp } from './timestamp.ts';

/** A status update of a task, now, with the agent's words where there are any. */
export function statusEvent(
  task: { readonly id: string; readonly contextId: string },
  state: TaskState,
  said: Pick<TurnEnd, 'parts' | 'metadata'>,
  scheduler: Scheduler,
): StreamResponse {
  const { parts, metadata } = said;
  return {
    statusUpdate: {
      taskId: task.id,
      contextId: task.contextId,
      status: {
        state,
        ...(parts !== undefined && {
          message: {
            messageId: scheduler.uuid(),
            contextId: task.contextId,
            taskId: task.id,
            role: 'ROLE_AGENT',
            parts,
          },
        }),
        timestamp: timestamp(scheduler.now()),
      },
      ...(metadata !== undefined && { metadata }),
    },
  };
}
