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
  ["I haven't frozen my card", 'cannot handle'],
  ['my debit card has not been stolen', 'cannot handle'],
  ["my card hasn't gone missing", 'cannot handle'],
  ['nobody has frozen my card', 'cannot handle'],
  ['I never told you to freeze my card', 'cannot handle'],
  ['I never said you should freeze my card', 'cannot handle'],
  ["don't you dare freeze my card", 'cannot handle'],
  ['no need to transfer any money', 'cannot handle'],
  ['stop freezing my card', 'cannot handle'],
  ['quit sending money to Bob', 'cannot handle'],
  ['rather than freezing my card', 'cannot handle'],
  ['instead of freezing my card, replace it', 'start replace_card'],
  ['freeze my card instead of replacing it', 'start freeze_card'],
])('what is denied does not start: %s', async (text, expected) => {
  expect(await said({ text })).toBe(expected);
});

test.each([
  ['I already froze my card', 'offer freeze_card'],
  ['my card is frozen', 'offer freeze_card'],
  ['I sent 50 euros to Bob this morning', 'offer transfer_money'],
  ["we've transferred the money to Ann", 'offer transfer_money'],
  ['I booked an appointment last week', 'offer book_appointment'],
  ['I was about to send money to Ann', 'offer transfer_money'],
  ['we had to send money to Ann', 'offer transfer_money'],
  ['my sister wants to freeze her card', 'offer freeze_card'],
  ['my dad needs to freeze his card', 'offer freeze_card'],
  ['my boss will send me money', 'offer transfer_money'],
  ['thank you for sending the money to Bob', 'offer transfer_money'],
  ['I regret freezing my card', 'offer freeze_card'],
  ['I want to know if my card is frozen', 'offer freeze_card'],
  ["I'll send money to Ann later", 'offer transfer_money'],
  ['I wonder if you could freeze my card', 'start freeze_card'],
  ['I might need to freeze my card', 'offer freeze_card'],
  ['before we freeze my card, is there another way?', 'offer freeze_card'],
  ['in case I freeze my card, who helps me?', 'offer freeze_card'],
  ['I want my card frozen', 'start freeze_card'],
  ['have my card frozen', 'start freeze_card'],
  ['before I travel I want to freeze my card', 'start freeze_card'],
  ['I have frozen my card already, now I need a new one', 'start replace_card'],
  ['my wife lost her card, please freeze it', 'start freeze_card'],
])('what is told, intended or of somebody else is offered at most: %s', async (text, expected) => {
  expect(await said({ text })).toBe(expected);
});

test.each([
  ['did you transfer the money to Ann?', 'offer transfer_money'],
  ['have you sent Ann the money yet?', 'offer transfer_money'],
  ['has Bob been paid?', 'offer transfer_money'],
  ['were my cards frozen?', 'offer freeze_card'],
  ['when will my replacement card arrive?', 'knowledge answer'],
  ['where did you send my money?', 'knowledge answer'],
  ['could my card get stolen?', 'knowledge answer'],
  ['will my card be frozen?', 'knowledge answer'],
  ['would it help to freeze my card?', 'knowledge answer'],
  ['can someone freeze my card?', 'start freeze_card'],
  ['will you send 20 to Tom?', 'start transfer_money; amount=20; recipient="Tom"'],
  ['what is my balance', 'start check_balance'],
])('a question about it changes nothing: %s', async (text, expected) => {
  expect(await said({ text })).toBe(expected);
});

test.each([
  ['change my PIN', 'cannot handle'],
  ['can you lend me a hand?', 'chitchat'],
  ['ok', 'chitchat'],
])('no flow is meant: %s', async (text, expected) => {
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
])('a request beside a refused one: %s', async (text, expected) => {
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
