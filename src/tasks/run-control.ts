import type { TurnEnd } from '../agents/index.ts';
import { data, isJsonObject, LegateError } from '../protocol/index.ts';
import { engineEnd } from './agent-events.ts';
import type { EngineSettings } from './options.ts';
import type { Timer } from './scheduler.ts';
import { hideSecrets, type Logger } from '../telemetry/index.ts';

/** Why a turn was stopped from outside. */
export type StopCause = 'cancel' | 'timeout' | 'inactivity' | 'shutdown' | 'lost';

/** The `reason` of a turn's abort signal, and what ends an agent that does not heed it. */
export class TurnStopped extends Error {
  override readonly name = 'TurnStopped';
  readonly stopCause: StopCause;
  /** The turn runs again, in another process or in this one later: its remote work must continue. */
  readonly handsOver: boolean;

  constructor(stopCause: StopCause, { handsOver = false }: { readonly handsOver?: boolean } = {}) {
    super(`the turn was stopped: ${stopCause}`);
    this.stopCause = stopCause;
    this.handsOver = handsOver;
  }
}

/** The end of a task whose process stopped or died under it. */
export function interruptedEnd(): TurnEnd {
  return engineEnd('failed', 'interrupted', 'The server was stopped while working on this task.');
}

/** How a turn ends whose agent threw, or did not heed its being stopped. */
export function endAfter(
  error: unknown,
  { isStopped, logger }: { readonly isStopped: boolean; readonly logger: Logger },
): TurnEnd {
  if (error instanceof TurnStopped) return { kind: 'canceled' };
  if (error instanceof LegateError && error.code === 'INVALID_AGENT_RESPONSE') {
    logger.error({ error }, 'tasks.agent.invalid_response');
    return { ...engineEnd('failed', 'invalid_agent_response', error.message), error };
  }
  if (!isStopped) logger.error({ error }, 'tasks.agent.failed');
  const end = engineEnd('failed', 'agent_error', 'The agent failed while working on this task.');
  return { ...end, error };
}

/** The end of a failed turn with the words of its error, for developers. */
export function withReason(end: TurnEnd): TurnEnd {
  const { kind, error, parts = [] } = end;
  if (kind !== 'failed' || !(error instanceof Error)) return end;
  const reason = hideSecrets(error.message);
  const last = parts.at(-1);
  if (last?.text === undefined) return { ...end, parts: [...parts, { text: reason }] };
  if (last.text.includes(reason)) return end;
  // The texts of one message are read as one: "It failed." and "Why" would run together.
  const why = { ...last, text: `${last.text.replace(/\.$/, '')}: ${reason}` };
  return { ...end, parts: [...parts.slice(0, -1), why] };
}

/** The cause of a stop overrules what the agent said, but keeps its words and its state. */
export function decideEnd(
  said: TurnEnd,
  cause: StopCause,
  about: {
    readonly settings: Pick<EngineSettings, 'taskTimeoutMs' | 'inactivityTimeoutMs'>;
    /** The agent did not end by itself. */
    readonly isUnfinished: boolean;
    /** Makes a logger for each use. */
    readonly view: { readonly logger: Logger };
  },
): TurnEnd {
  const { settings, isUnfinished, view } = about;
  switch (cause) {
    case 'lost':
      return said;
    case 'cancel':
      return { ...(said.kind === 'failed' ? {} : said), kind: 'canceled' };
    case 'timeout': {
      view.logger.warn({}, 'tasks.turn.timeout');
      const text = `The task was cancelled: it took longer than ${settings.taskTimeoutMs / 1000} s.`;
      return keep(said, engineEnd('canceled', 'timeout', text));
    }
    case 'inactivity': {
      const text = `The agent was silent for more than ${settings.inactivityTimeoutMs / 1000} s.`;
      return keep(said, engineEnd('failed', 'inactivity', text));
    }
    case 'shutdown':
      return isUnfinished ? interruptedEnd() : said;
  }
}

/** Data that an agent gives of its own cancellation stays beside the cause. */
function keep(said: TurnEnd, decided: TurnEnd): TurnEnd {
  const details = said.kind === decided.kind ? said.parts?.[0]?.data : undefined;
  const [cause, ...words] = decided.parts ?? [];
  const parts =
    isJsonObject(details) && isJsonObject(cause?.data)
      ? { parts: [data({ ...details, ...cause.data }), ...words] }
      : {};
  const context = said.context !== undefined && { context: said.context };
  return { ...decided, ...parts, ...context };
}

/**
 * How a run is stopped.
 *
 * - **running**: no stop was requested.
 * - **stopping**: `onAbort` was called; the agent has the grace time to end by itself.
 * - **forced**: whatever waits in `guard` rejects, and the agent is not waited for any more.
 */
export class RunControl {
  readonly #settings: EngineSettings;
  readonly #runsAgain: boolean;
  readonly #onAbort: (reason: TurnStopped) => void;
  #cause: StopCause | undefined;
  #onStop: (() => void) | undefined;
  #isForced = false;
  #interrupt: ((error: Error) => void) | undefined;
  #timeout: Timer | undefined;
  #inactivity: Timer | undefined;
  #grace: Timer | undefined;

  /** `runsAgain`: whether an interrupted run is repeated where the agent says so. */
  constructor(
    settings: EngineSettings,
    options: { runsAgain: boolean; onAbort: (reason: TurnStopped) => void },
  ) {
    this.#settings = settings;
    this.#runsAgain = options.runsAgain;
    this.#onAbort = options.onAbort;
  }

  /** Why the run was asked to stop. */
  get cause(): StopCause | undefined {
    return this.#cause;
  }

  /** Starts the limits of a run: its whole time, and its longest silence. End them with `clear`. */
  limit(): void {
    const { scheduler, taskTimeoutMs, inactivityTimeoutMs } = this.#settings;
    if (taskTimeoutMs > 0)
      this.#timeout = scheduler.after(taskTimeoutMs, () => this.stop('timeout'));
    if (inactivityTimeoutMs > 0)
      this.#inactivity = scheduler.after(inactivityTimeoutMs, () => this.stop('inactivity'));
  }

  /** The agent has said something. */
  restartSilence(): void {
    this.#inactivity?.restart();
  }

  clear(): void {
    this.#timeout?.cancel();
    this.#inactivity?.cancel();
    this.#grace?.cancel();
  }

  /** Calls back when the run is asked to stop, at once when it was before. One callback only. */
  onStop(callback: () => void): void {
    if (this.#cause === undefined) this.#onStop = callback;
    else callback();
  }

  /**
   * Asks the run to stop; forces it when it does not within the grace time. The first cause holds,
   * except that what was lost is lost whatever else was asked of it.
   */
  stop(cause: StopCause): void {
    if (this.#cause !== undefined && cause !== 'lost') return;
    this.#cause = cause;
    this.#onStop?.();
    const { scheduler, cancelGraceMs, agent } = this.#settings;
    const isInterrupted = cause === 'shutdown' || cause === 'lost';
    const handsOver = isInterrupted && this.#runsAgain && agent.onInterrupted === 'run-again';
    const stopped = new TurnStopped(cause, { handsOver });
    this.#onAbort(stopped);
    const force = (): void => {
      this.#isForced = true;
      this.#interrupt?.(stopped);
    };
    if (cause === 'lost' || cancelGraceMs === 0) force();
    else this.#grace = scheduler.after(cancelGraceMs, force);
  }

  /** Throws when the run was asked to stop. */
  throwIfStopped(): void {
    if (this.#cause !== undefined) throw new TurnStopped(this.#cause);
  }

  /** Waits for the agent, but not beyond a forced stop. No listener outlives its wait. */
  guard<T>(work: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#interrupt = reject;
      if (this.#isForced) reject(new TurnStopped(this.#cause ?? 'lost'));
      work.then(resolve, reject);
    });
  }
}
