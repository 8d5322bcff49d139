import { expect, test } from 'vitest';
import { appliedEvents } from './events.ts';

/** Events by their names, told apart by a number behind a colon. */
function named(names: string) {
  return names.split(' ').map((name) => ({ event: name.split(':')[0] ?? '', name }));
}

test.each([
  ['nothing taken back', 'user slot action bot', 'user slot action bot'],
  ['rewind', 'action user:1 slot action:2 stack rewind', 'action'],
  ['two of them', 'action:1 user:1 action:2 user:2 action:3 rewind rewind', 'action:1'],
  ['a second one after more was said', 'user:1 rewind user:2 slot rewind pause', 'pause'],
  ['a rewind without a message', 'slot action rewind', 'slot action'],
  ['undo', 'user action:1 bot action:2 slot bot undo', 'user action:1 bot'],
  ['undo, which leaves the stack', 'user action bot stack:1 undo', 'user stack:1'],
  ['two of them', 'user action:1 bot action:2 undo undo slot', 'user slot'],
  ['an undo without an action', 'user slot undo', 'user slot'],
  ['a session is not left', 'user:1 session_started slot rewind', 'user:1 session_started slot'],
  ['nor a restart', 'user action restart undo rewind', 'user action restart'],
  ['a message is no action', 'action user slot action:2 undo undo', 'action user slot'],
  ['an undo of what a rewind left', 'user:1 action:1 bot user:2 action:2 rewind undo', 'user:1'],
])('section 7: %s', (_, events, expected) => {
  expect(appliedEvents(named(events)).map(({ name }) => name)).toEqual(expected.split(' '));
});
