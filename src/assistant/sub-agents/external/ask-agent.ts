import type { Client } from '../../../client/index.ts';
import { LegateError, type Message, type StreamResponse } from '../../../protocol/index.ts';
import type { Logger } from '../../../telemetry/index.ts';
import type { AgentInput } from '../model.ts';
import { toMessage } from './external-message.ts';

/** How long a message may be called back that was given up before its task was known. */
export const recallMs = 30_000;

export interface AskOptions {
  readonly signal: AbortSignal;
  /** Whether nobody has any use for the task, when the signal ends the asking. */
  readonly isGivenUp: () => boolean;
  /** The agent's name, for the log. */
  readonly name: string;
  readonly logger: Logger;
}

/**
 * What an agent elsewhere has to say to an input. An agent that names its conversations itself refuses
 * the name that we give to a new one: it is asked once more, without.
 */
export async function* askAgent(
  client: Client,
  input: AgentInput,
  { signal, isGivenUp, name, logger }: AskOptions,
): AsyncGenerator<StreamResponse> {
  const recall = {
    timeoutMs: recallMs,
    isMeant: isGivenUp,
    onFailure: (error: unknown) => logger.warn({ agent: name, error }, 'sub_agent.cancel_failed'),
  };
  let message = toMessage(input);
  for (;;) {
    try {
      const events = client.sendStreamingMessage({ message }, { signal, recall });
      for await (const { response } of events) yield response;
      return;
    } catch (error) {
      if (!isRefusedName(error, message)) throw error;
      const { contextId: _, ...nameless } = message;
      message = nameless;
    }
  }
}

/** A message that was refused began nothing, so that it may be sent again. */
function isRefusedName(error: unknown, { contextId, taskId }: Message): boolean {
  return (
    contextId !== undefined &&
    taskId === undefined &&
    error instanceof LegateError &&
    (error.code === 'INVALID_PARAMS' || error.code === 'INVALID_REQUEST')
  );
}
