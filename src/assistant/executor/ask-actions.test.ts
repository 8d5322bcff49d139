import { expect, test } from 'vitest';
import { InProcessActions } from '../actions/in-process.ts';
import { defineAction } from '../actions/runner.ts';
import { Conversation, set, start } from '../testing/conversation.ts';
import { project } from '../testing/project.ts';

const ask = (slot: string) =>
  defineAction({
    name: `action_ask_${slot}`,
    run: async ({ utter }) => utter(`ask ${slot}`),
  });

/** A ride: both places are asked for by actions, the seats by a response. */
function ride(validation = '') {
  const rides = project({
    domain: `
slots:
  from: {type: text${validation}}
  to: {type: text}
  seats: {type: float}
actions: [action_ask_from, action_ask_to]
responses:
  utter_ask_seats: [{text: ask seats}]
  utter_nowhere: [{text: nowhere}]
  utter_refill: [{text: from where then}]
  utter_same: [{text: same place}]
  utter_done: [{text: done}]
`,
    flows: `
flows:
  ride:
    description: Order a ride.
    run_pattern_completed: false
    steps:
      - collect: from
      - collect: to
        rejections:
          - if: slots.to = slots.from
            utter: utter_same
      - collect: seats
      - action: utter_done
`,
  });
  return new Conversation(rides, { actions: new InProcessActions([ask('from'), ask('to')]) });
}

test('3.3: after a rejection the reason comes first, then the action asks again, once', async () => {
  const chat = ride();
  expect(await chat.say('a ride from here', start('ride'), set('from', 'here'))).toEqual([
    'ask to',
  ]);
  expect(await chat.say('here', set('to', 'here'))).toEqual(['same place', 'ask to']);
  expect(chat.slot('to')).toBe(null);
  expect(await chat.say('there', set('to', 'there'))).toEqual(['ask seats']);
});

test('3.4: a correction is said first, then the question that was open is asked again', async () => {
  const chat = ride();
  await chat.say('a ride from here', start('ride'), set('from', 'here'));
  const said = await chat.say('no, from home', set('from', 'home'));
  expect(said).toEqual([expect.stringContaining('home'), 'ask to']);
});

test('3.4: a slot corrected to nothing is asked for by its action, before what is asked later', async () => {
  const chat = ride();
  await chat.say('a ride', start('ride'), set('from', 'here'), set('to', 'there'));
  expect(await chat.say('from elsewhere', set('from', null))).toEqual(['ask from']);
  expect(await chat.say('home', set('from', 'home'))).toEqual(['ask seats']);
  expect([chat.slot('from'), chat.slot('to')]).toEqual(['home', 'there']);
});

test('3.4: a correction that makes a later answer wrong has that one asked again by its action', async () => {
  const chat = ride();
  await chat.say('a ride', start('ride'), set('from', 'here'), set('to', 'there'));
  const said = await chat.say('from there', set('from', 'there'));
  expect(said).toEqual([expect.stringContaining('there'), 'same place', 'ask to']);
  expect(await chat.say('far', set('to', 'far'))).toEqual(['ask seats']);
});

const refuse = 'rejections: [{if: slots.from = "nowhere", utter: utter_nowhere}]';

test('2.1: what the domain does not accept is asked for again by the action, once', async () => {
  const chat = ride(`, validation: {${refuse}}`);
  expect(await chat.say('a ride', start('ride'))).toEqual(['ask from']);
  expect(await chat.say('nowhere', set('from', 'nowhere'))).toEqual(['nowhere', 'ask from']);
  expect(await chat.say('here', set('from', 'here'))).toEqual(['ask to']);
});

test('2.1: refill_utter goes before the action that asks the first time', async () => {
  const chat = ride(`, validation: {${refuse}, refill_utter: utter_refill}`);
  expect(await chat.say('a ride', start('ride'))).toEqual(['ask from']);
  expect(await chat.say('nowhere', set('from', 'nowhere'))).toEqual(['nowhere', 'from where then']);
  expect(await chat.say('here', set('from', 'here'))).toEqual(['ask to']);
});

test('2.1: an answer corrected to what the domain does not accept is asked for first, by its action', async () => {
  const chat = ride(`, validation: {${refuse}}`);
  await chat.say('a ride', start('ride'), set('from', 'here'));
  const said = await chat.say('from nowhere', set('from', 'nowhere'));
  expect(said.slice(-2)).toEqual(['nowhere', 'ask from']);
  expect(await chat.say('home', set('from', 'home'))).toEqual(['ask to']);
});
