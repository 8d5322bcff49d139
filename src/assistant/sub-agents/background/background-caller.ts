import type { Client } from '../../../client/index.ts';
import { type JsonObject, LegateError } from '../../../protocol/index.ts';
import { until } from '../../../time/index.ts';
import type { Call } from '../../executor/index.ts';
import { askAgent } from '../external/ask-agent.ts';
import { connectAgent, type ExternalParts } from '../external/connect-agent.ts';
import { failedOutput, isGivenUp, isPassing, isTaskGone } from '../external/peer-failures.ts';
import { PeerProgress } from '../external/peer-progress.ts';
import type { AgentInput, AgentOutput } from '../model.ts';
import { Detachment } from './detachment.ts';

const lookTimeoutMs = 30_000;

/**
 * Calls an agent elsewhere that may take longer than a user waits (`background_after`).
 *
 * - **called**: its answer is followed, as that of any agent.
 * - **at work**: the time is over. The user is let go, and the task there goes on; what is known of it
 *   is kept with the conversation (`at_work`), so that any process can ask for it.
 * - **looked at**: with the next message to it. What it came to by then is its answer; else it is
 *   still at work.
 */
export class BackgroundCaller {
  readonly #parts: ExternalParts;
  readonly #seconds: number;
  #connecting: Promise<Client> | undefined;

  constructor(parts: ExternalParts, seconds: number) {
    this.#parts = parts;
    this.#seconds = seconds;
  }

  /** `onLeft` is told of a task that nobody waits for any more: the turn was given up. */
  async run(
    call: Call,
    input: AgentInput,
    onLeft: (metadata: JsonObject) => Promise<void>,
  ): Promise<AgentOutput> {
    const progress = this.#progress(call);
    using detachment = new Detachment(this.#seconds, call.signal);
    try {
      const client = await until(this.#client(), call.signal);
      await follow(client, progress, { call, input, detachment });
    } catch (error) {
      if (isGivenUp(call.signal)) await onLeft({ ...call.metadata, ...placeOf(progress) });
      call.signal.throwIfAborted();
      if (!detachment.isDetached && isTaskGone(error) && input.metadata['task_id'] !== undefined) {
        // The task ended without us; what the user said begins another one of the conversation.
        const { task_id: _, ...metadata } = input.metadata;
        return this.run(call, { ...input, id: `${input.id}-anew`, metadata }, onLeft);
      }
      if (!detachment.isDetached) return this.#failure(input.id, error, call);
    }
    // Nobody here could give the consent that it waits for.
    if (progress.isWaitingForConsent) await onLeft(placeOf(progress));
    return outputOf(progress, input.id);
  }

  /** What has become of a task that was left to itself. */
  async look(call: Call, input: AgentInput): Promise<AgentOutput> {
    const { task_id: taskId } = call.metadata;
    const progress = this.#progress(call);
    try {
      if (typeof taskId !== 'string') throw new LegateError('TASK_NOT_FOUND', 'no task is known');
      const client = await until(this.#client(), call.signal);
      const options = { signal: call.signal, timeoutMs: lookTimeoutMs };
      progress.accept({ task: await client.getTask(taskId, options) });
    } catch (error) {
      call.signal.throwIfAborted();
      return this.#failure(input.id, error, call);
    }
    return outputOf(progress, input.id);
  }

  async close(): Promise<void> {
    const connecting = this.#connecting;
    this.#connecting = undefined;
    // Not waited for: a card may be long in coming.
    connecting?.then((client) => client.close()).catch(() => undefined);
  }

  #progress({ metadata }: Call): PeerProgress {
    const { artifacts } = metadata;
    const known = typeof artifacts === 'object' && artifacts !== null ? artifacts : {};
    return new PeerProgress(this.#parts.agent.name, known as JsonObject);
  }

  #failure(id: string, error: unknown, { logger }: Call): AgentOutput {
    logger.warn({ agent: this.#parts.agent.name, error }, 'sub_agent.external.failed');
    // The agent may be back somewhere else: its card says where.
    if (isPassing(error)) void this.close();
    return failedOutput(id, error);
  }

  #client(): Promise<Client> {
    this.#connecting ??= connectAgent(this.#parts).catch((error: unknown) => {
      // The next call may find it.
      this.#connecting = undefined;
      throw error;
    });
    return this.#connecting;
  }
}

async function follow(
  client: Client,
  progress: PeerProgress,
  {
    call,
    input,
    detachment,
  }: { readonly call: Call; readonly input: AgentInput; readonly detachment: Detachment },
): Promise<void> {
  const responses = askAgent(client, input, {
    signal: detachment.signal,
    isGivenUp: () => isGivenUp(call.signal),
    name: progress.name,
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

/** One that has no end yet is at work; there is nothing to say for it. */
function outputOf(progress: PeerProgress, id: string): AgentOutput {
  const place = placeOf(progress);
  if (progress.status === undefined) {
    return { id, status: 'input_required', metadata: { ...place, at_work: true } };
  }
  const output = progress.output(id);
  if (output.status !== 'input_required') return output;
  const lastMessage = (output.responseMessage ?? '').slice(0, 2_000);
  return { ...output, metadata: { ...place, last_message: lastMessage } };
}

function placeOf({ contextId, taskId, digests }: PeerProgress): JsonObject {
  return {
    ...(contextId !== undefined && { context_id: contextId }),
    ...(taskId !== undefined && { task_id: taskId }),
    ...(Object.keys(digests).length > 0 && { artifacts: digests }),
  };
}
