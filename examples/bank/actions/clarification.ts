import { defineAction } from '../../../src/assistant/index.ts';

export const countClarification = defineAction({
  name: 'action_count_clarification',
  async run({ slots, setSlot }) {
    setSlot('clarification_count', Number(slots['clarification_count']) + 1);
  },
});
