const hour = 60 * 60 * 1000;

/**
 * Until when a context counts as written. Whole hours, so that stores need not move it in their
 * indexes with every turn.
 */
export function writtenUntil(now: number | undefined): number | undefined {
  return now === undefined ? undefined : (Math.floor(now / hour) + 1) * hour;
}
