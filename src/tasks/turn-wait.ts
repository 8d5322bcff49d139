import { endsTurn, type LegateError } from '../protocol/index.ts';
import type { Follower, Hub } from './log-reader.ts';
import type { EngineSettings } from './options.ts';

interface Wait {
  readonly settings: EngineSettings;
  readonly hub: Hub;
  readonly taskId: string;
  /** Aborts when the caller disconnects. */
  readonly signal: AbortSignal | undefined;
}

/** How often a wait checks whether the store is still unavailable, in milliseconds. */
const outageCheckMs = 15_000;

/**
 * Waits until `check` returns a value. Repeats the check whenever a turn of the task may have ended.
 * Rejects with the signal's reason once the caller disconnects, and with the store's error if one outage
 * lasts from one outage check to the next: no turn can end while the store accepts no writes.
 */
export async function waitForTurn<T>(
  { settings, hub, taskId, signal }: Wait,
  check: () => Promise<T | undefined>,
): Promise<T> {
  const { store, scheduler } = settings;
  let since: number | undefined;
  let failure: LegateError | undefined;
  let wake: (() => void) | undefined;
  let isDirty = true;
  const touch = (): void => {
    isDirty = true;
    wake?.();
  };
  const follower: Follower = {
    offer(events) {
      if (events.some(({ body }) => endsTurn(body.value))) touch();
    },
    wake: touch,
  };
  const unfollow = hub.follow(taskId, follower);
  signal?.addEventListener('abort', touch, { once: true });
  const timer = scheduler.after(outageCheckMs, () => {
    const { outage } = store.health;
    if (outage !== undefined && outage.since === since) {
      failure = outage.error;
      touch();
    }
    since = outage?.since;
    timer.restart();
  });
  try {
    for (;;) {
      signal?.throwIfAborted();
      if (failure !== undefined) throw failure;
      if (isDirty) {
        isDirty = false;
        const found = await check();
        if (found !== undefined) return found;
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        wake = undefined;
      }
    }
  } finally {
    unfollow();
    timer.cancel();
    signal?.removeEventListener('abort', touch);
  }
}
