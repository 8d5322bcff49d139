import { slotSet, type SubAgentModule } from '../../../../src/assistant/index.ts';

/** The desk needs to know where to, and nothing else. */
export const processInput: SubAgentModule['processInput'] = (input) => ({
  ...input,
  slots: input.slots.filter(({ name }) => name === 'destination'),
});

/** What it found becomes a slot of ours. */
export const processAgentOutput: SubAgentModule['processAgentOutput'] = (output) => {
  const found = output.structuredResults?.flat().find(({ name }) => name === 'room');
  const { name } = (found?.result ?? {}) as { readonly name?: string };
  return name === undefined ? output : { ...output, events: [slotSet('hotel', name)] };
};
