import type { JsonObject } from '../../protocol/index.ts';
import type { TemplateScope } from './rendering.ts';
import { KeyedList } from './value.ts';

const agent: JsonObject = { name: 'hotel_desk', description: 'Finds "hotels".' };

const slots = [
  { name: 'amount', value: 50, type: 'float', description: 'in "euros"', allowed_values: null },
  {
    name: 'service',
    value: null,
    type: 'categorical',
    description: null,
    allowed_values: ['a', 'b'],
  },
];

/**
 * A value for each variable that prompts get, of the type that it has in conversations: to find the
 * mistakes of templates before the first conversation. One scope serves all kinds of prompts: command
 * generators, the rephraser, sub agents and enterprise search.
 */
export const sampleScope: TemplateScope = {
  available_flows: [{ name: 'transfer', description: 'Send "money".', slots, agent_info: [agent] }],
  flow_slots: slots,
  current_flow: 'transfer',
  current_slot: 'amount',
  current_slot_description: 'in "euros"',
  current_slot_type: 'float',
  current_slot_allowed_values: null,
  current_conversation: 'USER: hi\nAI: Hello!\nUSER: send 50',
  user_message: 'send 50',
  current_datetime: 'Sunday, 15 November 2026, 10:00 (UTC)',
  active_agent: agent,
  completed_agents: [agent],
  suggested_response: 'How much?',
  history: 'user: hi\nbot: Hello!',
  current_input: 'send 50',
  language: 'en',
  summary: 'The user sends money.',
  description: 'Finds hotels.',
  slot_names: ['amount', 'service'],
  slots: KeyedList.make(slots),
  known_slots: { amount: 50 },
  conversation_history: 'USER: hi\nAI: Hello!',
  enable_filler_messages: true,
  resumed_after_interruption: true,
  resumed_last_request: 'Which city?',
  restarted: true,
  tool_results: [{ name: 'find_hotels', result: 'none' }],
  docs: [{ text: 'Transfers are free.', metadata: { source: 'faq.txt' } }],
  citation_enabled: true,
  check_relevancy: true,
};
