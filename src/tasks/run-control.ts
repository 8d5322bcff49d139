import type { TurnEnd } from '../agents/index.ts';
import { data, isJsonObject, LegateError } from '../protocol/index.ts';
import { engineEnd } from './agent-events.ts';
import type { EngineSettings } from './options.ts';
import type { Timer } from './scheduler.ts';
import { hideSecrets, type Logger } from '../telemetry/index.ts';

/** The reason why the engine stops a turn. */
export type StopCause = 'cancel' | 'timeout' | 'inactivity' | 'shutdown' | 'lost';

/** The `reason` of a turn's abort signal, and the error that ends an agent that ignores the signal. */
export class TurnStopped extends Error {
  override readonly name = 'TurnStopped';
  readonly stopCause: StopCause;
  /** Whether the turn runs again, in another process or later in this one: its remote work must continue. */
  readonly handsOver: boolean;

  constructor(stopCause: StopCause, { handsOver = false }: { readonly handsOver?: boolean } = {}) {
    super(`the turn was stopped: ${stopCause}`);
    this.stopCause = stopCause;
    this.handsOver = handsOver;
  }
}

/** The end of a task whose process stopped or died. */
export function interruptedEnd(): TurnEnd {
  return engineEnd('failed', 'interrupted', 'The server was stopped while working on this task.');
}

/** The end of a turn whose agent threw, or did not stop in time. */
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

/** The end of a failed turn with the message of its error, for developers. */
export function withReason(end: TurnEnd): TurnEnd {
  const { kind, error, parts = [] } = end;
  if (kind !== 'failed' || !(error instanceof Error)) return end;
  const reason = hideSecrets(error.message);
  const last = parts.at(-1);
  if (last?.text === undefined) return { ...end, parts: [...parts, { text: reason }] };
  if (last.text.includes(reason)) return end;
  // Clients join the texts of one message: "It failed." and "Why" would run together.
  const why = { ...last, text: `${last.text.replace(/\.$/, '')}: ${reason}` };
  return { ...end, parts: [...parts.slice(0, -1), why] };
}

/** The end of a stopped turn. The cause decides its kind; the message and context of the agent are kept. */
export function decideEnd(
  said: TurnEnd,
  cause: StopCause,
  about: {
    readonly settings: Pick<EngineSettings, 'taskTimeoutMs' | 'inactivityTimeoutMs'>;
    /** The agent did not end by itself. */
    readonly isUnfinished: boolean;
    /** Creates a logger on each access. */
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

/** Keeps the data that an agent emits for its own cancellation, beside the cause. */
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
 * Stops a run.
 *
 * - **running**: no stop was requested.
 * - **stopping**: `onAbort` was called; the agent can end by itself within the grace time.
 * - **forced**: waits in `guard` reject, and the run no longer waits for the agent.
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

  /** `runsAgain`: whether an interrupted run is repeated if the agent allows it. */
  constructor(
    settings: EngineSettings,
    options: { runsAgain: boolean; onAbort: (reason: TurnStopped) => void },
  ) {
    this.#settings = settings;
    this.#runsAgain = options.runsAgain;
    this.#onAbort = options.onAbort;
  }

  /** The reason of the requested stop, if any. */
  get cause(): StopCause | undefined {
    return this.#cause;
  }

  /** Starts the time limits of a run: its whole duration, and its inactivity. `clear` ends them. */
  limit(): void {
    const { scheduler, taskTimeoutMs, inactivityTimeoutMs } = this.#settings;
    if (taskTimeoutMs > 0)
      this.#timeout = scheduler.after(taskTimeoutMs, () => this.stop('timeout'));
    if (inactivityTimeoutMs > 0)
      this.#inactivity = scheduler.after(inactivityTimeoutMs, () => this.stop('inactivity'));
  }

  /** Restarts the inactivity limit, after output of the agent. */
  restartSilence(): void {
    this.#inactivity?.restart();
  }

  clear(): void {
    this.#timeout?.cancel();
    this.#inactivity?.cancel();
    this.#grace?.cancel();
  }

  /** Calls back when a stop is requested, or at once if it was before. One callback only. */
  onStop(callback: () => void): void {
    if (this.#cause === undefined) this.#onStop = callback;
    else callback();
  }

  /**
   * Requests the run to stop, and forces it after the grace time. The first cause stays, except that `lost`
   * replaces every other cause.
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

  /** Throws if a stop was requested. */
  throwIfStopped(): void {
    if (this.#cause !== undefined) throw new TurnStopped(this.#cause);
  }

  /** Waits for the agent, until a forced stop. No listener outlives its wait. */
  guard<T>(work: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#interrupt = reject;
      if (this.#isForced) reject(new TurnStopped(this.#cause ?? 'lost'));
      work.then(resolve, reject);
    });
  }
}
