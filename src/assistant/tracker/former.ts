import type { JsonObject } from '../../protocol/index.ts';
import type { TrackerEvent } from '../conversation.ts';
import type { Domain } from '../model.ts';
import { trackerJson } from './json.ts';
import { loadState } from './state.ts';
import { Tracker } from './tracker.ts';
import { objectOf } from './events.ts';

/**
 * The tracker as it was at a time, in seconds since 1970: made anew from the events up to then.
 * @example
 * const aMinuteAgo = Date.now() / 1000 - 60;
 * const { slots, stack } = formerTrackerJson(tracker, events, assistant.domain, aMinuteAgo);
 */
export function formerTrackerJson(
  value: JsonObject,
  events: readonly TrackerEvent[],
  domain: Domain,
  until: number,
): JsonObject {
  const { senderId, userId, sessionId, startedAt } = loadState(value);
  const former = events.filter(({ timestamp }) => timestamp <= until);
  const tracker = Tracker.rebuild(
    { senderId, sessionId, ...(userId !== null && { userId }) },
    former,
    { domain, clock: { now: () => startedAt * 1000 } },
  );
  const session = objectOf(former.at(-1) ?? {}, 'metadata')['session_id'];
  return {
    ...trackerJson(tracker.save().value, former, domain),
    current_session_id: session ?? sessionId,
  };
}
