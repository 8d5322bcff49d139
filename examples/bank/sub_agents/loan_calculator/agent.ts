import { readNumbers, type SubAgentModule } from 'legate/assistant';
import { monthlyRate } from '../../savings/rates.ts';

/** More than any bank can lend. */
const tooMuch = 1_000_000_000;

/** Asks for the amount, then for the time. Its state comes back with the next message. */
export const run: SubAgentModule['run'] = ({ id, userMessage, metadata }) => {
  const isAnswer =
    metadata['resumed_after_interruption'] !== true && metadata['restarted'] !== true;
  const said = isAnswer ? readNumbers(userMessage) : [];
  const unclear = said.find(({ alternative }) => alternative !== undefined);
  const known = metadata['amount'];
  if (unclear !== undefined) {
    const responseMessage = `Do you mean ${unclear.value} or ${unclear.alternative}?`;
    return { id, status: 'input_required', responseMessage, metadata };
  }
  const time = said.find(({ unit }) => unit === 'month' || unit === 'year');
  const [number] = said.filter(({ unit }) => unit === undefined);
  // A bare number after the amount is the requested time.
  const isTime = typeof known === 'number' && time === undefined;
  const amount = typeof known === 'number' ? known : number?.value;
  if (amount === undefined) {
    const responseMessage = 'How much do you want to borrow, in euros?';
    return { id, status: 'input_required', responseMessage };
  }
  if (amount > tooMuch) throw new Error(`no bank lends ${amount} euros`);
  const count = isTime ? number?.value : time?.value;
  if (count === undefined) {
    const responseMessage = 'Over how many months?';
    return { id, status: 'input_required', responseMessage, metadata: { amount } };
  }
  const months = Math.round(time?.unit === 'year' ? 12 * count : count);
  const rate = monthlyRate(amount, months);
  const responseMessage = `${amount} euros over ${months} months cost ${rate} euros a month.`;
  return { id, status: 'completed', responseMessage };
};
