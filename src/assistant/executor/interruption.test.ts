import { expect, test } from 'vitest';
import { cancel, Conversation, set, start } from '../testing/conversation.ts';
import { parcelActions, parcels } from '../testing/parcels.ts';

const office = parcels();
const MORE = 'Is there anything else I can help you with?';
const yes = set('continue_interrupted_flow_confirmation', true);

function open(): Conversation {
  return new Conversation(office, { actions: parcelActions });
}

test('starting a flow that was interrupted resumes it, and interrupts the one that was on', async () => {
  const chat = open();
  await chat.say('send to Bob', start('send_parcel'), set('recipient', 'Bob'));
  await chat.say('hold my mail', start('hold_mail'));
  expect(await chat.say('back to the parcel', start('send_parcel'))).toEqual(['How heavy is it?']);
  expect(chat.flowEvents).toEqual(['flow_interrupted hold_mail', 'flow_resumed send_parcel']);
  expect(chat.outcome.userFlows).toEqual(['hold_mail', 'send_parcel']);
  expect(await chat.say('stop', cancel)).toEqual([
    'OK, I will not continue with sending a parcel.',
    'Would you like to continue with holding mail?',
  ]);
  expect(await chat.say('yes', yes)).toEqual(['From which day?']);
});

test('asked whether to continue, naming the flow continues with it', async () => {
  const chat = open();
  await chat.say('send a parcel', start('send_parcel'));
  await chat.say('hours', start('opening_hours'));
  expect(await chat.say('yes, the parcel', start('send_parcel'))).toEqual(['Who is it for?']);
  expect(chat.flowEvents).toEqual(['flow_resumed send_parcel']);
});

test('asked whether to continue, something new is started and the question comes back after it', async () => {
  const chat = open();
  await chat.say('send a parcel', start('send_parcel'));
  await chat.say('hours', start('opening_hours'));
  expect(await chat.say('track', start('track_parcel'))).toEqual(['What is the code?']);
  expect(chat.flowEvents).toEqual(['flow_started track_parcel']);
  expect(await chat.say('p1', set('code', 'p1'))).toEqual([
    'Parcel P1 is on its way.',
    'Would you like to continue with sending a parcel?',
  ]);
});

test('asked whether to continue, cancelling ends the flow that was interrupted', async () => {
  const chat = open();
  await chat.say('send a parcel', start('send_parcel'));
  await chat.say('hours', start('opening_hours'));
  expect(await chat.say('cancel it', cancel)).toEqual([
    'OK, I will not continue with sending a parcel.',
    MORE,
  ]);
  expect(chat.outcome.userFlows).toEqual([]);
});

test('several flows asked for inside another one run in their order before it is offered again', async () => {
  const chat = open();
  await chat.say('send a parcel', start('send_parcel'));
  const said = await chat.say('hours and track', start('opening_hours'), start('track_parcel'));
  expect(said).toEqual(['Open from 9 to 5.', 'What is the code?']);
  expect(await chat.say('p1', set('code', 'p1'))).toEqual([
    'Parcel P1 is on its way.',
    'Would you like to continue with sending a parcel?',
  ]);
});

test('a new request while "anything else?" is asked answers that question', async () => {
  const chat = open();
  await chat.say('hours', start('opening_hours'));
  expect(chat.outcome.patterns).toEqual(['pattern_completed']);
  await chat.say('track', start('track_parcel'));
  expect(chat.outcome.patterns).toEqual([]);
  expect(await chat.say('p1', set('code', 'p1'))).toEqual(['Parcel P1 is on its way.', MORE]);
  expect(chat.outcome.patterns).toEqual(['pattern_completed']);
});

test('none of several interrupted flows may be wanted', async () => {
  const chat = open();
  await chat.say('send a parcel', start('send_parcel'));
  await chat.say('hold my mail', start('hold_mail'));
  await chat.say('hours', start('opening_hours'));
  const none = set('interrupted_flow_to_continue', 'None');
  expect(await chat.say('none', none)).toEqual(['OK, I canceled that.', MORE]);
  expect(chat.flowEvents).toEqual(['flow_cancelled hold_mail', 'flow_cancelled send_parcel']);
});

test('an interrupted flow inside a called one comes back to the called one', async () => {
  const chat = open();
  await chat.say('redirect', start('redirect_parcel'));
  await chat.say('hours', start('opening_hours'));
  expect(await chat.say('yes', yes)).toEqual(['Your PIN, please.']);
  expect(await chat.say('1234', set('pin', '1234'))).toEqual(['Where should it go?']);
});
