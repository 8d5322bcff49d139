/** Nothing before them is ever taken back: a session remembers no other. */
const sessionBeginnings: ReadonlySet<string> = new Set(['restart', 'session_started']);

/** What takes something back: the event with which that began, and those beyond which it never goes. */
const reaches: ReadonlyMap<string, { readonly from: string; readonly until: ReadonlySet<string> }> =
  new Map([
    ['rewind', { from: 'user', until: sessionBeginnings }],
    ['undo', { from: 'action', until: new Set([...sessionBeginnings, 'user']) }],
  ]);

/** Whether an event takes back what came before it: `rewind` or `undo`. */
export function takesBack({ event }: { readonly event: string }): boolean {
  return reaches.has(event);
}

/** Whether a session begins with an event. */
export function beginsSession({ event }: { readonly event: string }): boolean {
  return sessionBeginnings.has(event);
}

/**
 * Events that count: without those that a `rewind` (all since the user's last message) or an `undo`
 * (all since the last action after it) took back, and without these two. An `undo` leaves the stack
 * alone: where the flows stand is no action's work.
 * @example
 * appliedEvents([{ event: 'user' }, { event: 'slot' }, { event: 'rewind' }, { event: 'pause' }])
 * // [{ event: 'pause' }]
 */
export function appliedEvents<Event extends { readonly event: string }>(
  events: readonly Event[],
): readonly Event[] {
  const applied: Event[] = [];
  for (const event of events) {
    const reach = reaches.get(event.event);
    if (reach === undefined) {
      applied.push(event);
      continue;
    }
    const { from, until } = reach;
    const at = applied.findLastIndex((one) => one.event === from || until.has(one.event));
    if (applied[at]?.event !== from) continue;
    const gone = applied.splice(at);
    if (event.event === 'undo') applied.push(...gone.filter((one) => one.event === 'stack'));
  }
  return applied;
}
