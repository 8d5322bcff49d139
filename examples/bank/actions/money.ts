import { defineAction } from 'legate/assistant';
import { movementsBetween } from './movements.ts';
import { textOf } from './text.ts';

/** Validates an amount: keeps it, or clears it so that the flow asks again. */
export const validateAmount = defineAction({
  name: 'validate_amount',
  async run({ slots, setSlot, utterResponse }) {
    const amount = Number(slots['amount']);
    if (amount <= Number(slots['balance'])) return setSlot('amount', amount);
    utterResponse('utter_not_enough');
    setSlot('amount', null);
  },
});

export const makeTransfer = defineAction({
  name: 'action_make_transfer',
  async run({ slots, setSlot }) {
    const { balance, amount } = slots;
    setSlot('balance', Number(balance) - Number(amount));
  },
});

export const showBalance = defineAction({
  name: 'action_show_balance',
  async run({ utterResponse }) {
    utterResponse('utter_balance');
  },
});

export const changeLimit = defineAction({
  name: 'action_change_limit',
  async run({ slots, setSlot, utterResponse }) {
    setSlot('daily_limit', slots['new_limit'] ?? null);
    utterResponse('utter_limit_changed');
  },
});

/** Sends each movement when it is found. */
export const showStatement = defineAction({
  name: 'action_show_statement',
  async run({ slots, stream }) {
    const from = textOf(slots, 'period_start');
    const to = textOf(slots, 'period_end');
    await stream.start();
    await stream.chunk(`Movements from ${from} to ${to}:`);
    let count = 0;
    for await (const { day, text, amount } of movementsBetween(from, to)) {
      await stream.chunk(`\n${day}  ${text}  ${amount.toFixed(2)}`);
      count += 1;
    }
    if (count === 0) await stream.chunk('\nThere were none.');
    await stream.end();
  },
});
