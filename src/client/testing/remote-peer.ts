import {
  isTerminal,
  LegateError,
  type SendMessageRequest,
  type StreamResponse,
  type Task,
  TaskFold,
} from '../../protocol/index.ts';
import { until } from '../../time/index.ts';
import { clientTransport, type RemoteFrame, type TaskTransport } from '../index.ts';
import { connectTo, scriptedAgent, type ScriptedStream } from './scripted-agent.ts';

/**
 * An agent with one task, which plays its script after its first message. `tell` adds events to its log.
 * Every transport shows the same log.
 */
export class RemotePeer {
  readonly id = 'task-1';
  readonly contextId = 'context-1';
  /** Ids of the messages that the agent processed. */
  readonly taken: string[] = [];
  cancels = 0;
  readonly #log: StreamResponse[] = [];
  readonly #fold = new TaskFold({
    id: this.id,
    contextId: this.contextId,
    status: { state: 'TASK_STATE_SUBMITTED' },
  });
  #wakes: (() => void)[] = [];
  readonly #script: StreamResponse[];

  constructor(...script: readonly StreamResponse[]) {
    this.#script = [...script];
  }

  tell(...events: readonly StreamResponse[]): void {
    for (const event of events) {
      this.#log.push(event);
      this.#fold.apply(event);
    }
    for (const wake of this.#wakes.splice(0)) wake();
  }

  get task(): Task {
    return this.#fold.toTask();
  }

  /** Processes a message once, like an agent that deduplicates. */
  take({ message }: SendMessageRequest): void {
    if (this.taken.includes(message.messageId)) return;
    this.taken.push(message.messageId);
    this.tell({ message });
    // At once: a task that has the answer and still shows its question would seem to ask again.
    if (this.taken.length > 1) this.tell(statusOf('TASK_STATE_WORKING'));
    void this.#play();
  }

  async #play(): Promise<void> {
    for (const event of this.#script.splice(0)) {
      await new Promise((resolve) => setImmediate(resolve));
      this.tell(event);
    }
  }

  cancel(): void {
    this.cancels += 1;
    if (isTerminal(this.task.status.state)) {
      throw new LegateError('TASK_NOT_CANCELABLE', 'the task has ended');
    }
    this.tell(statusOf('TASK_STATE_CANCELED'));
  }

  /** The current task, then its events, until the turn ends. */
  async *frames(signal?: AbortSignal): AsyncGenerator<StreamResponse> {
    let next = this.#log.length;
    yield { task: this.task };
    for (;;) {
      const isWaiting = /INPUT|COMPLETED|CANCELED/.test(this.task.status.state);
      if (next >= this.#log.length && isWaiting) return;
      for (; next < this.#log.length; next += 1) {
        const event = this.#log[next];
        if (event !== undefined && !('message' in event)) yield event;
      }
      if (/INPUT|COMPLETED|CANCELED/.test(this.task.status.state)) return;
      await until(new Promise<void>((resolve) => this.#wakes.push(resolve)), signal);
    }
  }
}

export function statusOf(
  state: Task['status']['state'],
  messageId?: string,
): Extract<StreamResponse, { statusUpdate: unknown }> {
  const message = {
    messageId: messageId ?? '',
    role: 'ROLE_AGENT',
    parts: [{ text: 'said' }],
  } as const;
  const status = messageId === undefined ? { state } : { state, message };
  return { statusUpdate: { taskId: 'task-1', contextId: 'context-1', status } };
}

export function chunkOf(text: string, append: boolean): StreamResponse {
  const artifact = { artifactId: 'poem', parts: [{ text }] };
  return { artifactUpdate: { taskId: 'task-1', contextId: 'context-1', artifact, append } };
}

/** A queue: resends the message, can lose updates, and ends the turn with a result. */
export function queueTransport(peer: RemotePeer): TaskTransport {
  return {
    resume: 'resend',
    isLossy: true,
    async *send(request, { signal }): AsyncGenerator<RemoteFrame> {
      peer.take(request);
      let count = 0;
      for await (const response of peer.frames(signal)) {
        count += 1;
        if (count % 3 === 0) continue;
        yield {
          response,
          ...(count > 2 && { isGap: true }),
          ...(count === 1 && { isRestart: true }),
        };
      }
      yield { response: { task: peer.task }, isFinal: true };
    },
    async cancel() {
      peer.cancel();
    },
  };
}

/** The agent over HTTP, through a client. */
export async function httpTransport(peer: RemotePeer): Promise<TaskTransport> {
  const serve = async (stream: ScriptedStream): Promise<void> => {
    for await (const response of peer.frames()) stream.send(response);
    stream.end();
  };
  const served = await scriptedAgent(
    { binding: 'JSONRPC', version: '1.0' },
    {
      sendStreamingMessage: (request, stream) => {
        peer.take(request);
        return serve(stream);
      },
      subscribeToTask: (_, stream) => {
        if (isTerminal(peer.task.status.state)) {
          throw new LegateError('UNSUPPORTED_OPERATION', 'the task has ended');
        }
        return serve(stream);
      },
      getTask: () => peer.task,
      listTasks: () => {
        const tasks = peer.taken.length === 0 ? [] : [peer.task];
        return { tasks, nextPageToken: '', pageSize: 20, totalSize: tasks.length };
      },
      cancelTask: () => {
        peer.cancel();
        return peer.task;
      },
    },
  );
  const { client } = await connectTo(served);
  return clientTransport(client);
}
