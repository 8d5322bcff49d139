import { handsOver, LazyClient } from '../../../agents/index.ts';
import type { Client, RemoteTaskOptions, ResumePoint } from '../../../client/index.ts';
import {
  type JsonObject,
  LegateError,
  type Message,
  type SendMessageResponse,
  toLegateError,
} from '../../../protocol/index.ts';
import type { Logger } from '../../../telemetry/index.ts';
import type { Call } from '../../executor/call-handler.ts';
import type { ExternalAgent } from '../../project/model.ts';
import type { AgentInput, AgentOutput } from '../model.ts';
import { connectAgent, type ExternalParts } from './connect-agent.ts';
import { toMessage } from './external-message.ts';
import { atWork, failedOutput, isPassing, isSettled, outputOf, textOf } from './external-output.ts';

/** The longest an agent may take that streams, in seconds; one that must be asked has its own time. */
const longestStream = 600;
const lookTimeoutMs = 30_000;
/** How long messages that were given up may take to be cancelled when a connection is replaced. */
const closeGraceMs = 30_000;
/** Of all artifacts of one call: half an answer is none. */
const limits = { parts: 10_000, characters: 10_000_000 };

/**
 * An agent with protocol A2A. The connection is made when it is first needed.
 *
 * - **called**: its answer is followed, for at most `timeout`; then its task is cancelled.
 * - **at work**: it took longer than a user waits (`background_after`). The user is let go, and the
 *   task there goes on; what is known of it is kept with the conversation (`at_work`), so that any
 *   process can ask for it.
 * - **looked at**: with the next message to it. What it came to by then is its answer; else it is
 *   still at work, or cancelled when `timeout` is over.
 */
export class ExternalCaller {
  readonly #agent: ExternalAgent;
  readonly #connection: LazyClient;

  constructor(parts: ExternalParts) {
    this.#agent = parts.agent;
    this.#connection = new LazyClient(() => connectAgent(parts));
  }

  /** Asks the agent for a task that cannot be there: whoever says so is alive and lets us in. */
  async check(signal?: AbortSignal): Promise<void> {
    const client = await this.#connection.get();
    try {
      await client.getTask('startup-check', { timeoutMs: 10_000, ...(signal && { signal }) });
    } catch (error) {
      const { code } = toLegateError(error);
      if (isPassing(error) || code === 'UNAUTHENTICATED' || code === 'PERMISSION_DENIED') {
        throw error;
      }
    }
  }

  async run(call: Call, input: AgentInput): Promise<AgentOutput> {
    try {
      const client = await this.#connection.get(call.signal);
      return await this.#send(client, call, input, toMessage(input));
    } catch (error) {
      call.signal.throwIfAborted();
      if (!isTaskGone(error) || input.metadata['task_id'] === undefined) {
        return this.#failure(input.id, error, call.logger);
      }
      // The task ended without us; what the user said begins another one of the conversation.
      const { task_id: _, ...metadata } = input.metadata;
      return this.run(call, { ...input, id: `${input.id}-anew`, metadata });
    }
  }

  /** What has become of a task that was left to itself. */
  async look(call: Call, input: AgentInput): Promise<AgentOutput> {
    const { id } = input;
    const { task_deadline: stored } = call.metadata;
    const deadline = typeof stored === 'number' ? stored : undefined;
    try {
      const point = await pointOf(call.metadata, id);
      const { taskId } = point;
      if (taskId === undefined) throw new LegateError('TASK_NOT_FOUND', 'no task is known');
      const client = await this.#connection.get(call.signal);
      const { signal } = call;
      const task = await client.getTask(taskId, { signal, timeoutMs: lookTimeoutMs });
      if (isSettled(task)) return await this.#answer({ task }, { call, id, point });
      if (deadline === undefined || call.clock.now() < deadline) return atWork(id, point, deadline);
      await this.cancel(call.metadata, call.logger);
      return timedOut(id, this.#seconds(client));
    } catch (error) {
      call.signal.throwIfAborted();
      return this.#failure(id, error, call.logger);
    }
  }

  /**
   * After an interruption the user's message is no answer to the agent, so it is not sent: the
   * task is looked at, and what it waits for is asked again.
   */
  async lookAgain(call: Call, input: AgentInput): Promise<AgentOutput | undefined> {
    const { id } = input;
    const { last_message: kept } = call.metadata;
    const last = typeof kept === 'string' ? kept : '';
    const point = await pointOf(call.metadata, id);
    if (point.taskId === undefined) {
      if (last === '') return undefined;
      return { id, status: 'input_required', responseMessage: last, metadata: call.metadata };
    }
    try {
      const client = await this.#connection.get(call.signal);
      const message = toMessage(input);
      // Whatever comes of a task that went on without us is told when it is there.
      const quiet = { ...call, say: () => Promise.resolve() };
      return await this.#follow(client, quiet, id, { message, point, last });
    } catch (error) {
      call.signal.throwIfAborted();
      return isTaskGone(error) ? undefined : this.#failure(id, error, call.logger);
    }
  }

  /** The conversation has no use for the task any more. An agent that will not stop is left alone. */
  async cancel({ task_id: taskId }: JsonObject, logger: Logger): Promise<void> {
    if (typeof taskId !== 'string') return;
    const client = await this.#connection.get();
    await client.cancelTask(taskId, { timeoutMs: 4_000 }).catch(this.#cancelFailed(logger));
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  /**
   * Sends a message and follows its task. An agent that names its conversations itself refuses the
   * name that we give to a new one: it is asked once more, without.
   */
  async #send(
    client: Client,
    call: Call,
    input: AgentInput,
    message: Message,
  ): Promise<AgentOutput> {
    const known = await pointOf(input.metadata, message.messageId);
    const point = known.taskId === undefined ? undefined : { ...known, state: 'asking' as const };
    try {
      return await this.#follow(client, call, input.id, { message, point });
    } catch (error) {
      if (!isRefusedName(error, message)) throw error;
      const { contextId: _, ...nameless } = message;
      return this.#send(client, call, input, nameless);
    }
  }

  /** Waits for an answer until it is there, its time is over, the user is let go or the turn ends. */
  async #follow(
    client: Client,
    call: Call,
    id: string,
    what: {
      readonly message: Message;
      readonly point: ResumePoint | undefined;
      readonly last?: string;
    },
  ): Promise<AgentOutput> {
    const { RemoteTask, clientTransport } = await import('../../../client/index.ts');
    const { timeout, backgroundAfter } = this.#agent;
    const { message, point, last } = what;
    const seconds = this.#seconds(client);
    const deadline = timeout === undefined ? undefined : call.clock.now() + timeout * 1000;
    const options: RemoteTaskOptions = {
      transport: clientTransport(client),
      request: { message },
      point,
      signal: call.signal,
      timeoutMs: seconds * 1000,
      ...(backgroundAfter !== undefined && { detachAfterMs: backgroundAfter * 1000 }),
      handsOver,
      limits,
      onCancelFailed: this.#cancelFailed(call.logger),
    };
    const task = new RemoteTask(options);
    try {
      for await (const event of task.events()) {
        if (event.kind === 'end' || event.kind === 'question') {
          const answer = event.kind === 'end' ? event.response : { task: event.task };
          const told = point?.told ?? {};
          return await this.#answer(answer, { call, id, point: task.point, told, last });
        }
        const said = event.kind === 'progress' ? textOf(event.parts) : '';
        if (said !== '') await call.say({ text: said, metadata: { intermediate: true } });
      }
    } catch (error) {
      call.signal.throwIfAborted();
      if (task.expired !== undefined) return timedOut(id, seconds);
      throw error;
    }
    return atWork(id, task.point, deadline);
  }

  async #answer(
    answer: SendMessageResponse,
    at: {
      readonly call: Call;
      readonly id: string;
      readonly point: ResumePoint;
      /** @default what the point tells */
      readonly told?: ResumePoint['told'];
      readonly last?: string | undefined;
    },
  ): Promise<AgentOutput> {
    const { call, id, point, told = point.told, last = '' } = at;
    // Nobody here could give the consent that it waits for.
    if ('task' in answer && answer.task.status.state === 'TASK_STATE_AUTH_REQUIRED') {
      await this.cancel({ task_id: answer.task.id }, call.logger);
    }
    return outputOf(answer, point, { id, name: this.#agent.name, told, last });
  }

  /** How long an answer may take. */
  #seconds({ card }: Client): number {
    const { timeout, maxPollingTime } = this.#agent;
    return timeout ?? (card.capabilities.streaming === true ? longestStream : maxPollingTime);
  }

  #failure(id: string, error: unknown, logger: Logger): AgentOutput {
    logger.warn({ agent: this.#agent.name, error }, 'sub_agent.external.failed');
    // The agent may be back somewhere else: its card says where.
    if (isPassing(error)) void this.#connection.close({ graceMs: closeGraceMs });
    return failedOutput(id, error);
  }

  #cancelFailed(logger: Logger): (error: unknown) => void {
    return (error) => logger.warn({ agent: this.#agent.name, error }, 'sub_agent.cancel_failed');
  }
}

/** The task that the conversation keeps. */
async function pointOf(metadata: JsonObject, messageId: string): Promise<ResumePoint> {
  const { readTold } = await import('../../../client/index.ts');
  const { task_id: taskId, context_id: contextId, artifacts } = metadata;
  return {
    v: 1,
    state: 'working',
    messageId,
    ...(typeof taskId === 'string' && { taskId }),
    ...(typeof contextId === 'string' && { contextId }),
    told: readTold(artifacts),
  };
}

/** The task that a message was meant for has ended, or is forgotten. */
function isTaskGone(error: unknown): boolean {
  const { code } = toLegateError(error);
  return code === 'TASK_NOT_FOUND' || code === 'UNSUPPORTED_OPERATION';
}

/** A message that was refused began nothing, so that it may be sent again. */
function isRefusedName(error: unknown, { contextId, taskId }: Message): boolean {
  const { code } = toLegateError(error);
  const isRefused = code === 'INVALID_PARAMS' || code === 'INVALID_REQUEST';
  return contextId !== undefined && taskId === undefined && isRefused;
}

function timedOut(id: string, seconds: number): AgentOutput {
  return { id, status: 'fatal_error', errorMessage: `took longer than ${seconds} s` };
}
