import {
  isTerminal,
  LegateError,
  type SendMessageRequest,
  type Task,
} from '../../protocol/index.ts';
import type { Client } from '../client.ts';
import type { CancelOnAbortOptions } from '../options.ts';
import type { Frame } from '../transport.ts';
import type { ResumePoint } from './resume-point.ts';

/** The limits of one call of a transport. */
export interface RemoteCall {
  readonly signal?: AbortSignal;
  /** In milliseconds. @default the transport's */
  readonly timeoutMs?: number;
}

export interface RemoteSend extends RemoteCall {
  readonly signal: AbortSignal;
  /** For transports that can cancel a message whose task is not known yet. */
  readonly cancelOnAbort: CancelOnAbortOptions;
}

/**
 * An event of a task, as its transport received it.
 * @example const frame: RemoteFrame = { response: { task }, isFinal: true };
 */
export interface RemoteFrame extends Frame {
  /** Events before this one were lost: artifacts are incomplete until the next snapshot. */
  readonly isGap?: boolean;
  /** The agent sends the events of the task from the start again. */
  readonly isRestart?: boolean;
}

/**
 * How to start, follow and cancel a task of another agent.
 * @example const transport: TaskTransport = clientTransport(await connect('https://agent.example'));
 */
export interface TaskTransport {
  /**
   * What happens after a restart to a message that may have reached the agent: it is resent, because the
   * agent deduplicates it (`resend`); its task is found by the message id (`find`); or its outcome is
   * lost (`none`).
   */
  readonly resume: 'resend' | 'find' | 'none';
  /**
   * Whether updates can be lost. The result then contains everything, and only the result ends a turn.
   */
  readonly isLossy?: boolean;
  send(request: SendMessageRequest, call: RemoteSend): AsyncIterable<RemoteFrame>;
  /** Follows a known task: its current state, then its events. */
  follow?(taskId: string, call: RemoteSend): AsyncIterable<RemoteFrame>;
  /** Finds a task by its own id or that of its message; undefined if the agent lists no such task. */
  find?(
    point: Pick<ResumePoint, 'taskId' | 'messageId' | 'contextId'>,
    call: RemoteCall,
  ): Promise<Task | undefined>;
  /** Requests the cancellation; a task that has ended is not changed. */
  cancel(
    point: Pick<ResumePoint, 'taskId' | 'messageId' | 'contextId'>,
    call: RemoteCall,
  ): Promise<void>;
}

/** Errors of agents that don't list tasks, or not for this caller. */
const unlisted: ReadonlySet<string> = new Set([
  'UNSUPPORTED_OPERATION',
  'METHOD_NOT_FOUND',
  'TASK_NOT_FOUND',
  'PERMISSION_DENIED',
  'PEER_INVALID',
]);

/**
 * A transport over a client, in any of its bindings.
 * @example const transport = clientTransport(client);
 */
export function clientTransport(client: Client): TaskTransport {
  const find: NonNullable<TaskTransport['find']> = async ({ taskId, ...sent }, call) => {
    if (taskId !== undefined) return client.getTask(taskId, call);
    try {
      return await client.findTask(sent, call);
    } catch (error) {
      if (error instanceof LegateError && unlisted.has(error.code)) return undefined;
      throw error;
    }
  };
  return {
    resume: 'find',
    send: (request, { signal, cancelOnAbort }) =>
      client.sendStreamingMessage(request, { signal, cancelOnAbort }),
    follow: (taskId, { signal }) => client.followTask(taskId, { signal }),
    find,
    async cancel(point, call) {
      const task = point.taskId === undefined ? await find(point, call) : undefined;
      const taskId = point.taskId ?? task?.id;
      if (taskId === undefined || (task && isTerminal(task.status.state))) return;
      await client.cancelTask(taskId, call).catch((error: unknown) => {
        // The task ended first.
        if (!(error instanceof LegateError) || error.code !== 'TASK_NOT_CANCELABLE') throw error;
      });
    },
  };
}
