import { expect, test } from 'vitest';
import {
  cancel,
  chitchat,
  clarify,
  Conversation,
  repeat,
  search,
  set,
  skip,
  start,
} from './testing/conversation.ts';
import { parcelActions, parcels } from './testing/parcels.ts';

const office = parcels();

function open(): Conversation {
  return new Conversation(office, { actions: parcelActions });
}

const MORE = 'Is there anything else I can help you with?';

test('1: slots are asked for one by one, confirmed, acted upon, and the user is asked for more', async () => {
  const chat = open();
  expect(await chat.say('send a parcel', start('send_parcel'))).toEqual(['Who is it for?']);
  expect(await chat.say('Bob', set('recipient', 'Bob'))).toEqual(['How heavy is it?']);
  expect(await chat.say('2', set('weight', 2))).toEqual(['Standard or express?']);
  expect(await chat.say('standard', set('service', 'standard'))).toEqual([
    '2 kg to Bob, standard. Shall I send it?',
  ]);
  expect(await chat.say('yes', set('confirm', true))).toEqual(['Sent, receipt R-2.', MORE]);
  expect(chat.outcome.completedFlows).toEqual(['send_parcel']);
  expect(chat.outcome.userFlows).toEqual([]);
  expect(chat.slot('recipient')).toBeNull();
  expect(chat.slot('receipt')).toBe('R-2');
});

/** A conversation at the confirmation of a parcel to Bob. */
async function atConfirmation(): Promise<Conversation> {
  const chat = open();
  await chat.say(
    'send 2 kg to Bob, standard',
    start('send_parcel'),
    set('recipient', 'Bob'),
    set('weight', 2),
    set('service', 'standard'),
  );
  return chat;
}

test('2: with all slots in the first sentence only the confirmation is asked', async () => {
  const chat = open();
  const said = await chat.say(
    'send 2 kg to Bob, standard, and yes, do it',
    start('send_parcel'),
    set('recipient', 'Bob'),
    set('weight', 2),
    set('service', 'standard'),
    set('confirm', true),
  );
  expect(said).toEqual(['2 kg to Bob, standard. Shall I send it?']);
});

test('3: a slot given upfront is not asked for', async () => {
  const chat = open();
  const said = await chat.say(
    'send something to Bob',
    start('send_parcel'),
    set('recipient', 'Bob'),
  );
  expect(said).toEqual(['How heavy is it?']);
});

test('4: cancelling says so, forgets the slots, and starting again asks again', async () => {
  const chat = await atConfirmation();
  expect(await chat.say('never mind', cancel)).toEqual([
    'OK, I will not continue with sending a parcel.',
    MORE,
  ]);
  expect(chat.outcome).toMatchObject({
    cancelledFlows: [{ flowId: 'send_parcel', stepId: 'confirm' }],
    userFlows: [],
    completedFlows: [],
  });
  expect(chat.slot('recipient')).toBeNull();
  expect(await chat.say('send a parcel', start('send_parcel'))).toEqual(['Who is it for?']);
});

test('5: stopping one thing for another cancels first and starts then', async () => {
  const chat = await atConfirmation();
  const said = await chat.say('stop that, track a parcel', cancel, start('track_parcel'));
  expect(said).toEqual(['OK, I will not continue with sending a parcel.', 'What is the code?']);
  expect(chat.outcome.userFlows).toEqual(['track_parcel']);
  expect(await chat.say('p1', set('code', 'p1'))).toEqual(['Parcel P1 is on its way.', MORE]);
});

test('5: starting the same thing over keeps only what the same sentence says', async () => {
  const chat = await atConfirmation();
  const said = await chat.say(
    'no, start over, to Eve',
    cancel,
    start('send_parcel'),
    set('recipient', 'Eve'),
  );
  expect(said).toEqual(['OK, I will not continue with sending a parcel.', 'How heavy is it?']);
  expect(chat.slot('recipient')).toBe('Eve');
  expect(chat.slot('service')).toBeNull();
});

test('6: correcting an earlier slot at the confirmation asks for the confirmation again', async () => {
  const chat = await atConfirmation();
  expect(await chat.say('make it 3 kg', set('weight', 3))).toEqual([
    'Alright, I changed weight to 3.',
    '3 kg to Bob, standard. Shall I send it?',
  ]);
});

test('6: a correction is checked like an answer', async () => {
  const chat = await atConfirmation();
  expect(await chat.say('make it 300 kg', set('weight', 300))).toEqual([
    'Alright, I changed weight to 300.',
    '300 kg is no weight for a parcel.',
    'How heavy is it?',
  ]);
  expect(await chat.say('3', set('weight', 3))).toEqual([
    '3 kg to Bob, standard. Shall I send it?',
  ]);
});

test('6: an answer beside a correction does not skip the confirmation', async () => {
  const chat = await atConfirmation();
  const said = await chat.say('yes, but to Eve', set('confirm', true), set('recipient', 'Eve'));
  expect(said).toEqual([
    'Alright, I changed recipient to Eve.',
    '2 kg to Eve, standard. Shall I send it?',
  ]);
});

test('7: correcting a slot that decides a branch takes the other branch', async () => {
  const chat = await atConfirmation();
  expect(await chat.say('express', set('service', 'express'))).toEqual([
    'Alright, I changed service to express.',
    'Which phone number may we call?',
  ]);
  expect(await chat.say('555', set('phone', '555'))).toEqual([
    '2 kg to Bob, express. Shall I send it?',
  ]);
});

test('8: taking back a slot without a new value asks for it', async () => {
  const chat = await atConfirmation();
  expect(await chat.say('change the recipient', set('recipient', null))).toEqual([
    'Who is it for?',
  ]);
  expect(await chat.say('Eve', set('recipient', 'Eve'))).toEqual([
    '2 kg to Eve, standard. Shall I send it?',
  ]);
});

test('9: a slot may be corrected twice', async () => {
  const chat = await atConfirmation();
  await chat.say('make it 3', set('weight', 3));
  expect(await chat.say('no, 4, and to Eve', set('weight', 4), set('recipient', 'Eve'))).toEqual([
    'Alright, I changed weight to 4, recipient to Eve.',
    '4 kg to Eve, standard. Shall I send it?',
  ]);
});

test('10: after a correction the flow can be cancelled', async () => {
  const chat = await atConfirmation();
  await chat.say('make it 3', set('weight', 3));
  expect(await chat.say('stop', cancel)).toEqual([
    'OK, I will not continue with sending a parcel.',
    MORE,
  ]);
  expect(chat.slot('weight')).toBeNull();
});

const GO_ON = 'Would you like to continue with sending a parcel?';

test('11: after a digression the user is asked, and yes leads back to the same question', async () => {
  const chat = open();
  await chat.say('send a parcel', start('send_parcel'));
  expect(await chat.say('when are you open?', start('opening_hours'))).toEqual([
    'Open from 9 to 5.',
    GO_ON,
  ]);
  expect(chat.flowEvents).toEqual([
    'flow_interrupted send_parcel',
    'flow_started opening_hours',
    'flow_completed opening_hours',
  ]);
  const yes = set('continue_interrupted_flow_confirmation', true);
  expect(await chat.say('yes', yes)).toEqual(['Who is it for?']);
  expect(chat.flowEvents).toEqual(['flow_resumed send_parcel']);
  expect(await chat.say('Bob', set('recipient', 'Bob'))).toEqual(['How heavy is it?']);
});

test('11: answering the pending question itself resumes the flow', async () => {
  const chat = open();
  await chat.say('send a parcel', start('send_parcel'));
  await chat.say('when are you open?', start('opening_hours'));
  expect(await chat.say('to Bob', set('recipient', 'Bob'))).toEqual(['How heavy is it?']);
  expect(chat.outcome.patterns).toEqual([]);
});

test('11: no cancels what was interrupted', async () => {
  const chat = open();
  await chat.say('send a parcel', start('send_parcel'));
  await chat.say('when are you open?', start('opening_hours'));
  const no = set('continue_interrupted_flow_confirmation', false);
  expect(await chat.say('no', no)).toEqual(['OK, I canceled that.', MORE]);
  expect(chat.flowEvents).toEqual(['flow_cancelled send_parcel']);
});

test('11: with several interrupted flows the user chooses one, and is asked again after it', async () => {
  const chat = open();
  await chat.say('send a parcel', start('send_parcel'));
  await chat.say('hold my mail', start('hold_mail'));
  expect(await chat.say('when are you open?', start('opening_hours'))).toEqual([
    'Open from 9 to 5.',
    'Which would you like to continue with: holding mail or sending a parcel? Say none to cancel them.',
  ]);
  const choose = (name: string) => set('interrupted_flow_to_continue', name);
  expect(await chat.say('the moon', choose('the moon'))).toEqual([
    'Which would you like to continue with: holding mail or sending a parcel? Say none to cancel them.',
  ]);
  expect(await chat.say('the parcel', choose('Sending a parcel'))).toEqual(['Who is it for?']);
  expect(await chat.say('stop', cancel)).toEqual([
    'OK, I will not continue with sending a parcel.',
    'Would you like to continue with holding mail?',
  ]);
});

test('12: of two requests in one sentence the first runs and then the second', async () => {
  const chat = open();
  expect(await chat.say('hours, and track', start('opening_hours'), start('track_parcel'))).toEqual(
    ['Open from 9 to 5.', 'What is the code?'],
  );
  const other = open();
  expect(
    await other.say('track, and hours', start('track_parcel'), start('opening_hours')),
  ).toEqual(['What is the code?']);
  expect(await other.say('p1', set('code', 'p1'))).toEqual([
    'Parcel P1 is on its way.',
    'Open from 9 to 5.',
    MORE,
  ]);
});

test('13 and 14: a question for documents and small talk leave the pending question standing', async () => {
  const chat = open();
  await chat.say('send a parcel', start('send_parcel'));
  expect(await chat.say('what is customs?', search)).toEqual([
    "Sorry, I can't answer that.",
    'Who is it for?',
  ]);
  expect(await chat.say('nice weather', chitchat)).toEqual([
    "Sorry, I can't help with that.",
    'Who is it for?',
  ]);
});

test('15: an ambiguous word is answered with at most three options, and one of them starts', async () => {
  const chat = open();
  expect(
    await chat.say(
      'parcel',
      clarify('send_parcel', 'track_parcel', 'send_parcel', 'redirect_parcel', 'hold_mail'),
    ),
  ).toEqual([
    'I can think of more than one thing: sending a parcel, tracking a parcel or redirecting a parcel. Which do you mean?',
  ]);
  expect(await chat.say('track', start('track_parcel'))).toEqual(['What is the code?']);
  expect(await open().say('hm', clarify())).toEqual([
    'I am not sure what you would like to do. Can you say a little more?',
  ]);
});

test('15: a clarification inside a flow waits for the choice before it asks again', async () => {
  const chat = open();
  await chat.say('send a parcel', start('send_parcel'));
  expect(await chat.say('mail', clarify('hold_mail', 'track_parcel'))).toHaveLength(1);
  expect(await chat.say('to Bob', set('recipient', 'Bob'))).toEqual(['How heavy is it?']);
});

test('16: an override of the pattern hands over at the third clarification', async () => {
  const chat = new Conversation(
    parcels({
      flows: `
  pattern_clarification:
    description: Asks twice, then hands over.
    persisted_slots: [clarified]
    steps:
      - noop: true
        next:
          - if: slots.clarified is null
            then:
              - set_slots: [{clarified: 1}]
                next: ask
          - if: slots.clarified = 1
            then:
              - set_slots: [{clarified: 2}]
                next: ask
          - else:
              - link: pattern_human_handoff
      - id: ask
        action: action_clarify_flows
      - action: utter_clarification_options_rasa
      - action: action_listen
`,
    }),
    { actions: parcelActions },
  );
  const ambiguous = clarify('send_parcel', 'track_parcel');
  expect((await chat.say('parcel', ambiguous))[0]).toMatch(/more than one thing/);
  expect((await chat.say('parcel', ambiguous))[0]).toMatch(/more than one thing/);
  expect((await chat.say('parcel!', ambiguous))[0]).toMatch(/speak with a person/);
});

test('17: a message that is too long or empty is answered at once, by no generator', async () => {
  const chat = open();
  expect(await chat.say('x'.repeat(421), start('send_parcel'))).toEqual([
    'That was more than I can take in at once. Please use at most 420 characters.',
  ]);
  expect(chat.outcome.error?.type).toBe('rasa_internal_error_user_input_too_long');
  expect(await chat.say('  ', start('send_parcel'))).toEqual([
    'That message was empty. What would you like to tell me?',
  ]);
  expect(await chat.say('send a parcel', start('send_parcel'))).toEqual(['Who is it for?']);
});

test('a first message that asks to repeat gets help, since there is nothing to repeat', async () => {
  const [text = ''] = await open().say('what?', repeat);
  expect(text).toMatch(/^Here is what I can do/);
});

test('18: what was said last is said again, once', async () => {
  const chat = open();
  await chat.say('send a parcel', start('send_parcel'));
  await chat.say('when are you open?', start('opening_hours'));
  expect(await chat.say('pardon?', repeat)).toEqual(['Open from 9 to 5.', GO_ON]);
  expect(await chat.say('pardon?', repeat)).toEqual(['Open from 9 to 5.', GO_ON]);
  expect(chat.outcome.patterns).toEqual([
    'pattern_continue_interrupted',
    'pattern_repeat_bot_messages',
  ]);
  const yes = set('continue_interrupted_flow_confirmation', true);
  expect(await chat.say('yes', yes)).toEqual(['Who is it for?']);
});

test('19: an answer that is rejected is asked for again until it fits', async () => {
  const chat = open();
  await chat.say('hold my mail from 10', start('hold_mail'), set('from_day', 10));
  expect(await chat.say('until 5', set('to_day', 5))).toEqual([
    'That would end before it begins.',
    'Until which day?',
  ]);
  expect(await chat.say('until 6', set('to_day', 6))).toHaveLength(2);
  expect(await chat.say('until 20', set('to_day', 20))).toEqual(['Hold it from 10 to 20?']);
  await chat.say('yes', set('hold_confirm', true));
  expect(chat.slot('from_day')).toBeNull();
  expect(chat.slot('to_day')).toBe(20);
  expect(chat.outcome.persistedSlots).toEqual({ to_day: 20 });
});

test('19: an answer of the wrong type is refused with words of its own', async () => {
  const chat = open();
  await chat.say('hold my mail', start('hold_mail'));
  expect(await chat.say('soon', set('from_day', 'soon'))).toEqual([
    'Please answer with a number.',
    'From which day?',
  ]);
  expect(await chat.say('10', set('from_day', '10'))).toEqual(['Until which day?']);
  expect(chat.slot('from_day')).toBe(10);
});

test('20: a guarded flow is refused until its guard holds', async () => {
  const chat = open();
  expect(await chat.say('my history', start('history'))).toEqual([
    "Sorry, I didn't understand that. I can help you with sending a parcel, tracking a parcel, opening hours, holding mail and more.",
  ]);
  expect(chat.outcome.cannotHandle).toBe('cannot_handle_default');
  expect(await chat.say('redirect', start('redirect_parcel'))).toEqual(['Your PIN, please.']);
  expect(chat.outcome.activeFlow).toBe('authenticate');
  expect(chat.outcome.userFlows).toEqual(['redirect_parcel']);
  expect(await chat.say('1234', set('pin', '1234'))).toEqual(['Where should it go?']);
  expect(await chat.say('home', set('new_address', 'home'))).toEqual(['It goes to home.', MORE]);
  expect(await chat.say('my history', start('history'))).toEqual([
    'Three parcels this year.',
    MORE,
  ]);
});

test('20: the third failure of the called flow links to the handoff', async () => {
  const chat = open();
  await chat.say('redirect', start('redirect_parcel'));
  expect(await chat.say('1', set('pin', '1'))).toEqual([
    'That is not your PIN.',
    'Your PIN, please.',
  ]);
  await chat.say('2', set('pin', '2'));
  expect(await chat.say('3', set('pin', '3'))).toEqual([
    'That is not your PIN.',
    'I see that you would like to speak with a person. Nobody is available here, so it is just me.',
  ]);
  expect(chat.outcome.userFlows).toEqual([]);
});

test('20: cancelling in a called flow cancels the flow that called it', async () => {
  const chat = open();
  await chat.say('redirect', start('redirect_parcel'));
  expect(await chat.say('stop', cancel)).toEqual([
    'OK, I will not continue with redirecting a parcel.',
    MORE,
  ]);
  expect(chat.flowEvents).toEqual([
    'flow_cancelled authenticate',
    'flow_cancelled redirect_parcel',
  ]);
});

test('21: a question that insists on its answer swallows every other command', async () => {
  const chat = open();
  await chat.say('feedback', start('give_feedback'));
  expect(await chat.say('stop it, skip this', skip, cancel)).toEqual(['What should we know?']);
  expect(await chat.say('skip this', skip, set('feedback', 'skip this'))).toEqual([
    "Thanks for 'skip this'.",
  ]);
  expect(chat.outcome.patterns).toEqual([]);
});

test('22: a button fills slots without a generator', async () => {
  const chat = open();
  await chat.say('send a parcel', start('send_parcel'));
  expect(await chat.send({ text: '/SetSlots(recipient=Bob, weight=2, receipt=R-0)' })).toEqual([
    'Standard or express?',
  ]);
  expect(chat.slot('weight')).toBe(2);
  expect(await chat.send({ text: '/SetSlots(unknown=1)' })).toEqual(['Standard or express?']);
});
