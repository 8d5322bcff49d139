import type { Client } from '../../../client/index.ts';
import {
  isTerminal,
  type JsonObject,
  LegateError,
  toLegateError,
} from '../../../protocol/index.ts';
import { until } from '../../../time/index.ts';
import type { Logger } from '../../../telemetry/index.ts';
import type { Call } from '../../executor/index.ts';
import type { ExternalAgent } from '../../project/index.ts';
import type { AgentInput, AgentOutput } from '../model.ts';
import { timeLimit } from '../patience.ts';
import { askAgent, recallMs } from './ask-agent.ts';
import { connectAgent, type ExternalParts } from './connect-agent.ts';
import { failedOutput, isGivenUp, isPassing, isTaskGone } from './peer-failures.ts';
import { PeerProgress } from './peer-progress.ts';

/** The longest an agent may take that streams, in seconds; one that must be asked has its own time. */
const longestStream = 600;
const cancelTimeoutMs = 4_000;

/** An agent with protocol A2A. The connection is made when it is first needed. */
export class ExternalCaller {
  readonly #parts: ExternalParts;
  #connecting: Promise<Client> | undefined;
  /** What the connecting has led to. */
  #reached: Client | undefined;

  constructor(parts: ExternalParts) {
    this.#parts = parts;
  }

  /** Asks the agent for a task that cannot be there: whoever says so is alive and lets us in. */
  async check(signal?: AbortSignal): Promise<void> {
    const client = await this.#client();
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
    const { agent } = this.#parts;
    let client: Client;
    try {
      client = await until(this.#client(), call.signal);
    } catch (error) {
      call.signal.throwIfAborted();
      return this.#failure(input.id, error, call.logger);
    }
    const seconds = secondsFor(agent, client);
    using limit = timeLimit(seconds, call.signal);
    const progress = new PeerProgress(agent.name, artifactsOf(call.metadata));
    try {
      await this.#follow(client, progress, { call, input, signal: limit.signal });
    } catch (error) {
      if (isGivenUp(call.signal) || limit.hasExpired) {
        await cancel(client, progress.taskId ?? taskOf(call.metadata), agent.name, call.logger);
      }
      call.signal.throwIfAborted();
      if (!limit.hasExpired && isTaskGone(error) && input.metadata['task_id'] !== undefined) {
        // The task ended without us; what the user said begins another one of the conversation.
        const { task_id: _, ...metadata } = input.metadata;
        return this.run(call, { ...input, id: `${input.id}-anew`, metadata });
      }
      if (limit.hasExpired) return timedOut(input.id, seconds);
      return this.#failure(input.id, error, call.logger);
    }
    const output = progress.output(input.id);
    if (output.status !== 'input_required') return output;
    return { ...output, metadata: waitingFor(progress, output) };
  }

  /** The conversation has no use for the task any more. */
  async cancel(metadata: JsonObject, logger: Logger): Promise<void> {
    const taskId = taskOf(metadata);
    if (taskId !== undefined) {
      await cancel(await this.#client(), taskId, this.#parts.agent.name, logger);
    }
  }

  async #follow(
    client: Client,
    progress: PeerProgress,
    { call, input, signal }: { call: Call; input: AgentInput; signal: AbortSignal },
  ): Promise<void> {
    const { name } = this.#parts.agent;
    const responses = askAgent(client, input, {
      signal,
      // Our own time being over is a reason like any other.
      isGivenUp: () => !call.signal.aborted || isGivenUp(call.signal),
      name,
      logger: call.logger,
    });
    for await (const response of responses) {
      const words = progress.accept(response);
      if (words !== undefined && words !== '') {
        await call.say({ text: words, metadata: { intermediate: true } });
      }
      if (progress.isWaitingForConsent) break;
    }
    if (progress.status === undefined) {
      throw new LegateError('PEER_INVALID', 'the agent ended its answer without an end');
    }
    if (progress.isWaitingForConsent) {
      await cancel(client, progress.taskId, name, call.logger);
    }
  }

  /**
   * After an interruption the user's message is no answer to the agent, so it is not sent: the
   * task is looked at, and what it waits for is asked again.
   */
  async lookAgain(call: Call, input: AgentInput): Promise<AgentOutput | undefined> {
    const taskId = taskOf(call.metadata);
    const { last_message: last } = call.metadata;
    if (taskId === undefined) {
      if (typeof last !== 'string' || last === '') return undefined;
      const metadata = call.metadata;
      return { id: input.id, status: 'input_required', responseMessage: last, metadata };
    }
    const { agent } = this.#parts;
    try {
      const client = await until(this.#client(), call.signal);
      const task = await client.getTask(taskId, { signal: call.signal, timeoutMs: 30_000 });
      const progress = new PeerProgress(agent.name, artifactsOf(call.metadata));
      progress.accept({ task });
      const { state } = task.status;
      // It went on without us: whatever comes of it is told when it is there.
      if (!isTerminal(state) && progress.status === undefined) {
        const seconds = secondsFor(agent, client);
        using limit = timeLimit(seconds, call.signal);
        try {
          const ended = await client.waitForEnd(taskId, { signal: limit.signal });
          progress.accept({ task: ended });
        } catch (error) {
          if (isGivenUp(call.signal) || limit.hasExpired) {
            await cancel(client, taskId, agent.name, call.logger);
          }
          call.signal.throwIfAborted();
          if (!limit.hasExpired) throw error;
          return timedOut(input.id, seconds);
        }
      }
      const output = progress.output(input.id);
      if (output.status !== 'input_required') return output;
      const { responseMessage = typeof last === 'string' ? last : '' } = output;
      return { ...output, responseMessage, metadata: waitingFor(progress, { responseMessage }) };
    } catch (error) {
      call.signal.throwIfAborted();
      if (isTaskGone(error)) return undefined;
      return this.#failure(input.id, error, call.logger);
    }
  }

  #failure(id: string, error: unknown, logger: Logger): AgentOutput {
    logger.warn({ agent: this.#parts.agent.name, error }, 'sub_agent.external.failed');
    // The agent may be back somewhere else: its card says where.
    if (isPassing(error)) void this.close({ graceMs: recallMs });
    return failedOutput(id, error);
  }

  /**
   * Lets go of the connection; the next call makes another. Resolves when the messages that were given
   * up have been called back, which may take no longer than `graceMs`.
   */
  async close(options?: { readonly graceMs?: number }): Promise<void> {
    const [connecting, reached] = [this.#connecting, this.#reached];
    this.#connecting = undefined;
    this.#reached = undefined;
    if (reached !== undefined) return reached.close(options);
    // Not waited for: a card may be long in coming. One that failed was told to whoever called.
    connecting?.then((client) => client.close()).catch(() => undefined);
  }

  #client(): Promise<Client> {
    if (this.#connecting !== undefined) return this.#connecting;
    const connecting = connectAgent(this.#parts).then(
      (client) => {
        if (this.#connecting === connecting) this.#reached = client;
        return client;
      },
      (error: unknown) => {
        // The next call may find it.
        if (this.#connecting === connecting) this.#connecting = undefined;
        throw error;
      },
    );
    this.#connecting = connecting;
    return connecting;
  }
}

/** How long an answer may take. */
function secondsFor({ timeout, maxPollingTime }: ExternalAgent, { card }: Client): number {
  return timeout ?? (card.capabilities.streaming === true ? longestStream : maxPollingTime);
}

function timedOut(id: string, seconds: number): AgentOutput {
  return { id, status: 'fatal_error', errorMessage: `took longer than ${seconds} s` };
}

/** What has to be known for the user's answer to reach the same task. */
function waitingFor(
  { contextId, taskId, digests }: PeerProgress,
  { responseMessage = '' }: Pick<AgentOutput, 'responseMessage'>,
): JsonObject {
  return {
    ...(contextId !== undefined && { context_id: contextId }),
    ...(taskId !== undefined && { task_id: taskId }),
    last_message: responseMessage.slice(0, 2_000),
    ...(Object.keys(digests).length > 0 && { artifacts: digests }),
  };
}

function taskOf({ task_id: id }: JsonObject): string | undefined {
  return typeof id === 'string' ? id : undefined;
}

function artifactsOf({ artifacts }: JsonObject): JsonObject {
  const isObject = typeof artifacts === 'object' && artifacts !== null && !Array.isArray(artifacts);
  return isObject ? (artifacts as JsonObject) : {};
}

/** An agent that cannot or will not stop is no reason for us not to. */
async function cancel(
  client: Client,
  taskId: string | undefined,
  agent: string,
  logger: Logger,
): Promise<void> {
  if (taskId === undefined) return;
  try {
    await client.cancelTask(taskId, { timeoutMs: cancelTimeoutMs });
  } catch (error) {
    logger.warn({ agent, taskId, error }, 'sub_agent.cancel_failed');
  }
}
