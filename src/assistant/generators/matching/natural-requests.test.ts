import { expect, test } from 'vitest';
import type { Command } from '../../conversation.ts';
import { type Situation, situation } from '../testing/bank.ts';
import { matchingGenerator } from './matching-generator.ts';

const generator = matchingGenerator();

async function said(given: Situation): Promise<string> {
  return (await generator.generate(situation(given))).map(line).join('; ');
}

function line(command: Command): string {
  if (command.command === 'start flow') return `start ${command.flow}`;
  if (command.command === 'set slot') return `${command.name}=${JSON.stringify(command.value)}`;
  if (command.command === 'clarify') return `offer ${command.options.join(' ')}`;
  return command.command;
}

test.each([
  ['list my appointments', 'offer book_appointment'],
  ['give me an overview of my appointments', 'offer book_appointment'],
  ['did you get my appointment', 'offer book_appointment'],
  ['when is my appointment', 'offer book_appointment'],
  ['which card is the best', 'knowledge answer'],
  ['I want to see an advisor', 'start book_appointment'],
  ['show me everybody I have saved in my contacts', 'start list_contacts'],
])('what is looked up is not changed: %s', async (text, expected) => {
  expect(await said({ text })).toBe(expected);
});

test.each([
  ['I want to sell my card', 'cannot handle'],
  ['can you sell me a card', 'cannot handle'],
  ['sell my card', 'cannot handle'],
  ['I want to freeze my card', 'start freeze_card'],
  ['can you freeze my card', 'start freeze_card'],
])('a flow that does something else with it does not start: %s', async (text, expected) => {
  expect(await said({ text })).toBe(expected);
});

test.each([
  ['20 euros to Tom', 'start transfer_money; amount=20; recipient="Tom"'],
  ['give 20 quid to Tom', 'start transfer_money; amount=20; recipient="Tom"'],
  ['Tom gets 20 euros from me', 'start transfer_money; amount=20; recipient="Tom"'],
  ['send Lisa Berg 1,500 euros', 'start transfer_money; amount=1500; recipient="Lisa Berg"'],
  ['is it 20 euros to Tom?', 'knowledge answer'],
  ['tomorrow', 'cannot handle'],
])('values and a name are enough: %s', async (text, expected) => {
  expect(await said({ text })).toBe(expected);
});

test.each([
  ["I don't want to freeze my card, I just need a replacement", 'start replace_card'],
  ["I don't need a contact any more, remove it", 'start remove_contact'],
  ["I don't want to freeze my card, it is fine", 'cannot handle'],
])('what is wanted beside what is not: %s', async (text, expected) => {
  expect(await said({ text })).toBe(expected);
});

test.each([
  ['remove bob from my contacts', 'start remove_contact; contact_name="bob"'],
  ['delete the contact bob', 'start remove_contact; contact_name="bob"'],
  ['remove bob from my payees', 'start remove_contact; contact_name="bob"'],
  ['remove a contact from my list', 'start remove_contact'],
])('a name in small letters at the words of the flow: %s', async (text, expected) => {
  expect(await said({ text })).toBe(expected);
});

const confirming = {
  active: 'transfer_money',
  asked: 'confirm',
  slots: { recipient: 'Ann', amount: 50 },
} as const;

test.each([
  ['not Ann, Bob', 'recipient="Bob"'],
  ['Bob, not Ann', 'recipient="Bob"'],
  ['not 50 but 60', 'amount=60'],
  ['sorry, not 50, 60', 'amount=60'],
  ["it's not 50, it's 60", 'amount=60'],
  ["no, don't", 'confirm=false'],
  ['rather not', 'confirm=false'],
  ['go', 'confirm=true'],
])('a correction says what it shall not be: %s', async (text, expected) => {
  expect(await said({ ...confirming, text })).toBe(expected);
});

test('of a value that is taken back in the same message, the last one counts', async () => {
  const text = 'freeze my credit card, sorry, I mean my debit card';
  expect(await said({ text })).toBe('start freeze_card; card_type="debit"');
});

test.each([
  ['can I speak to a real human', 'human handoff'],
  ["I don't want to talk to a bot", 'human handoff'],
  ['get me your manager', 'human handoff'],
  ['connect me with an advisor for an appointment', 'start book_appointment'],
])('a person, unless a flow has one: %s', async (text, expected) => {
  expect(await said({ text })).toBe(expected);
});
