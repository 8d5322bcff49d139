import type { ScriptedReply, ScriptedRequest } from '../../src/models/index.ts';

/** The responses of the scripted model of the flight finder. */
export function traveller({ messages, lastUserText }: ScriptedRequest): ScriptedReply {
  if (messages.at(-1)?.role === 'tool') {
    return 'There is LG12 at 8:00 for 80 euros and LG34 at 14:00 for 60 euros. Which one?';
  }
  if (lastUserText.includes('cheap')) {
    return { toolCalls: [{ name: 'set_slot_flight', input: { slot_value: 'LG34' } }] };
  }
  const search = { name: 'search_flights', input: { destination: lastUserText } };
  return { text: 'Let me look at the flights.', toolCalls: [search] };
}
