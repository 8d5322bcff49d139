import { hash } from 'node:crypto';
import type { Client, RecallOptions, StreamEvent } from '../../client/index.ts';
import { isTerminal, type JsonObject, LegateError, type Message } from '../../protocol/index.ts';
import type { Reply, Turn, TurnEnd, TurnEvent } from '../agent.ts';
import { failure, isPause } from '../drive.ts';
import { PeerEvents } from './peer-events.ts';
import type { RemoteState, RemoteTask } from './remote-state.ts';
import { Watch } from './watch.ts';

export interface RemoteRunOptions {
  /** What the peer is called in texts and logs. */
  readonly name: string;
  /** Tells apart what several remote agents send in one turn. The same whenever a turn runs again. */
  readonly sender: string;
  readonly client: Client;
  readonly turn: Turn;
  readonly state: RemoteState;
  readonly timeoutMs: number;
  readonly inactivityTimeoutMs: number;
  readonly cancelTimeoutMs: number;
}

/** One turn of an agent elsewhere. */
export class RemoteRun {
  readonly #options: RemoteRunOptions;
  /** The task that our message answers. */
  readonly #answered: RemoteTask | undefined;
  readonly #events: PeerEvents;
  readonly #watch: Watch;

  constructor(options: RemoteRunOptions) {
    const { name, turn, state, timeoutMs, inactivityTimeoutMs } = options;
    this.#options = options;
    this.#answered = turn.isContinuation ? state.tasks.get(turn.taskId) : undefined;
    this.#events = new PeerEvents(name, this.#answered?.artifacts);
    this.#watch = new Watch({ signal: turn.signal, timeoutMs, inactivityTimeoutMs });
  }

  async *events(): AsyncGenerator<TurnEvent> {
    const { turn, name } = this.#options;
    let isFinished = false;
    try {
      let count = 0;
      for await (const { response } of await this.#open()) {
        this.#watch.restart();
        yield* this.#events.accept(response);
        count += 1;
        if (count === 1) await this.#note();
        // The opening snapshot may still show the question that was just answered.
        const isOld = count === 1 && this.#answered !== undefined;
        if (this.#events.needsConsent && !isOld) break;
      }
      isFinished = true;
      yield this.#end();
    } catch (error) {
      turn.signal.throwIfAborted();
      isFinished = true;
      turn.logger.warn({ peer: name, error }, 'agents.remote.failed');
      if (this.#watch.signal.aborted) await this.#cancel();
      yield this.#failed(error);
    } finally {
      this.#watch.close();
      if (!isFinished && !this.#isTakenUp()) await this.#cancel();
    }
  }

  /** What the peer tells: of our message, or of the task it led to before this process took over. */
  async #open(): Promise<AsyncIterable<StreamEvent>> {
    const { client, turn } = this.#options;
    const { signal } = this.#watch;
    const noted = (await turn.journal?.read('task')) as { readonly id: string } | undefined;
    if (noted !== undefined) return this.#wait(noted.id);
    if (this.#answered?.needsConsent === true) {
      // Consent is given elsewhere, and the task may have gone on with it.
      const task = await client.getTask(this.#answered.id, { signal });
      const isWaiting = task.status.state === 'TASK_STATE_AUTH_REQUIRED';
      if (!isWaiting) return isTerminal(task.status.state) ? one({ task }) : this.#wait(task.id);
    }
    const { acceptedOutputModes, metadata } = turn;
    const request = {
      message: this.#message(),
      ...(acceptedOutputModes.length > 0 && { configuration: { acceptedOutputModes } }),
      ...(Object.keys(metadata).length > 0 && { metadata }),
    };
    return client.sendStreamingMessage(request, { signal, recall: this.#recall() });
  }

  /** A cancel that comes before we know the task there: it is found and cancelled when we are gone. */
  #recall(): RecallOptions {
    const { turn, name } = this.#options;
    return {
      isMeant: () => !this.#isTakenUp(),
      onFailure: (error) => turn.logger.warn({ peer: name, error }, 'agents.remote.cancel_failed'),
    };
  }

  async #wait(taskId: string): Promise<AsyncIterable<StreamEvent>> {
    const { signal } = this.#watch;
    return one({ task: await this.#options.client.waitForEnd(taskId, { signal }) });
  }

  #message(): Message {
    const { turn, state, sender } = this.#options;
    const { parts, metadata } = turn.message;
    return {
      messageId: messageIdOf(turn, sender),
      role: 'ROLE_USER',
      parts,
      ...(state.contextId !== undefined && { contextId: state.contextId }),
      ...(this.#answered !== undefined && { taskId: this.#answered.id }),
      ...(metadata !== undefined && { metadata }),
    };
  }

  async #note(): Promise<void> {
    const { taskId } = this.#events;
    if (taskId !== undefined) await this.#options.turn.journal?.write('task', { id: taskId });
  }

  #end(): TurnEnd | Reply {
    const end = this.#events.end;
    if (end === undefined) {
      return this.#failed(
        new LegateError('PEER_INVALID', 'the peer closed its stream without an end'),
      );
    }
    const context = { value: this.#saved(end) };
    const remote = this.#events.taskId;
    const metadata: JsonObject = {
      ...end.metadata,
      ...(remote !== undefined && { remote_task_id: remote }),
    };
    return { ...end, ...(Object.keys(metadata).length > 0 && { metadata }), context };
  }

  #saved(end: TurnEnd | Reply): JsonObject {
    const { state, turn } = this.#options;
    const { taskId, contextId, marks } = this.#events;
    state.contextId = contextId ?? state.contextId;
    state.tasks.delete(turn.taskId);
    if (end.kind !== 'message' && isPause(end) && taskId !== undefined) {
      const needsConsent = end.kind === 'auth-required';
      state.pause(turn.taskId, { id: taskId, needsConsent, artifacts: marks });
    }
    return state.toValue();
  }

  #failed(error: unknown): TurnEnd {
    const { name, state, turn } = this.#options;
    const code = error instanceof LegateError ? error.code.toLowerCase() : 'peer_invalid';
    const type = this.#watch.expired ?? code;
    state.tasks.delete(turn.taskId);
    return {
      ...failure(type, `The agent ${name} ${wordsFor(type)}.`),
      context: { value: state.toValue() },
    };
  }

  /** Another process goes on with the same task of the peer. */
  #isTakenUp(): boolean {
    const { journal, signal } = this.#options.turn;
    const cause = (signal.reason as { readonly stopCause?: unknown } | undefined)?.stopCause;
    return journal !== undefined && (cause === 'shutdown' || cause === 'lost');
  }

  async #cancel(): Promise<void> {
    const { client, cancelTimeoutMs, turn, name } = this.#options;
    const taskId = this.#events.taskId ?? this.#answered?.id;
    if (taskId !== undefined) await cancelTask(client, taskId, cancelTimeoutMs, turn, name);
  }
}

/** The same for a turn that runs again, so that the peer takes it once. */
function messageIdOf({ taskId, message }: Turn, sender: string): string {
  const identity = JSON.stringify([sender, taskId, message.messageId]);
  return hash('sha256', identity, 'base64url').slice(0, 32);
}

/** The task of a turn whose process died before it could note it; undefined where there is none. */
export async function findTask(
  client: Client,
  turn: Turn,
  { name, sender, contextId, timeoutMs }: FindOptions,
): Promise<{ readonly id: string } | undefined> {
  const sent = {
    messageId: messageIdOf(turn, sender),
    ...(contextId !== undefined && { contextId }),
  };
  try {
    return await client.findTask(sent, { timeoutMs });
  } catch (error) {
    turn.logger.warn({ peer: name, error }, 'agents.remote.cancel_failed');
    return undefined;
  }
}

interface FindOptions extends Pick<RemoteRunOptions, 'name' | 'sender'> {
  readonly contextId: string | undefined;
  readonly timeoutMs: number;
}

/** Asks a peer to stop; one that cannot or will not is no reason for us not to. */
export async function cancelTask(
  client: Client,
  taskId: string,
  timeoutMs: number,
  turn: Turn,
  name: string,
): Promise<void> {
  try {
    await client.cancelTask(taskId, { timeoutMs });
  } catch (error) {
    turn.logger.warn({ peer: name, taskId, error }, 'agents.remote.cancel_failed');
  }
}

async function* one(response: StreamEvent['response']): AsyncGenerator<StreamEvent> {
  yield { response };
}

function wordsFor(type: string): string {
  switch (type) {
    case 'timeout':
      return 'took too long';
    case 'inactivity':
      return 'fell silent';
    case 'unauthenticated':
    case 'permission_denied':
      return 'did not let us in';
    case 'peer_unreachable':
    case 'unavailable':
    case 'rate_limited':
      return 'could not be reached';
    default:
      return 'failed';
  }
}
