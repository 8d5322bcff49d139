import type { JsonObject } from '../../protocol/index.ts';
import type { TrackerEvent } from '../conversation.ts';
import { trackerJson } from '../tracker/index.ts';
import type { Dialogue } from './dialogue.ts';

/** So many of the former events are shown: what a turn costs must not grow with the conversation. */
const FORMER_EVENTS = 200;

/** The tracker as servers of actions and responses know it, with the events of this turn and some before. */
export async function fullTracker(dialogue: Dialogue): Promise<JsonObject> {
  const { value, events } = dialogue.tracker.save();
  const former = (await dialogue.options.history?.({ last: FORMER_EVENTS })) ?? [];
  return trackerJson(value, [...former, ...events].map(withoutPrompts), dialogue.domain);
}

/** What a model was asked is for operators, and large: servers have no use for it. */
function withoutPrompts(event: TrackerEvent): TrackerEvent {
  for (const field of ['parse_data', 'metadata'] as const) {
    const holder = event[field] as JsonObject | undefined;
    if (holder?.['prompts'] === undefined) continue;
    const { prompts: _prompts, ...rest } = holder;
    return { ...event, [field]: rest };
  }
  return event;
}
