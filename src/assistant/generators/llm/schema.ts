import type { JSONSchema7 } from '@ai-sdk/provider';
import type { PromptFacts } from './facts.ts';
import type { CommandLanguage } from './options.ts';

const nullable = (type: 'string' | 'array'): JSONSchema7 =>
  type === 'string'
    ? { type: ['string', 'null'] }
    : { type: ['array', 'null'], items: { type: 'string' } };

/** The form of a structured answer. Every key is required: that is what strict services demand. */
export function commandSchema(facts: PromptFacts, commands: CommandLanguage): JSONSchema7 {
  const names = [
    'start flow',
    'set slot',
    'cancel flow',
    'disambiguate flows',
    ...(commands === 'v2' ? ['provide info', 'offtopic reply'] : ['search and reply']),
    'repeat message',
    'skip question',
    'hand over',
    ...(facts.active_agent === null ? [] : ['continue agent']),
    ...(facts.completed_agents.length === 0 ? [] : ['restart agent']),
  ];
  return {
    type: 'object',
    additionalProperties: false,
    required: ['commands'],
    properties: {
      commands: {
        type: 'array',
        items: {
          type: 'object',
          additionalProperties: false,
          required: ['command', 'flow', 'slot', 'value', 'flows', 'agent'],
          properties: {
            command: { type: 'string', enum: names },
            flow: nullable('string'),
            slot: nullable('string'),
            value: { type: ['string', 'number', 'boolean', 'null'] },
            flows: nullable('array'),
            agent: nullable('string'),
          },
        },
      },
    },
  };
}
