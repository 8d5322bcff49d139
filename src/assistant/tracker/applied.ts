/** Events that start a session: nothing before them can be undone. */
const sessionStarts: ReadonlySet<string> = new Set(['restart', 'session_started']);

/** How far back each undo event reaches: to the last event in `from`, but never beyond `until`. */
const reaches: ReadonlyMap<string, { readonly from: string; readonly until: ReadonlySet<string> }> =
  new Map([
    ['rewind', { from: 'user', until: sessionStarts }],
    ['undo', { from: 'action', until: new Set([...sessionStarts, 'user']) }],
  ]);

/** Whether an event undoes earlier ones: `rewind` or `undo`. */
export function isUndo({ event }: { readonly event: string }): boolean {
  return reaches.has(event);
}

/** Whether an event starts a session. */
export function startsSession({ event }: { readonly event: string }): boolean {
  return sessionStarts.has(event);
}

/**
 * The effective events: without the ones undone by a `rewind` (all since the user's last message) or an
 * `undo` (all since the last action after it), and without these two. An `undo` keeps the stack, which
 * isn't the effect of an action.
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
