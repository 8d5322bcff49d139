import { defineAction } from 'legate/assistant';

export const countClarification = defineAction({
  name: 'action_count_clarification',
  async run({ slots, setSlot }) {
    setSlot('clarification_count', Number(slots['clarification_count']) + 1);
  },
});
