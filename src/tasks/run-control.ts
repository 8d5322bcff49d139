import type { EngineSettings } from './options.ts';
import type { Timer } from './scheduler.ts';
import { type StopCause, TurnStopped } from './turn-end.ts';

/**
 * How a run comes to be stopped.
 *
 * - **running**: nobody has asked it to stop.
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
