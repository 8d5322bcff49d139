import { expect, test } from 'vitest';
import type { Command } from '../../conversation.ts';
import { type Situation, situation } from '../testing/bank.ts';
import { matchingGenerator } from './matching-generator.ts';

const generator = matchingGenerator();

/** Commands as short lines, for tables that can be read. */
async function said(given: Situation): Promise<string> {
  return (await generator.generate(situation(given))).map(line).join('; ');
}

function line(command: Command): string {
  switch (command.command) {
    case 'start flow':
      return `start ${command.flow}`;
    case 'set slot':
      return `${command.name}=${JSON.stringify(command.value)}`;
    case 'clarify':
      return `clarify ${command.options.join(' ')}`;
    case 'restart agent':
      return `restart agent ${command.agent}`;
    default:
      return command.command;
  }
}

test.each([
  // A clear winner starts.
  ['I want to send money', 'start transfer_money'],
  ['send money', 'start transfer_money'],
  ['transfer some money please', 'start transfer_money'],
  ['Hi there! I would like to transfer money.', 'start transfer_money'],
  ['can you make a transfer for me', 'start transfer_money'],
  ['wire some cash', 'start transfer_money'],
  ['I need to pay someone', 'start transfer_money'],
  ['trasnfer money', 'start transfer_money'],
  ["what's my balance?", 'start check_balance'],
  ['show me my balance', 'start check_balance'],
  ['How much money do I have?', 'start check_balance'],
  ['check the balance of my account', 'start check_balance'],
  ['balance', 'start check_balance'],
  ['please block my card', 'start freeze_card'],
  ['I have to freeze my visa card', 'start freeze_card'],
  ['lock my card', 'start freeze_card'],
  ['I need a replacement card', 'start replace_card'],
  ['book an appointment', 'start book_appointment'],
  ["I'd like to schedule an appointment", 'start book_appointment'],
  ['show my contacts', 'start list_contacts'],
  ['list contacts', 'start list_contacts'],
  ['add a new contact', 'start add_contact'],
  ['delete a contact', 'start remove_contact'],
  ['I want to leave some feedback', 'start give_feedback'],
  ['where is my order', 'start track_order'],
  ['how can I send money?', 'clarify transfer_money'],
  ['who are my contacts', 'start list_contacts'],
  ['do I have any contacts?', 'start list_contacts'],
  // Several close: a question which.
  ['card', 'clarify freeze_card replace_card'],
  ['contact', 'clarify add_contact remove_contact list_contacts'],
  // Nothing.
  ['book a flight', 'cannot handle'],
  ["I don't want to send money", 'cannot handle'],
  ['I do not want to send money but check my balance', 'start check_balance'],
  ['order pizza', 'cannot handle'],
  ['asdf qwer', 'cannot handle'],
  ['banana', 'cannot handle'],
  ['!!!', 'cannot handle'],
  // Guarded and internal flows do not start, and do not turn into their neighbours.
  ['close my bank account for good', 'cannot handle'],
])('starts flows: %s', async (text, expected) => {
  expect(await said({ text })).toBe(expected);
});

test.each([
  ['transfer money and then show my balance', 'start transfer_money; start check_balance'],
  ['block my card and also book an appointment', 'start freeze_card; start book_appointment'],
  ['send money and check my balance', 'start transfer_money; start check_balance'],
  ['Freeze my card. Then show my contacts.', 'start freeze_card; start list_contacts'],
  [
    'send 50 to Bob and then book an appointment on friday',
    'start transfer_money; amount=50; recipient="Bob"; start book_appointment; appointment_date="2026-11-20"',
  ],
  [
    'Send money to Bob, then freeze my card and book an appointment',
    'start transfer_money; recipient="Bob"; start freeze_card; start book_appointment',
  ],
])('two requests in one sentence: %s', async (text, expected) => {
  expect(await said({ text })).toBe(expected);
});

test.each([
  ['send 50 to Bob', 'start transfer_money; amount=50; recipient="Bob"'],
  ['transfer 1,200.50 to Mary Jane', 'start transfer_money; amount=1200.5; recipient="Mary Jane"'],
  [
    'I want to send half a million to my brother Tom',
    'start transfer_money; amount=500000; recipient="Tom"',
  ],
  ['send money to my landlord', 'start transfer_money; recipient="landlord"'],
  ['pay Bob 50', 'start transfer_money; amount=50; recipient="Bob"'],
  ['pay bob 5k', 'start transfer_money; amount=5000; recipient="bob"'],
  ['send fifty euros to Ann tomorrow', 'start transfer_money; amount=50; recipient="Ann"'],
  ['transfer $20', 'start transfer_money; amount=20'],
  ['check the balance of my savings account', 'start check_balance; account_type="savings"'],
  ['block my debit card', 'start freeze_card; card_type="debit"'],
  [
    'book an appointment for next friday at 3pm',
    'start book_appointment; appointment_date="2026-11-20"; appointment_time="15:00"',
  ],
  [
    'book an appointment about a mortgage in 3 days',
    'start book_appointment; appointment_date="2026-11-18"; topic="a mortgage"',
  ],
  [
    'add contact ann@example.com, phone +49 170 1234567',
    'start add_contact; email="ann@example.com"; phone_number="+491701234567"',
  ],
  ['add a contact called Ann Lee', 'start add_contact; contact_name="Ann Lee"'],
  [
    'plan a trip to Rome on 20 Nov for 2 adults and 3 children',
    'start plan_trip; departure_date="2026-11-20"; num_adults=2; num_children=3; destination="Rome"',
  ],
  [
    'shift funds from savings to checking',
    'start move_money; from_account="savings"; to_account="checking"',
  ],
  [
    'shift 100 dollars from my checking account',
    'start move_money; from_account="checking"; amount=100',
  ],
  ['please add Bob to my contacts', 'start add_contact; contact_name="Bob"'],
  ['I lost my debit card, please block it', 'start freeze_card; card_type="debit"'],
  ['where is my order AB-1234', 'start track_order; order_id="AB-1234"'],
])('fills slots of the flow it starts: %s', async (text, expected) => {
  expect(await said({ text })).toBe(expected);
});

const transfer = { active: 'transfer_money' } as const;

test.each([
  ['50', 'amount=50'],
  ['fifty', 'amount=50'],
  ['50 euros please', 'amount=50'],
  ["let's say 1.200,50", 'amount=1200.5'],
  ['about 5k', 'amount=5000'],
  ['one', 'amount=1'],
  ['make it 20', 'amount=20'],
  ['transfer 50', 'amount=50'],
  ['I want to send 50', 'amount=50'],
  ['50, and then show my balance', 'amount=50; start check_balance'],
  ['a lot', 'amount="a lot"'],
])('answers a number: %s', async (text, expected) => {
  expect(await said({ ...transfer, asked: 'amount', slots: { recipient: 'Ann' }, text })).toBe(
    expected,
  );
});

test.each([
  ['Bob', 'recipient="Bob"'],
  ['bob', 'recipient="bob"'],
  ['to Bob', 'recipient="Bob"'],
  ["It's Bob.", 'recipient="Bob"'],
  ['Bob Smith please', 'recipient="Bob Smith"'],
  ['my mom', 'recipient="my mom"'],
  ['"The Shop"', 'recipient="The Shop"'],
  ['Bob, 50 euros', 'recipient="Bob"; amount=50'],
  ['to Bob for 50 euros', 'recipient="Bob"; amount=50'],
  ["what's my balance?", 'start check_balance'],
  ['show my contacts', 'start list_contacts'],
  ['can I send it to Bob?', 'recipient="Bob"'],
  ['please send 50 to Bob', 'recipient="Bob"; amount=50'],
  ['100', 'amount=100'],
  ['yes', 'cannot handle'],
  ["I don't know", 'cannot handle'],
  ['hello', 'chitchat'],
  ['how are you?', 'chitchat'],
  ['why do you need that?', 'knowledge answer'],
])('answers a name: %s', async (text, expected) => {
  expect(await said({ ...transfer, asked: 'recipient', text })).toBe(expected);
});

test.each([
  ['savings', 'account_type="savings"'],
  ['my savings account', 'account_type="savings"'],
  ['checking', 'account_type="checking"'],
  ['Chekcing please', 'account_type="checking"'],
  ['the gold one', 'account_type="the gold one"'],
  ['which accounts are there?', 'knowledge answer'],
])('answers a category: %s', async (text, expected) => {
  expect(await said({ active: 'check_balance', asked: 'account_type', text })).toBe(expected);
});

test.each([
  ['appointment_date', 'tomorrow', 'appointment_date="2026-11-16"'],
  [
    'appointment_date',
    'next friday at 10:30',
    'appointment_date="2026-11-20"; appointment_time="10:30"',
  ],
  ['appointment_date', '2026-12-01', 'appointment_date="2026-12-01"'],
  ['appointment_time', 'at 3 pm', 'appointment_time="15:00"'],
  ['topic', 'my mortgage', 'topic="my mortgage"'],
  ['topic', 'about the house', 'topic="about the house"'],
])('answers %s: %s', async (asked, text, expected) => {
  expect(await said({ active: 'book_appointment', asked, text })).toBe(expected);
});

test.each([
  ['email', 'it is Ann@Example.com', 'email="ann@example.com"'],
  ['phone_number', '+49 170 1234567', 'phone_number="+491701234567"'],
  ['phone_number', 'nope', 'phone_number="nope"'],
  ['contact_name', 'Ann, ann@example.com', 'contact_name="Ann"; email="ann@example.com"'],
])('answers %s: %s', async (asked, text, expected) => {
  expect(await said({ active: 'add_contact', asked, text })).toBe(expected);
});

test('a regular expression of the domain finds its value in a sentence', async () => {
  const order = { active: 'track_order', asked: 'order_id' } as const;
  expect(await said({ ...order, text: 'I think it is AB-1234, thanks' })).toBe(
    'order_id="AB-1234"',
  );
  expect(await said({ ...order, text: 'ab' })).toBe('order_id="ab"');
});

test('free text is kept word for word', async () => {
  const text = 'The app is slow,\n“very” slow, and I could not transfer money to Bob!';
  expect(await said({ active: 'give_feedback', asked: 'feedback', text })).toBe(
    `feedback=${JSON.stringify(text)}`,
  );
});

test.each([
  ['I cannot transfer money', 'feedback="I cannot transfer money"'],
  ['no thanks', 'feedback="no thanks"'],
  ['I want to transfer money', 'start transfer_money'],
  ['cancel', 'cancel flow'],
])('free text is left only for a plain request: %s', async (text, expected) => {
  expect(await said({ active: 'give_feedback', asked: 'feedback', text })).toBe(expected);
});

const confirming = {
  ...transfer,
  asked: 'confirm',
  slots: { recipient: 'Ann', amount: 40 },
} as const;

test.each([
  ['yes', 'confirm=true'],
  ['Yes please!', 'confirm=true'],
  ['sure, go ahead', 'confirm=true'],
  ["that's right", 'confirm=true'],
  ['no', 'confirm=false'],
  ['no thanks', 'confirm=false'],
  ["no, that's wrong", 'confirm=false'],
  ['yes and then show my balance', 'confirm=true; start check_balance'],
  ["what's my balance?", 'start check_balance'],
  ['hm', 'cannot handle'],
  ['purple', 'confirm="purple"'],
  ['show my balance first', 'start check_balance'],
  ['hmm no, send 45', 'amount=45'],
  ['ok but to Bob', 'recipient="Bob"'],
  ['send it', 'confirm=true'],
  ['change it', 'confirm="change it"'],
  ['is there a fee?', 'knowledge answer'],
])('answers a yes or no: %s', async (text, expected) => {
  expect(await said({ ...confirming, text })).toBe(expected);
});

test.each([
  ['make it 50', 'amount=50'],
  ['no, make it 50', 'amount=50'],
  ['yes but make it 60', 'amount=60'],
  ['actually 50', 'amount=50'],
  ['I meant 50', 'amount=50'],
  ['sorry, 50 euros', 'amount=50'],
  ['50 instead', 'amount=50'],
  ['not 40 but 50', 'amount=50'],
  ['50, not 40', 'amount=50'],
  ['60 euros', 'amount=60'],
  ['change the amount to 70', 'amount=70'],
  ['the amount should be 70', 'amount=70'],
  ['no, to Bob', 'recipient="Bob"'],
  ['actually to Bob', 'recipient="Bob"'],
  ['I meant Bob', 'recipient="Bob"'],
  ['sorry, I meant Bob Smith', 'recipient="Bob Smith"'],
  ['no, Bob', 'recipient="Bob"'],
  ['change it to Bob', 'recipient="Bob"'],
  ['change the recipient to Bob', 'recipient="Bob"'],
  ['the recipient is wrong, it should be to Bob', 'recipient="Bob"'],
  ['Bob instead of Ann', 'recipient="Bob"'],
  ['no, 50 to Bob', 'amount=50; recipient="Bob"'],
  ['change the recipient', 'recipient=null'],
  ['I want to change the recipient', 'recipient=null'],
  ['wrong recipient', 'recipient=null'],
  ["that's the wrong amount", 'amount=null'],
  ['no, the amount is wrong', 'amount=null'],
  ['can I change the amount?', 'amount=null'],
  ['that is not the right recipient', 'recipient=null'],
  ['wrong person', 'recipient=null'],
  ['oh no, Bob not Ann', 'recipient="Bob"'],
  ['lower it to 30', 'amount=30'],
])('corrects: %s', async (text, expected) => {
  expect(await said({ ...confirming, text })).toBe(expected);
});

test.each([
  ['no, to Bob', 'recipient="Bob"'],
  ['I meant Bob', 'recipient="Bob"'],
  ['actually 50', 'amount=50'],
  ['change the recipient', 'recipient=null'],
])('corrects while another slot is asked: %s', async (text, expected) => {
  expect(await said({ ...transfer, asked: 'amount', slots: { recipient: 'Ann' }, text })).toBe(
    expected,
  );
});

test.each([
  ['cancel', 'cancel flow'],
  ['Cancel that please', 'cancel flow'],
  ['never mind', 'cancel flow'],
  ['nevermind', 'cancel flow'],
  ['stop', 'cancel flow'],
  ['stop that', 'cancel flow'],
  ['forget it', 'cancel flow'],
  ['no, cancel', 'cancel flow'],
  ['actually, never mind', 'cancel flow'],
  ['I changed my mind', 'cancel flow'],
  ["I don't want to do this anymore", 'cancel flow'],
  ["I don't want that", 'cancel flow'],
  ['I want to cancel', 'cancel flow'],
  ["let's stop here", 'cancel flow'],
  ['cancel the transfer', 'cancel flow'],
  ['stop the money transfer', 'cancel flow'],
  ['quit', 'cancel flow'],
  ['cancel the payment', 'cancel flow'],
  ['I no longer want to send money', 'cancel flow'],
  ['stop that, show my balance', 'cancel flow; start check_balance'],
  ['never mind, block my debit card', 'cancel flow; start freeze_card; card_type="debit"'],
  ['cancel that and instead book an appointment', 'cancel flow; start book_appointment'],
  ['stop, cancel that please', 'cancel flow'],
  ["nevermind i don't want to send anything anymore", 'cancel flow'],
  ['I am busy, forget it', 'cancel flow'],
  ['forget it, I lost my card', 'cancel flow'],
  ['repeat that', 'repeat bot messages'],
  ['could you say that again?', 'repeat bot messages'],
  ['what did you say?', 'repeat bot messages'],
  ["sorry, I didn't catch that", 'repeat bot messages'],
  ['pardon?', 'repeat bot messages'],
  ['restart', 'restart'],
  ["let's start over", 'restart'],
  ['skip', 'skip question'],
  ['skip this question', 'skip question'],
  ["I'd rather not say", 'skip question'],
  ['talk to a human', 'human handoff'],
  ['I want to speak to a real person', 'human handoff'],
  ['can you connect me with an agent please', 'human handoff'],
  ['human please', 'human handoff'],
  ['one moment please', 'chitchat'],
  ['hold on a second', 'chitchat'],
  ['just a sec', 'chitchat'],
  ['let me check', 'chitchat'],
  ['how are you', 'chitchat'],
  ['are you a bot?', 'chitchat'],
  ['thanks!', 'chitchat'],
  ['hello there', 'chitchat'],
  ['what is the limit for transfers?', 'knowledge answer'],
  ['how long does it take?', 'knowledge answer'],
  ['is it safe?', 'knowledge answer'],
  ['why is there a fee', 'knowledge answer'],
])('steers: %s', async (text, expected) => {
  expect(await said({ ...transfer, asked: 'amount', slots: { recipient: 'Ann' }, text })).toBe(
    expected,
  );
});

test.each([
  ['what is an IBAN?', 'knowledge answer'],
  ['how do I reach you?', 'knowledge answer'],
  ['tell me about interest rates', 'knowledge answer'],
  ['hello', 'chitchat'],
  ['good morning!', 'chitchat'],
  ['talk to a human', 'human handoff'],
  ['never mind', 'chitchat'],
  ['skip', 'cannot handle'],
  ['yes', 'cannot handle'],
])('without a flow: %s', async (text, expected) => {
  expect(await said({ text })).toBe(expected);
});

const resuming = {
  ...transfer,
  pattern: 'pattern_continue_interrupted',
  asked: 'continue_interrupted_flow_confirmation',
  pending: 'amount',
  slots: { recipient: 'Ann' },
} as const;

test.each([
  ['yes', true],
  ['yes, continue', true],
  ["let's continue", true],
  ['go on with the transfer', true],
  ['back to the transfer', true],
  ['the transfer', true],
  ['no', false],
  ['no thanks', false],
  ['never mind', false],
  ['forget it', false],
])('to continue or not: %s', async (text, expected) => {
  expect(await said({ ...resuming, text })).toBe(
    `continue_interrupted_flow_confirmation=${expected}`,
  );
});

test('the answer to the interrupted question counts as well, and so does a new request', async () => {
  expect(await said({ ...resuming, text: '50 euros' })).toBe('amount=50');
  expect(await said({ ...resuming, text: 'block my card' })).toBe('start freeze_card');
  const asked = { ...resuming, pending: 'recipient', slots: {} };
  expect(await said({ ...asked, text: 'to Bob' })).toBe('recipient="Bob"');
  expect(await said({ ...asked, text: 'Bob Smith' })).toBe('recipient="Bob Smith"');
});

const choosing = {
  ...transfer,
  pattern: 'pattern_continue_interrupted',
  asked: 'interrupted_flow_to_continue',
  context: {
    interrupted_flow_ids: ['transfer_money', 'book_appointment'],
    interrupted_flow_names: ['transfer money', 'book appointment'],
  },
} as const;

test.each([
  ['the transfer', 'transfer_money'],
  ['book appointment', 'book_appointment'],
  ['the appointment please', 'book_appointment'],
  ['the first one', 'transfer_money'],
  ['the last one', 'book_appointment'],
  ['I want the first option', 'transfer_money'],
  ['none', 'none'],
  ['neither', 'none'],
  ['no thanks', 'none'],
  ['never mind', 'none'],
])('which flow to continue: %s', async (text, expected) => {
  expect(await said({ ...choosing, text })).toBe(`interrupted_flow_to_continue="${expected}"`);
});

const completed = { pattern: 'pattern_completed', asked: 'continue_conversation' } as const;

test.each([
  ['yes', 'continue_conversation=true'],
  ['yes please', 'continue_conversation=true'],
  ['no', 'continue_conversation=false'],
  ["no, that's all", 'continue_conversation=false'],
  ["that's it, thanks", 'continue_conversation=false'],
  ['nothing else', 'continue_conversation=false'],
  ["I'm good", 'continue_conversation=false'],
  ['thanks, bye', 'continue_conversation=false'],
  ['never mind', 'continue_conversation=false'],
  ['show my balance', 'start check_balance'],
  ['yes, show my balance', 'start check_balance'],
  ['send 50 to Bob', 'start transfer_money; amount=50; recipient="Bob"'],
])('anything else: %s', async (text, expected) => {
  expect(await said({ ...completed, text })).toBe(expected);
});

test.each([
  ['great', 'satisfied'],
  ['very happy, thanks', 'satisfied'],
  ['yes', 'satisfied'],
  ['5', 'satisfied'],
  ['👍', 'satisfied'],
  ['satisfied', 'satisfied'],
  ['unsatisfied', 'unsatisfied'],
  ['not happy', 'unsatisfied'],
  ['terrible', 'unsatisfied'],
  ['no', 'unsatisfied'],
  ['1 star', 'unsatisfied'],
])('satisfaction: %s', async (text, expected) => {
  const asked = { pattern: 'pattern_customer_satisfaction', asked: 'csat_score' };
  expect(await said({ ...asked, text })).toBe(`csat_score="${expected}"`);
});

test('confirm_correction is a plain yes or no', async () => {
  const asked = { ...transfer, pattern: 'pattern_correction', asked: 'confirm_correction' };
  expect(await said({ ...asked, text: 'yes, do it' })).toBe('confirm_correction=true');
});

test('a question that forces its answer gets the message word for word', async () => {
  const forced = situation({ active: 'give_feedback', asked: 'feedback', text: 'skip this' });
  const collect = forced.activeCollect;
  if (collect === undefined) throw new Error('nothing was asked');
  const step = { ...collect.step, forceSlotFilling: true };
  const commands = await generator.generate({ ...forced, activeCollect: { ...collect, step } });
  expect(commands.map(line)).toEqual(['feedback="skip this"']);
});

test.each([
  ['the one with the pool', [], 'continue agent'],
  ['50', [], 'continue agent'],
  ['hello', [], 'continue agent'],
  ['never mind', [], 'cancel flow'],
  ['stop that, show my balance', [], 'cancel flow; start check_balance'],
  ["what's my balance?", [], 'start check_balance'],
  ['talk to a human', [], 'human handoff'],
  ['search for flights again', ['flight_finder'], 'restart agent flight_finder'],
])('while an agent waits: %s', async (text, done, expected) => {
  const agents = { active: 'hotel_finder', completed: done };
  expect(await said({ active: 'plan_trip', text, more: { agents } })).toBe(expected);
});

test('one moment chooses neither the first button nor the first flow', async () => {
  const buttons = [
    { title: 'Send it', payload: 'yes' },
    { title: 'Leave it', payload: 'no' },
  ];
  const more = { transcript: [{ speaker: 'bot' as const, text: 'Send 20 to Ann?', buttons }] };
  const asked = { active: 'transfer_money', asked: 'confirm', more };
  expect(await said({ ...asked, text: 'one moment' })).toBe('chitchat');
  expect(await said({ ...choosing, text: 'one moment' })).toBe('chitchat');
});

test('a typed button title stands for its payload', async () => {
  const buttons = [
    { title: 'My piggy bank', payload: 'savings' },
    { title: 'Everyday', payload: 'checking' },
  ];
  const more = { transcript: [{ speaker: 'bot' as const, text: 'Which account?', buttons }] };
  const asked = { active: 'check_balance', asked: 'account_type', more };
  expect(await said({ ...asked, text: 'my piggy bank' })).toBe('account_type="savings"');
  expect(await said({ ...asked, text: 'the second one' })).toBe('account_type="checking"');
});

test('what users must not fill is not filled', async () => {
  const commands = await said({ text: 'send 50 to Bob, tier gold' });
  expect(commands).not.toContain('tier');
});

test('slots of called flows are filled, and of other flows not', async () => {
  expect(
    await said({ active: 'check_balance', asked: 'account_type', text: 'savings, to Bob' }),
  ).toBe('account_type="savings"');
});

test('today can be mocked', async () => {
  const asked = { active: 'book_appointment', asked: 'appointment_date', text: 'tomorrow' };
  const slots = { mocked_datetime: '2030-01-01T08:00:00Z' };
  expect(await said({ ...asked, slots })).toBe('appointment_date="2030-01-02"');
});

test('an unknown time zone is refused at once', () => {
  expect(() => matchingGenerator({ timeZone: 'Mars/Olympus' })).toThrow('timezone "Mars/Olympus"');
});

test('values are labelled as matched, not as those of a model', async () => {
  const commands = await generator.generate(situation({ text: 'send 50 euros to Bob' }));
  const labels = commands.flatMap((one) => (one.command === 'set slot' ? [one.by] : []));
  expect(labels).toEqual(['matching', 'matching']);
});
