let waiting: (() => void)[] = [];

/**
 * Does something once all that this turn of the event loop has brought was looked at. One timer does
 * for all that is given in a turn.
 */
export function soon(work: () => void): void {
  if (waiting.push(work) === 1) setImmediate(doAll);
}

function doAll(): void {
  const all = waiting;
  waiting = [];
  for (const work of all) work();
}
