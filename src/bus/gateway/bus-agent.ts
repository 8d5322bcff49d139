import { createHash } from 'node:crypto';
import {
  type Agent,
  type Caller,
  type EndKind,
  failed,
  type Turn,
  type TurnEnd,
  type TurnEvent,
} from '../../agents/index.ts';
import {
  type AgentSkill,
  data,
  LegateError,
  type Message,
  type SendMessageResponse,
  type TaskState,
  text,
  toLegateError,
} from '../../protocol/index.ts';
import { Deadline } from '../../time/index.ts';
import { TurnStopped } from '../../tasks/index.ts';
import { headerNames, readError, readResult, readUpdate, Sender } from '../exchange/index.ts';
import type { MessageSigner } from '../identity/index.ts';
import { type Bus, type BusMessage, checkBusName, topics } from '../transport/index.ts';
import { Relay } from './relay.ts';
import type { RemoteIds } from './remote-ids.ts';
import type { Inbox, ReplyBox } from './reply-box.ts';

export interface BusAgentOptions {
  readonly bus: Bus;
  /** The agent's name on the bus. */
  readonly name: string;
  readonly replies: ReplyBox;
  readonly remoteIds: RemoteIds;
  /** The gateway's own name, the same for all its processes. */
  readonly gateway: string;
  /** Vouches for the callers. Without it they are told apart, but not proved. */
  readonly signer?: MessageSigner | undefined;
  readonly description?: string | undefined;
  readonly skills?: readonly AgentSkill[] | undefined;
  /** @default ['*\/*'], for the agent itself decides */
  readonly inputModes?: readonly string[] | undefined;
  readonly outputModes?: readonly string[] | undefined;
  readonly replyKind?: Agent['replies'] | undefined;
}

/**
 * An agent on the bus, as one that can take turns here. Its task is asked for under the id that it
 * has here; when a process dies in between, another one asks again, and the agent's host knows the
 * message and goes on telling instead of running it twice.
 */
export function busAgent(options: BusAgentOptions): Agent {
  const name = checkBusName(options.name, 'the agent');
  const { description = name, skills = [], inputModes = ['*/*'], outputModes, replyKind } = options;
  return {
    // The tasks of a gateway are not those of the agent, also where both are in one store.
    name: `${options.gateway}/${name}`,
    description,
    skills,
    inputModes,
    ...(outputModes !== undefined && { outputModes }),
    ...(replyKind !== undefined && { replies: replyKind }),
    serialise: 'task',
    onInterrupted: 'run-again',
    take: (turn) => new Passage(options, turn).run(),
    async abandon(turn) {
      await new Passage(options, turn).cancel();
      return undefined;
    },
  };
}

const lastWordsMs = 10_000;

/** One turn on its way over the bus and back. */
class Passage {
  readonly #options: BusAgentOptions;
  readonly #turn: Turn;
  readonly #sender: Sender;
  readonly #relay = new Relay();
  #remoteId: string | undefined;

  constructor(options: BusAgentOptions, turn: Turn) {
    this.#options = options;
    this.#turn = turn;
    const { bus, gateway, signer } = options;
    this.#sender = new Sender({ bus, name: senderName(gateway, turn.caller), signer });
  }

  async *run(): AsyncGenerator<TurnEvent> {
    const { replies, name } = this.#options;
    const { taskId } = this.#turn;
    const inbox = replies.open(taskId, name);
    try {
      await this.#ask();
      yield* this.#follow(inbox);
    } catch (error) {
      if (error instanceof TurnStopped) throw error;
      yield failure(toLegateError(error));
    } finally {
      replies.close(taskId, inbox);
    }
  }

  /** Asks the agent to stop. Not being able to is for the log: the task here ends all the same. */
  async cancel(): Promise<void> {
    const { name, replies, remoteIds } = this.#options;
    const { taskId, caller, logger } = this.#turn;
    try {
      const id = this.#remoteId ?? (await remoteIds.find(taskId)) ?? taskId;
      await this.#sender.send(topics.cancel(name), {
        type: 'cancel',
        body: JSON.stringify({ id }),
        correlationId: taskId,
        replyTo: replies.topic,
        principal: caller,
      });
    } catch (error) {
      logger.warn({ agent: name, error }, 'bus.cancel.not_sent');
    }
  }

  async #ask(): Promise<void> {
    const { name, replies, remoteIds } = this.#options;
    const { message, metadata, acceptedOutputModes, taskId, contextId, caller } = this.#turn;
    const { taskId: _own, ...rest } = message;
    let sent: Message = { ...rest, contextId };
    if (this.#turn.isContinuation) {
      this.#remoteId = await remoteIds.find(taskId);
      if (this.#remoteId === undefined) {
        throw new LegateError('TASK_NOT_FOUND', `the agent's part of task ${taskId} is not known`);
      }
      sent = { ...sent, taskId: this.#remoteId };
    }
    const body = JSON.stringify({
      message: sent,
      metadata,
      ...(acceptedOutputModes.length > 0 && { configuration: { acceptedOutputModes } }),
    });
    await this.#sender.send(
      topics.task(name),
      { type: 'task', body, correlationId: taskId, replyTo: replies.topic, principal: caller },
      { mandatory: true },
    );
  }

  async *#follow(inbox: Inbox): AsyncGenerator<TurnEvent> {
    const { signal } = this.#turn;
    using lastWords = new Deadline();
    let waiting = signal;
    for (;;) {
      const message = await inbox.next(waiting);
      if (message === undefined) {
        // Once stopped, the agent's last words are waited for, but not for ever.
        if (waiting !== signal) return;
        await this.#stop(signal.reason);
        const reason = (): Error => new Error(`no last words within ${lastWordsMs} ms`);
        lastWords.restart({ milliseconds: lastWordsMs, reason });
        waiting = lastWords.signal;
        continue;
      }
      if (message.type === 'update') {
        yield* await this.#update(message);
      } else if (message.type === 'error') {
        yield failure(readError(message.body));
        return;
      } else {
        yield* await this.#result(readResult(message.body));
        return;
      }
    }
  }

  /** A task that is given up is cancelled at its agent; one that another process takes over is not. */
  async #stop(reason: unknown): Promise<void> {
    const cause = reason instanceof TurnStopped ? reason.stopCause : undefined;
    if (cause === 'shutdown' || cause === 'lost') throw reason;
    await this.cancel();
  }

  async #update({ body, headers }: BusMessage): Promise<Iterable<TurnEvent>> {
    const event = readUpdate(body);
    const told = 'statusUpdate' in event ? event.statusUpdate.taskId : undefined;
    await this.#know(told ?? ('task' in event ? event.task.id : undefined));
    const series = headers[headerNames.series] ?? '';
    return this.#relay.update(event, series, Number(headers[headerNames.sequence] ?? 0));
  }

  async #result(response: SendMessageResponse): Promise<readonly TurnEvent[]> {
    if ('message' in response) {
      const { parts, metadata } = response.message;
      return [{ kind: 'message', parts, ...(metadata !== undefined && { metadata }) }];
    }
    const { id, status, artifacts = [], metadata } = response.task;
    await this.#know(id);
    const end: TurnEnd = {
      kind: kindOf(status.state),
      ...(status.message !== undefined && { parts: status.message.parts }),
      ...(metadata !== undefined && { metadata }),
    };
    return [...this.#relay.artifacts(artifacts, true), end];
  }

  async #know(remoteId: string | undefined): Promise<void> {
    if (remoteId === undefined || remoteId === this.#remoteId) return;
    this.#remoteId = remoteId;
    await this.#options.remoteIds.keep(this.#turn.taskId, remoteId);
  }
}

/** Callers that are not proved are told apart by their names, which are the same in every process. */
function senderName(gateway: string, { tenant, subject }: Caller): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([tenant, subject]))
    .digest('hex');
  return `${gateway.slice(0, 60)}-${digest.slice(0, 32)}`;
}

function kindOf(state: TaskState): EndKind {
  switch (state) {
    case 'TASK_STATE_COMPLETED':
      return 'completed';
    case 'TASK_STATE_CANCELED':
      return 'canceled';
    case 'TASK_STATE_INPUT_REQUIRED':
      return 'input-required';
    case 'TASK_STATE_AUTH_REQUIRED':
      return 'auth-required';
    case 'TASK_STATE_REJECTED':
      return 'rejected';
    default:
      return 'failed';
  }
}

/** An error of the agent, for machines and for people. */
function failure(error: LegateError): TurnEnd {
  const type = error.code.toLowerCase();
  const what =
    error.code === 'INTERNAL' ? 'The agent failed while working on this task.' : error.message;
  return failed(
    [
      data({
        state: 'failed',
        error_type: type,
        ...(error.metadata && { error_info: error.metadata }),
      }),
      text(what),
    ],
    { metadata: { error_type: type } },
  );
}
