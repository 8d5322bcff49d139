import { systemTimers, type Timers } from './deadline.ts';

/**
 * Repeats work with a pause in between until it is stopped. A failure is reported and does not end it.
 * @example const sweeping = repeat(60_000, sweep, { onError: report }); // sweeping.stop() ends it
 */
export function repeat(
  pauseMs: number,
  work: () => Promise<void>,
  options: {
    readonly onError: (error: unknown) => void;
    /** @default the system's */
    readonly timers?: Timers;
  },
): { stop(): void } {
  const { onError, timers = systemTimers } = options;
  let isStopped = false;
  let timer: { cancel(): void } | undefined;
  const schedule = (): void => {
    if (isStopped) return;
    timer = timers.after(pauseMs, () => {
      work().catch(onError).finally(schedule);
    });
  };
  schedule();
  return {
    stop() {
      isStopped = true;
      timer?.cancel();
    },
  };
}
