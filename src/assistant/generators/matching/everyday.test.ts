import { expect, test } from 'vitest';
import { InProcessActions } from '../../actions/in-process.ts';
import { Conversation } from '../../testing/conversation.ts';
import { project } from '../../testing/project.ts';
import { matchingGenerator } from './matching-generator.ts';

/** A hire shop: slots of many forms, a guarded flow, words of its own. */
const texts = {
  flows: `flows:
  rent_bike:
    name: bike rental
    description: Rent a bike.
    examples: [I want to rent a bike]
    steps:
      - collect: months
        description: for how many months
      - collect: deposit
        description: how much money to leave as a deposit
      - collect: colour
      - collect: helmet
        description: whether a helmet is needed
      - action: utter_rented
  join: {name: membership, description: Become a member., persisted_slots: [member], steps: [{set_slots: [{member: true}]}, {action: utter_joined}]}
  races: {name: races, description: Enter a race., if: slots.member, steps: [{action: utter_raced}]}
  spending:
    description: Show what was spent in a period.
    steps: [{collect: from_date}, {collect: to_date}, {action: utter_spent}]
`,
  domain: `
synonyms: {bike: [velo, two-wheeler]}
small_talk: {weather: [what a day, (nice|awful) weather]}
slots:
  months: {type: float}
  deposit: {type: float}
  colour: {type: text}
  helmet: {type: bool}
  member: {type: bool, mappings: [{type: controlled}]}
  from_date: {type: text}
  to_date: {type: text}
responses:
  utter_ask_months: [{text: "For how many months?"}]
  utter_ask_deposit: [{text: "How many euros?"}]
  utter_ask_colour:
    - text: "Which colour?"
      buttons: [{title: "No thanks", payload: none of them}, {title: Like the sky, payload: "/SetSlots(colour=blue)"}]
  utter_ask_helmet: [{text: "A helmet?"}]
  utter_rented: [{text: "{months} months, {deposit}, {colour}."}]
  utter_joined: [{text: "Welcome."}]
  utter_raced: [{text: "Go."}]
  utter_ask_from_date: [{text: "From?"}]
  utter_ask_to_date: [{text: "To?"}]
  utter_spent: [{text: "{from_date} to {to_date}."}]
  utter_small_talk_weather: [{text: "Grand."}]
`,
};

function shop(): Conversation {
  // 15 June 2025, a Sunday.
  return new Conversation(project(texts), {
    generator: matchingGenerator(),
    actions: new InProcessActions([]),
  });
}

async function answers(...messages: readonly string[]): Promise<string> {
  const chat = shop();
  let last: readonly string[] = [];
  for (const text of messages) last = await chat.send({ text });
  return last.join(' ');
}

test('words of the project mean what it says', async () => {
  expect(await answers('rent a velo')).toBe('For how many months?');
  expect(await answers('awful weather!')).toBe('Grand.');
});

test('years are months where months are asked for', async () => {
  const chat = shop();
  await chat.send({ text: 'I want to rent a bike' });
  await chat.send({ text: '2 years' });
  expect(chat.slot('months')).toBe(24);
});

test('another currency and an unclear number are asked about, not taken', async () => {
  const before = ['I want to rent a bike', '3'];
  expect(await answers(...before, '50 dollars')).toBe(
    'I can only take amounts in EUR. How many euros?',
  );
  expect(await answers(...before, '10.000')).toBe('Do you mean 10 or 10000? How many euros?');
  expect(await answers(...before, '50 euros')).toBe('Which colour?');
});

test('the title of a button answers where text is asked for', async () => {
  const before = ['I want to rent a bike', '3', '50'];
  for (const [title, colour] of [
    ['No thanks', 'none of them'],
    ['like the sky', 'blue'],
  ] as const) {
    const chat = shop();
    for (const text of [...before, title]) await chat.send({ text });
    expect(chat.slot('colour')).toBe(colour);
  }
});

test('hesitation is neither yes nor no', async () => {
  const before = ['I want to rent a bike', '3', '50', 'red'];
  for (const text of ['maybe', 'hmm not sure', "I don't know", 'it depends']) {
    const chat = shop();
    for (const one of before) await chat.send({ text: one });
    await chat.send({ text });
    expect(chat.slot('helmet'), text).toBeNull();
    expect(chat.outcome.activeFlow, text).toBe('rent_bike');
  }
});

test('a guarded flow names the one that unlocks it, with a button', async () => {
  const chat = shop();
  expect(await chat.send({ text: 'enter a race' })).toEqual([
    'Races isn\'t available yet. Please complete "membership" first.',
  ]);
  expect(chat.last?.messages[0]?.buttons).toEqual([{ title: 'Membership', payload: 'membership' }]);
  expect(chat.outcome.cannotHandle).toBe('cannot_handle_not_available');
  await chat.send({ text: 'membership' });
  expect(await chat.send({ text: 'enter a race' })).toContain('Go.');
});

test('how something is done is offered, what would come of it is not', async () => {
  const chat = shop();
  expect(await chat.send({ text: 'how do I rent a bike?' })).toEqual([
    'I can help you with bike rental. Shall I start?',
  ]);
  expect(await chat.send({ text: 'yes please' })).toEqual(['For how many months?']);
  for (const text of [
    'what happens if I rent a bike?',
    "I don't want to rent a bike",
    "don't rent me a bike",
    'should I rent a bike?',
  ]) {
    const other = shop();
    await other.send({ text });
    expect(other.flowEvents, text).toEqual([]);
  }
});

test('periods look back where the flow does', async () => {
  expect(await answers('show what was spent last month')).toContain('2025-05-01 to 2025-05-31.');
  expect(await answers('show what was spent', 'from 1 October', '31 October')).toContain(
    '2024-10-01 to 2024-10-31.',
  );
});

test('what excludes a flow does not start its neighbour', async () => {
  const cards = project({
    flows: `flows:
  freeze: {name: card freeze, description: Freeze a card., steps: [{action: utter_a}]}
  replace: {name: card replacement, description: Replace a card., steps: [{action: utter_a}]}
  funds: {name: funds, description: Look at them., examples: [how much do I have], steps: [{action: utter_a}]}
`,
    domain: 'responses: {utter_a: [{text: "Done."}]}',
  });
  const started = async (text: string): Promise<readonly string[]> => {
    const chat = new Conversation(cards, { generator: matchingGenerator() });
    await chat.send({ text });
    return chat.flowEvents.slice(0, 1);
  };
  expect(await started('unfreeze my card')).toEqual([]);
  expect(await started('freeze my card')).toEqual(['flow_started freeze']);
  expect(await started('How much do I have?')).toEqual(['flow_started funds']);
});
