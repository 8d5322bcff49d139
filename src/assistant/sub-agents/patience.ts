import { backoff, Deadline } from '../../time/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { AgentOutput } from './model.ts';

export type Sleep = (milliseconds: number, signal?: AbortSignal) => Promise<void>;

const waits = { initialMs: 500, maximumMs: 8_000 };

/** Retries recoverable errors of an agent with exponential backoff; the last one becomes fatal. */
export async function withRetries(
  attempt: () => Promise<AgentOutput>,
  options: {
    readonly agent: string;
    readonly retries: number;
    readonly sleep: Sleep;
    readonly signal: AbortSignal;
    readonly logger: Logger;
  },
): Promise<AgentOutput> {
  const { agent, retries, sleep, signal, logger } = options;
  for (let count = 0; ; count += 1) {
    const output = await attempt();
    if (output.status !== 'recoverable_error') return output;
    if (count >= retries) return { ...output, status: 'fatal_error' };
    const waitMs = backoff(count + 1, waits);
    logger.warn(
      { agent, attempt: count + 1, waitMs, error: output.errorMessage },
      'sub_agent.retry',
    );
    await sleep(waitMs, signal);
  }
}

/** An abort signal for the timeout of an agent or a tool, in seconds; undefined for no limit. */
export function timeLimit(seconds: number | undefined, signal: AbortSignal): Deadline {
  const reason = (): Error => new Error(`took longer than ${seconds} s`);
  return new Deadline({ signal, milliseconds: (seconds ?? 0) * 1000, reason });
}
