import { LegateError } from '../protocol/index.ts';
import { Deadline } from '../time/index.ts';

/** Runs something that must be answered in time; 0 for no limit. */
export async function within<T>(
  limit: {
    readonly what: string;
    readonly timeoutMs: number;
    readonly signal: AbortSignal | undefined;
  },
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { what, timeoutMs, signal } = limit;
  const deadline = new Deadline({
    signal,
    milliseconds: timeoutMs,
    reason: () => timedOut(`${what} was not answered`, timeoutMs),
  });
  try {
    return await run(deadline.signal);
  } finally {
    deadline.close();
  }
}

export function timedOut(what: string, ms: number): LegateError {
  return new LegateError('REQUEST_TIMEOUT', `${what} within ${ms} ms`);
}
