import type { Client } from '../../../client/index.ts';
import { type JsonObject, LegateError, toLegateError } from '../../../protocol/index.ts';
import { type Deadline, until } from '../../../time/index.ts';
import type { Logger } from '../../../telemetry/index.ts';
import type { Call } from '../../executor/index.ts';
import type { ExternalAgent } from '../../project/index.ts';
import type { AgentInput, AgentOutput } from '../model.ts';
import { timeLimit } from '../patience.ts';
import { AgentConnection } from './agent-connection.ts';
import { askAgent, recallMs } from './ask-agent.ts';
import type { ExternalParts } from './connect-agent.ts';
import { Detachment } from './detachment.ts';
import { answerOf, artifactsOf, deadlineOf, taskOf } from './kept-task.ts';
import { failedOutput, isGivenUp, isPassing, isTaskGone } from './peer-failures.ts';
import { PeerProgress } from './peer-progress.ts';

/** The longest an agent may take that streams, in seconds; one that must be asked has its own time. */
const longestStream = 600;
const cancelTimeoutMs = 4_000;
const lookTimeoutMs = 30_000;

/** One wait for an answer, and what may end it. */
interface Waiting {
  readonly call: Call;
  readonly limit: Deadline;
  readonly detachment: Detachment;
}

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
  readonly #connection: AgentConnection;

  constructor(parts: ExternalParts) {
    this.#agent = parts.agent;
    this.#connection = new AgentConnection(parts);
  }

  /** Asks the agent for a task that cannot be there: whoever says so is alive and lets us in. */
  async check(signal?: AbortSignal): Promise<void> {
    const client = await this.#connection.client();
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
    const progress = this.#progress(call);
    try {
      const client = await until(this.#connection.client(), call.signal);
      const follow = (waiting: Waiting) => this.#follow(client, progress, input, waiting);
      return await this.#wait({ client, call, input, progress }, follow);
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
    const progress = this.#progress(call);
    try {
      const taskId = taskOf(call.metadata);
      if (taskId === undefined) throw new LegateError('TASK_NOT_FOUND', 'no task is known');
      const client = await this.#lookAt(taskId, progress, call);
      const deadline = deadlineOf(call.metadata);
      const isLate = deadline !== undefined && call.clock.now() >= deadline;
      const isOver = progress.status === undefined && isLate;
      if (isOver || progress.isWaitingForConsent) await this.#cancel(client, taskId, call.logger);
      return isOver ? timedOut(id, this.#seconds(client)) : answerOf(progress, id, { deadline });
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
    const taskId = taskOf(call.metadata);
    const { last_message: kept } = call.metadata;
    const last = typeof kept === 'string' ? kept : '';
    if (taskId === undefined) {
      if (last === '') return undefined;
      return { id, status: 'input_required', responseMessage: last, metadata: call.metadata };
    }
    const progress = this.#progress(call);
    try {
      const client = await this.#lookAt(taskId, progress, call);
      if (progress.status !== undefined) return answerOf(progress, id, { last });
      // It went on without us: whatever comes of it is told when it is there.
      return await this.#wait({ client, call, input, progress, last }, async ({ detachment }) => {
        detachment.allow();
        progress.accept({ task: await client.waitForEnd(taskId, { signal: detachment.signal }) });
      });
    } catch (error) {
      call.signal.throwIfAborted();
      return isTaskGone(error) ? undefined : this.#failure(id, error, call.logger);
    }
  }

  /** The conversation has no use for the task any more. */
  async cancel(metadata: JsonObject, logger: Logger): Promise<void> {
    const taskId = taskOf(metadata);
    if (taskId !== undefined) await this.#cancel(await this.#connection.client(), taskId, logger);
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  /** Waits for an answer until it is there, its time is over, the user is let go or the turn ends. */
  async #wait(
    {
      client,
      call,
      input,
      progress,
      last = '',
    }: {
      readonly client: Client;
      readonly call: Call;
      readonly input: AgentInput;
      readonly progress: PeerProgress;
      readonly last?: string;
    },
    work: (waiting: Waiting) => Promise<void>,
  ): Promise<AgentOutput> {
    const { timeout, backgroundAfter } = this.#agent;
    const seconds = this.#seconds(client);
    const deadline = timeout === undefined ? undefined : call.clock.now() + timeout * 1000;
    using limit = timeLimit(seconds, call.signal);
    using detachment = new Detachment(backgroundAfter, limit.signal);
    try {
      await work({ call, limit, detachment });
    } catch (error) {
      const isFatal = !detachment.isDetached && !isPassing(error) && !isTaskGone(error);
      if (call.signal.aborted ? isGivenUp(call.signal) : limit.hasExpired || isFatal) {
        await this.#cancel(client, progress.taskId ?? taskOf(call.metadata), call.logger);
      }
      call.signal.throwIfAborted();
      if (limit.hasExpired) return timedOut(input.id, seconds);
      if (!detachment.isDetached) throw error;
    }
    // Nobody here could give the consent that it waits for.
    if (progress.isWaitingForConsent) await this.#cancel(client, progress.taskId, call.logger);
    return answerOf(progress, input.id, { last, deadline });
  }

  async #follow(
    client: Client,
    progress: PeerProgress,
    input: AgentInput,
    { call, limit, detachment }: Waiting,
  ): Promise<void> {
    const responses = askAgent(client, input, {
      signal: detachment.signal,
      // Our own time being over is a reason like any other.
      isGivenUp: () => limit.hasExpired || isGivenUp(call.signal),
      name: this.#agent.name,
      logger: call.logger,
    });
    for await (const response of responses) {
      const words = progress.accept(response);
      if (words !== undefined && words !== '') {
        await call.say({ text: words, metadata: { intermediate: true } });
      }
      if (progress.isWaitingForConsent) break;
      // A task that is continued may still show its question at first: that is no work to be left alone.
      if (progress.taskId !== undefined && progress.status === undefined) detachment.allow();
    }
    if (progress.status === undefined) {
      throw new LegateError('PEER_INVALID', 'the agent ended its answer without an end');
    }
  }

  async #lookAt(taskId: string, progress: PeerProgress, { signal }: Call): Promise<Client> {
    const client = await until(this.#connection.client(), signal);
    progress.accept({ task: await client.getTask(taskId, { signal, timeoutMs: lookTimeoutMs }) });
    return client;
  }

  #progress({ metadata }: Call): PeerProgress {
    return new PeerProgress(this.#agent.name, artifactsOf(metadata));
  }

  /** How long an answer may take. */
  #seconds({ card }: Client): number {
    const { timeout, maxPollingTime } = this.#agent;
    return timeout ?? (card.capabilities.streaming === true ? longestStream : maxPollingTime);
  }

  #failure(id: string, error: unknown, logger: Logger): AgentOutput {
    logger.warn({ agent: this.#agent.name, error }, 'sub_agent.external.failed');
    // The agent may be back somewhere else: its card says where.
    if (isPassing(error)) void this.#connection.close({ graceMs: recallMs });
    return failedOutput(id, error);
  }

  /** An agent that cannot or will not stop is no reason for us not to. */
  async #cancel(client: Client, taskId: string | undefined, logger: Logger): Promise<void> {
    if (taskId === undefined) return;
    try {
      await client.cancelTask(taskId, { timeoutMs: cancelTimeoutMs });
    } catch (error) {
      logger.warn({ agent: this.#agent.name, taskId, error }, 'sub_agent.cancel_failed');
    }
  }
}

function timedOut(id: string, seconds: number): AgentOutput {
  return { id, status: 'fatal_error', errorMessage: `took longer than ${seconds} s` };
}
