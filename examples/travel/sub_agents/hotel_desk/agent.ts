import { slotSet, type SubAgentModule } from '../../../../src/assistant/index.ts';

/** The desk gets only the destination. */
export const processInput: SubAgentModule['processInput'] = (input) => ({
  ...input,
  slots: input.slots.filter(({ name }) => name === 'destination'),
});

/** Sets a slot of the assistant to the desk's result. */
export const processAgentOutput: SubAgentModule['processAgentOutput'] = (output) => {
  const found = output.structuredResults?.flat().find(({ name }) => name === 'room');
  const { name } = (found?.result ?? {}) as { readonly name?: string };
  return name === undefined ? output : { ...output, events: [slotSet('hotel', name)] };
};
