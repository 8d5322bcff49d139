import { slotSet, type SubAgentModule } from 'legate/assistant';

/** Asks one question and fills the slot that the flow waits for, without a message. */
export const run: SubAgentModule['run'] = ({ id, userMessage }) => {
  const product = /^yes\b/i.test(userMessage)
    ? 'instant'
    : /^no\b/i.test(userMessage)
      ? 'fixed'
      : undefined;
  if (product === undefined) {
    const responseMessage = 'Might you need the money within two years?';
    return { id, status: 'input_required', responseMessage };
  }
  return { id, status: 'completed', events: [slotSet('savings_product', product)] };
};
