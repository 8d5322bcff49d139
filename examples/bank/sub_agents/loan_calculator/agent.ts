import type { SubAgentModule } from '../../../../src/assistant/index.ts';
import { monthlyRate } from '../../savings/rates.ts';

/** More than any bank has. */
const tooMuch = 1_000_000_000;

/** Asks for the amount, then for the time; what it knows comes back with the next message. */
export const run: SubAgentModule['run'] = ({ id, userMessage, metadata }) => {
  const isAnswer =
    metadata['resumed_after_interruption'] !== true && metadata['restarted'] !== true;
  const said = isAnswer
    ? Number(/\d+/.exec(userMessage.replaceAll(/(?<=\d),(?=\d{3})/g, ''))?.[0] ?? Number.NaN)
    : Number.NaN;
  const isYears = /\byears?\b/.test(userMessage);
  // A bare number after the amount is the time that was asked for.
  const isMonths = isYears || /month/.test(userMessage) || typeof metadata['amount'] === 'number';
  const number = isYears ? 12 * said : said;
  const amount = isMonths || Number.isNaN(number) ? metadata['amount'] : number;
  if (typeof amount !== 'number') {
    const responseMessage = 'How much do you want to borrow, in euros?';
    return { id, status: 'input_required', responseMessage };
  }
  if (amount > tooMuch) throw new Error(`no bank lends ${amount} euros`);
  if (!isMonths || Number.isNaN(number)) {
    const responseMessage = 'Over how many months?';
    return { id, status: 'input_required', responseMessage, metadata: { amount } };
  }
  const rate = monthlyRate(amount, number);
  const responseMessage = `${amount} euros over ${number} months cost ${rate} euros a month.`;
  return { id, status: 'completed', responseMessage };
};
