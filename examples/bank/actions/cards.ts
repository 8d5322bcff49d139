import { defineAction } from 'legate/assistant';

export const freezeCard = defineAction({
  name: 'action_freeze_card',
  async run({ slots, setSlot, utterResponse }) {
    const card = slots['card'] ?? null;
    const frozen = Array.isArray(slots['frozen_cards']) ? slots['frozen_cards'] : [];
    setSlot('frozen_cards', [...new Set([...frozen, card])]);
    utterResponse('utter_card_frozen');
  },
});
