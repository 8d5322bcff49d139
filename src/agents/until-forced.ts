/** Waits for something that was told to stop by the signal, but not much longer than that. */
export async function untilForced<T>(
  work: Promise<T>,
  signal: AbortSignal,
  graceMs: number,
): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  let timer: NodeJS.Timeout | undefined;
  const onAbort = (): void => {
    timer = setTimeout(() => reject(signal.reason as Error), graceMs);
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}
