import { hash } from 'node:crypto';
import {
  type Client,
  clientTransport,
  readResumePoint,
  RemoteTask,
  type RemoteTaskOptions,
  type ResumePoint,
} from '../../client/index.ts';
import { type JsonObject, LegateError, type SendMessageRequest } from '../../protocol/index.ts';
import type { Reply, Turn, TurnEnd, TurnEvent } from '../agent.ts';
import { failure, handsOver, isPause } from '../drive.ts';
import { RemoteState } from './remote-state.ts';
import { endOf, turnEvents } from './remote-turn.ts';

export interface RemoteRunOptions {
  /** What the agent is called in texts and logs. */
  readonly name: string;
  /** Distinguishes the messages of several remote agents in one turn. Stable across reruns. */
  readonly sender: string;
  readonly client: Client;
  readonly turn: Turn;
  /** What is kept of the conversation. */
  readonly value: JsonObject | undefined;
  readonly limits: Required<
    Pick<RemoteTaskOptions, 'timeoutMs' | 'inactivityTimeoutMs' | 'cancelTimeoutMs'>
  >;
}

/** The journal entry of the remote task, for a turn that runs again. */
const journalKey = 'task';

/** One turn of a remote agent. */
export class RemoteRun {
  readonly #options: RemoteRunOptions;
  readonly #state: RemoteState;

  constructor(options: RemoteRunOptions) {
    this.#options = options;
    this.#state = new RemoteState(options.value);
  }

  async *events(): AsyncGenerator<TurnEvent> {
    const { turn, name } = this.#options;
    const task = await this.#task();
    try {
      const response = yield* turnEvents(task);
      yield this.#end(endOf(name, response), task.point);
    } catch (error) {
      turn.signal.throwIfAborted();
      turn.logger.warn({ peer: name, error }, 'agents.remote.failed');
      yield this.#failed(error, task.expired);
    }
  }

  async #task(): Promise<RemoteTask> {
    const { client, turn, name, limits } = this.#options;
    const answered = turn.isContinuation ? this.#state.tasks.get(turn.taskId) : undefined;
    const request = this.#request(answered);
    const journaled = await noteOf(turn);
    return new RemoteTask({
      ...limits,
      transport: clientTransport(client),
      request,
      point: journaled ?? answered ?? (turn.attempt > 1 ? this.#sent(request) : undefined),
      resends: true,
      signal: turn.signal,
      handsOver,
      save: async (point) => {
        if (point.state === 'working') await turn.journal?.write(journalKey, point);
      },
      onCancelFailed: cancelFailed(turn, name),
    });
  }

  #request(answered: ResumePoint | undefined): SendMessageRequest {
    const { turn, sender } = this.#options;
    const { acceptedOutputModes, metadata, message } = turn;
    const { contextId } = this.#state;
    return {
      message: {
        messageId: messageIdOf(turn, sender),
        role: 'ROLE_USER',
        parts: message.parts,
        ...(contextId !== undefined && { contextId }),
        ...(answered?.taskId !== undefined && { taskId: answered.taskId }),
        ...(message.metadata !== undefined && { metadata: message.metadata }),
      },
      ...(acceptedOutputModes.length > 0 && { configuration: { acceptedOutputModes } }),
      ...(Object.keys(metadata).length > 0 && { metadata }),
    };
  }

  /** The process that sent the message died before it could journal the task. */
  #sent({ message: { messageId, contextId } }: SendMessageRequest): ResumePoint {
    return { v: 1, state: 'sending', messageId, ...(contextId && { contextId }), told: {} };
  }

  #end(end: TurnEnd | Reply, point: ResumePoint): TurnEnd | Reply {
    const { turn } = this.#options;
    this.#state.contextId = point.contextId ?? this.#state.contextId;
    this.#state.tasks.delete(turn.taskId);
    if (end.kind !== 'message' && isPause(end)) this.#state.pause(turn.taskId, point);
    const { taskId } = point;
    const metadata: JsonObject = {
      ...end.metadata,
      ...(taskId !== undefined && { remote_task_id: taskId }),
    };
    const context = { value: this.#state.toValue() };
    return { ...end, ...(Object.keys(metadata).length > 0 && { metadata }), context };
  }

  #failed(error: unknown, expired: RemoteTask['expired']): TurnEnd {
    const { name, turn } = this.#options;
    const code = error instanceof LegateError ? error.code.toLowerCase() : 'peer_invalid';
    const type = expired ?? code;
    this.#state.tasks.delete(turn.taskId);
    const context = { value: this.#state.toValue() };
    return { ...failure(type, `The agent ${name} ${wordsFor(type)}.`), context };
  }
}

/** Cancels the task that waits for an answer to a turn, or that a turn whose process died had started. */
export async function abandonRemote(
  options: Omit<RemoteRunOptions, 'client'> & { readonly connect: () => Promise<Client> },
): Promise<Omit<TurnEnd, 'kind'> | undefined> {
  const { name, sender, turn, value, connect, limits } = options;
  const state = new RemoteState(value);
  const known = state.tasks.get(turn.taskId) ?? (await noteOf(turn));
  if (known === undefined && turn.attempt === 1) return undefined;
  state.tasks.delete(turn.taskId);
  const { contextId } = state;
  const sent = { messageId: messageIdOf(turn, sender), ...(contextId && { contextId }) };
  try {
    const transport = clientTransport(await connect());
    await transport.cancel(known ?? sent, { timeoutMs: limits.cancelTimeoutMs });
  } catch (error) {
    cancelFailed(turn, name)(error);
  }
  return { context: { value: state.toValue() } };
}

async function noteOf({ journal }: Turn): Promise<ResumePoint | undefined> {
  return readResumePoint(await journal?.read(journalKey));
}

function cancelFailed({ logger }: Turn, peer: string): (error: unknown) => void {
  return (error) => logger.warn({ peer, error }, 'agents.remote.cancel_failed');
}

/** The same for a turn that runs again, so that the agent takes it once. */
function messageIdOf({ taskId, message }: Turn, sender: string): string {
  const identity = JSON.stringify([sender, taskId, message.messageId]);
  return hash('sha256', identity, 'base64url').slice(0, 32);
}

function wordsFor(type: string): string {
  switch (type) {
    case 'timeout':
      return 'took too long';
    case 'inactivity':
      return 'fell silent';
    case 'unauthenticated':
    case 'permission_denied':
      return 'refused our credentials';
    case 'peer_unreachable':
    case 'unavailable':
    case 'rate_limited':
      return 'could not be reached';
    default:
      return 'failed';
  }
}
