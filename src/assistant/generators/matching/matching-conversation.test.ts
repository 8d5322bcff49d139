import { expect, test } from 'vitest';
import { Conversation } from '../../testing/conversation.ts';
import { parcelActions, parcels } from '../../testing/parcels.ts';
import { matchingGenerator } from './matching-generator.ts';

/**
 * Whole conversations with a project that was not written for this generator: no examples, no
 * descriptions of slots.
 */
const office = parcels();

/** Says each line and gives the bot's last words. */
async function talk(...lines: readonly string[]): Promise<string> {
  const generator = matchingGenerator();
  const chat = new Conversation(office, { actions: parcelActions, generator });
  let said: readonly string[] = [];
  for (const text of lines) said = await chat.send({ text });
  return said.join(' ');
}

const all = 'send 2 kg to Bob, standard';
const asked = '2 kg to Bob, standard. Shall I send it?';
const proceed = 'Open from 9 to 5. Would you like to continue with sending a parcel?';
const more = 'Is there anything else I can help you with?';

test.each<readonly [string, readonly string[], string]>([
  ['1: asks one by one', ['send a parcel', 'Bob', '2', 'standard'], asked],
  [
    '1: acts on a yes',
    ['send a parcel', 'Bob', '2', 'standard', 'yes'],
    `Sent, receipt R-2. ${more}`,
  ],
  ['1: ends with a no', [all, 'yes', 'no', 'great'], 'That is good to hear.'],
  ['2: takes all slots at once', [all], asked],
  ['3: takes one slot upfront', ['send a parcel to Bob'], 'How heavy is it?'],
  ['4: cancels', [all, 'cancel'], `OK, I will not continue with sending a parcel. ${more}`],
  ['4: asks again after it', [all, 'never mind', 'send a parcel'], 'Who is it for?'],
  [
    '5: cancels for something else',
    [all, 'stop that, track a parcel'],
    'OK, I will not continue with sending a parcel. What is the code?',
  ],
  [
    '6: corrects',
    [all, 'make it 3 kg'],
    'Alright, I changed weight to 3. 3 kg to Bob, standard. Shall I send it?',
  ],
  [
    '7: corrects a branch',
    [all, 'express instead'],
    'Alright, I changed service to express. Which phone number may we call?',
  ],
  [
    '7: short phone numbers are for the project to judge',
    [all, 'express', '555'],
    '2 kg to Bob, express. Shall I send it?',
  ],
  ['8: takes a slot back', [all, 'I want to change the recipient'], 'Who is it for?'],
  [
    '9: corrects twice',
    [all, 'make it 3', 'no, 4, and to Eve'],
    'Alright, I changed weight to 4, recipient to Eve. 4 kg to Eve, standard. Shall I send it?',
  ],
  [
    '10: corrects and cancels',
    [all, 'make it 3', 'stop'],
    `OK, I will not continue with sending a parcel. ${more}`,
  ],
  ['11: digresses', ['send a parcel', 'when are you open?'], proceed],
  ['11: goes on', ['send a parcel', 'when are you open?', 'yes please'], 'Who is it for?'],
  [
    '11: goes on by the answer',
    ['send a parcel', 'when are you open?', 'to Bob'],
    'How heavy is it?',
  ],
  [
    '11: does not go on',
    ['send a parcel', 'when are you open?', 'no'],
    `OK, I canceled that. ${more}`,
  ],
  [
    '11: goes on with one of two',
    ['send a parcel', 'hold my mail', 'when are you open?', 'the parcel'],
    'Who is it for?',
  ],
  [
    '12: two requests',
    ['when are you open, and then track a parcel'],
    'Open from 9 to 5. What is the code?',
  ],
  [
    '13: a question inside',
    ['send a parcel', 'what is customs?'],
    "Sorry, I can't answer that. Who is it for?",
  ],
  [
    '14: small talk inside',
    ['send a parcel', 'one moment please'],
    "Alright. I'm here when you need me. Who is it for?",
  ],
  [
    '15: an ambiguous word',
    ['parcel'],
    'I can think of more than one thing: sending a parcel, tracking a parcel or redirecting a parcel. Which do you mean?',
  ],
  ['15: the choice by name', ['parcel', 'track it'], 'What is the code?'],
  ['15: the choice by place', ['parcel', 'the second one'], 'What is the code?'],
  ['18: repeats', ['send a parcel', 'when are you open?', 'pardon?'], proceed],
  [
    '19: a rejected answer',
    ['hold my mail from 10', 'until 5'],
    'That would end before it begins. Until which day?',
  ],
  ['19: both days at once', ['hold my mail from 10 to 20'], 'Hold it from 10 to 20?'],
  ['19: the wrong form', ['hold my mail', 'soon'], 'Please answer with a number. From which day?'],
  [
    '20: a guarded flow',
    ['my history'],
    "History isn't available yet. I can help you with sending a parcel, tracking a parcel, opening hours, holding mail and more.",
  ],
  [
    '20: and after its guard holds',
    ['redirect a parcel', '1234', 'home', 'show my history'],
    `Three parcels this year. ${more}`,
  ],
  [
    '21: an answer that is insisted on',
    ['I want to give feedback', 'skip this'],
    "Thanks for 'skip this'.",
  ],
  [
    '22: a value by its pattern',
    ['find an office', 'it is 12345 I think'],
    `The office in 12345 is open. ${more}`,
  ],
  [
    '22: and one that does not fit',
    ['find an office', '123'],
    'A postcode has five digits. Your postcode?',
  ],
])('scenario %s', async (_name, lines, expected) => {
  expect(await talk(...lines)).toBe(expected);
});
