import type { PromptFacts } from '../generators/llm/facts.ts';
import type { AgentInputSlot } from '../sub-agents/model.ts';
import type { TranscriptEntry } from '../tracker/state.ts';
import { agentScope, rephraserScope, searchScope } from './prompt-scopes.ts';
import type { TemplateScope } from './rendering.ts';

const agent = { name: 'hotel_desk', description: 'Finds "hotels".' };

const slots: readonly AgentInputSlot[] = [
  { name: 'amount', value: 50, type: 'float' },
  { name: 'service', value: null, type: 'categorical', allowedValues: ['a', 'b'] },
];

const flowSlots = slots.map(({ name, value, type, allowedValues = null }) => ({
  name,
  value,
  type,
  description: value === null ? null : 'in "euros"',
  allowed_values: allowedValues,
}));

const transcript: readonly TranscriptEntry[] = [
  { speaker: 'user', text: 'hi' },
  { speaker: 'bot', text: 'Hello!' },
  { speaker: 'user', text: 'send 50' },
];

const now = 'Sunday, 15 November 2026, 10:00 (UTC)';

const commandFacts: PromptFacts = {
  available_flows: [
    { name: 'transfer', description: 'Send "money".', slots: flowSlots, agent_info: [agent] },
  ],
  flow_slots: flowSlots,
  current_flow: 'transfer',
  current_slot: 'amount',
  current_slot_description: 'in "euros"',
  current_slot_type: 'float',
  current_slot_allowed_values: null,
  current_conversation: 'USER: hi\nAI: Hello!\nUSER: send 50',
  user_message: 'send 50',
  current_datetime: now,
  active_agent: agent,
  completed_agents: [agent],
};

/**
 * A value for each variable of prompts, created by the same functions as in conversations: to find errors
 * in templates before the first conversation. One scope serves all kinds of prompts: command generators,
 * the rephraser, sub agents and enterprise search.
 */
export const sampleScope: TemplateScope = {
  summary: 'The user sends money.',
  ...rephraserScope({ text: 'How much?', transcript, maxMessages: 10, language: 'en' }),
  ...agentScope({
    description: 'Finds hotels.',
    exitSlots: ['amount', 'service'],
    slots,
    conversationHistory: 'USER: hi\nAI: Hello!',
    currentDateTime: now,
    fillerMessages: true,
    isResumed: true,
    lastRequest: 'Which city?',
    isRestarted: true,
    toolResults: [{ name: 'find_hotels', result: 'none' }],
  }),
  ...searchScope({
    passages: [{ text: 'Transfers are free.', source: 'faq.txt' }],
    slots,
    transcript,
    hasCitations: true,
    checksRelevancy: true,
  }),
  ...commandFacts,
};
