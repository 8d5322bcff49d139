import { defineAction } from 'legate/assistant';

/** The PIN of all customers: this is an example. */
const pin = '4321';

export const checkPin = defineAction({
  name: 'action_check_pin',
  async run({ slots, setSlot, utterResponse }) {
    // Clears the PIN, so that readers of the slots don't see it.
    setSlot('pin', null);
    if (slots['pin'] === pin) {
      setSlot('is_verified', true);
      setSlot('failed_attempts', 0);
      return;
    }
    setSlot('failed_attempts', Number(slots['failed_attempts']) + 1);
    utterResponse('utter_pin_wrong');
  },
});
