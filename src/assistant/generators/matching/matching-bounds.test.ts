import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Command } from '../../conversation.ts';
import { bank, bankDomain, type Situation, situation } from '../testing/bank.ts';
import { maximumCharacters } from '../words/words.ts';
import { matchingGenerator } from './matching-generator.ts';

const generator = matchingGenerator();

const words = fc.constantFrom(
  ...`send money to Bob 50 euros tomorrow no yes not but actually cancel stop change the amount
      recipient card balance , . ? ! ; : " ' and then also show my what is how do I 1,200.50 next friday
      ann@example.com +49 170 1234567 DE89370400440532013000 AB-1234 savings checking never mind
      repeat skip human <think> __proto__ constructor 👍 ( ) [ ] { } / \\ $ € % ( ((( ]]]`.split(
    /\s+/,
  ),
);
const messages = fc.oneof(
  fc.string({ maxLength: 80 }),
  fc.string({ unit: 'binary', maxLength: 80 }),
  fc.array(words, { maxLength: 25 }).map((list) => list.join(' ')),
);
const places: fc.Arbitrary<Omit<Situation, 'text'>> = fc.constantFrom<Omit<Situation, 'text'>>(
  {},
  { active: 'transfer_money', asked: 'recipient' },
  { active: 'transfer_money', asked: 'amount', slots: { recipient: 'Ann' } },
  { active: 'transfer_money', asked: 'confirm', slots: { recipient: 'Ann', amount: 40 } },
  { active: 'check_balance', asked: 'account_type' },
  { active: 'book_appointment', asked: 'appointment_date' },
  { active: 'give_feedback', asked: 'feedback' },
  { active: 'plan_trip', asked: 'num_adults', slots: { destination: 'Rome' } },
  { active: 'plan_trip', more: { agents: { active: 'finder', completed: ['flights'] } } },
  { pattern: 'pattern_completed', asked: 'continue_conversation' },
  { pattern: 'pattern_customer_satisfaction', asked: 'csat_score' },
  {
    active: 'transfer_money',
    pattern: 'pattern_continue_interrupted',
    asked: 'interrupted_flow_to_continue',
    context: {
      interrupted_flow_ids: ['transfer_money'],
      interrupted_flow_names: ['transfer money'],
    },
  },
);

test('never throws, always says something, and says the same twice', async () => {
  await fc.assert(
    fc.asyncProperty(messages, places, async (text, place) => {
      const first = await generator.generate(situation({ ...place, text }));
      const second = await matchingGenerator().generate(situation({ ...place, text }));
      expect(second).toEqual(first);
      expect(first.length).toBeGreaterThan(0);
      for (const command of first) checkCommand(command);
    }),
    { numRuns: 1_500 },
  );
});

/** Whatever is said, commands name what exists. */
function checkCommand(command: Command): void {
  switch (command.command) {
    case 'start flow':
      expect(bank.get(command.flow)?.isPattern).toBe(false);
      break;
    case 'set slot':
      expect(bankDomain.slots.has(command.name)).toBe(true);
      expect(command.value).not.toBeUndefined();
      break;
    case 'clarify':
      expect(command.options.length).toBeGreaterThan(0);
      expect(command.options.length).toBeLessThanOrEqual(3);
      break;
    default:
  }
}

/** CPU of the cheapest of some runs, so that a busy machine does not decide. */
async function cost(work: () => unknown): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 5; run += 1) {
    const start = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(start);
    least = Math.min(least, user + system);
  }
  return least;
}

const hostile = [
  ['blanks', ' '],
  ['words', 'send money to Bob and then '],
  ['digits', '1'],
  ['commas', '1,'],
  ['quotes', '"'],
  ['openers', 'ok '],
  ['no', 'no, '],
  ['number words', 'hundred and '],
  ['at signs', 'a@a.'],
  ['dots', 'a.'],
  ['dates', 'in a day '],
  ['account numbers', 'DE89 '],
  ['names', 'to Bob '],
  ['nots', 'not a but '],
  ['combining marks', 'e\u0301\u0301'],
  ['emoji', '👍'],
] as const;

test.each(hostile)('of a 10 MB message of %s only the start is worked on', async (_name, piece) => {
  const huge = piece.repeat(Math.ceil((10 * 1024 * 1024) / piece.length));
  const place = {
    active: 'transfer_money',
    asked: 'confirm',
    slots: { recipient: 'Ann', amount: 4 },
  };
  const whole = situation({ ...place, text: huge });
  const beginning = situation({ ...place, text: huge.slice(0, maximumCharacters) });
  expect(await generator.generate(whole)).toEqual(await generator.generate(beginning));
  const [ofWhole, ofBeginning, ofOneLook] = [
    await cost(() => generator.generate(whole)),
    await cost(() => generator.generate(beginning)),
    await cost(() => JSON.stringify(huge).length),
  ];
  // To look at all of it once would cost more than to read its beginning.
  expect(ofWhole).toBeLessThan(ofBeginning * 5 + ofOneLook);
});
