import { isInterrupted, isTerminal } from '../protocol/index.ts';
import type { LogEvent } from '../store/index.ts';
import type { Follower, Hub } from './hub.ts';

/**
 * Waits until `check` gives something, looking again whenever the task's log may have brought a turn
 * to its end. Rejects with the signal's reason once the caller has gone.
 */
export async function waitForTurn<T>(
  hub: Hub,
  taskId: string,
  check: () => Promise<T | undefined>,
  signal: AbortSignal | undefined,
): Promise<T> {
  let wake: (() => void) | undefined;
  let isDirty = true;
  const touch = (): void => {
    isDirty = true;
    wake?.();
  };
  const follower: Follower = {
    offer(events) {
      if (events.some(endsTurn)) touch();
    },
    nudge: touch,
  };
  const unfollow = hub.follow(taskId, follower);
  signal?.addEventListener('abort', touch, { once: true });
  try {
    for (;;) {
      signal?.throwIfAborted();
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
    signal?.removeEventListener('abort', touch);
  }
}

function endsTurn(event: LogEvent): boolean {
  const body = event.body.value;
  if (!('statusUpdate' in body)) return false;
  const { state } = body.statusUpdate.status;
  return isTerminal(state) || isInterrupted(state);
}
