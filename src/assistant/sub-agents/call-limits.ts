import { backoff, Deadline } from '../../time/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { Call } from '../executor/call-handler.ts';
import type { AgentOutput } from './model.ts';
import { bounded } from './outcome.ts';

export type Sleep = (milliseconds: number, signal?: AbortSignal) => Promise<void>;

const delays = { initialMs: 500, maximumMs: 8_000 };

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
    const delayMs = backoff(count + 1, delays);
    logger.warn(
      { agent, attempt: count + 1, waitMs: delayMs, error: output.errorMessage },
      'sub_agent.retry',
    );
    await sleep(delayMs, signal);
  }
}

/** An abort signal for the timeout of an agent or a tool, in seconds; undefined for no limit. */
export function timeLimit(seconds: number | undefined, signal: AbortSignal): Deadline {
  const reason = (): Error => new Error(`took longer than ${seconds} s`);
  return new Deadline({ signal, milliseconds: (seconds ?? 0) * 1000, reason });
}

/** Maximum number of progress messages per call; further ones are dropped. */
const maxMessages = 200;

/**
 * Progress messages of a call over all attempts: deduplicated, since a retried agent may send them
 * again, and limited in number. Messages after the end of the call are dropped.
 */
export class ProgressMessages implements Disposable {
  readonly #call: Call;
  readonly #sent = new Set<string>();
  #count = 0;
  #isOver = false;

  constructor(call: Call) {
    this.#call = call;
  }

  /** For the next attempt. */
  attempt(): Call['say'] {
    const before = new Set(this.#sent);
    return async (message) => {
      if (this.#isOver) return;
      const { text } = message;
      const sent = text === undefined ? message : { ...message, text: bounded(text) };
      const identity = JSON.stringify(sent);
      if (before.has(identity)) return;
      this.#count += 1;
      if (this.#count === maxMessages + 1) {
        this.#call.logger.warn({ agent: this.#call.step.target }, 'sub_agent.progress_dropped');
      }
      if (this.#count > maxMessages) return;
      this.#sent.add(identity);
      await this.#call.say(sent);
    };
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
  }
}
