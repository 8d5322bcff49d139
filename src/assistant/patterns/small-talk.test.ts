import { expect, test } from 'vitest';
import { InProcessActions } from '../actions/in-process.ts';
import { defineAction } from '../actions/runner.ts';
import { matchingGenerator } from '../generators/matching/matching-generator.ts';
import { chitchat, Conversation, search } from '../testing/conversation.ts';
import { project } from '../testing/project.ts';

const flows = `
  buy: {name: buying a hat, description: Buy a hat., examples: [I want a hat], steps: [{collect: colour}]}
  look: {description: Look at hats., steps: [{action: utter_hats}]}
  repair: {name: repairs, description: Repair a hat., if: slots.is_member, steps: [{action: utter_hats}]}
  pay: {description: Called by others., if: False, steps: [{action: utter_hats}]}
`;
const domain = `
slots: {colour: {type: text}, size: {type: text}, is_member: {type: bool}}
responses:
  utter_ask_colour: [{text: "Which colour?"}]
  utter_hats: [{text: "Hats."}]
  utter_own: [{text: "Mine."}]
`;

/** A hat shop that needs no model, with flows and responses of its own. */
function shop(own: { readonly flows?: string; readonly responses?: string } = {}): Conversation {
  const texts = {
    flows: `flows:${flows}${own.flows ?? ''}`,
    domain: `${domain}${own.responses ?? ''}`,
  };
  return new Conversation(project(texts), { generator: matchingGenerator() });
}

const offered = [
  { title: 'Buying a hat', payload: 'I want a hat' },
  { title: 'Look', payload: 'look' },
];

test('hello is answered with what the user may start, as buttons that start it', async () => {
  const chat = shop();
  expect(await chat.send({ text: 'hello' })).toEqual([
    'Hello! I can help you with buying a hat and look. What would you like to do?',
  ]);
  expect(chat.last?.messages[0]?.buttons).toEqual(offered);
  for (const { payload } of offered) {
    const other = shop();
    await other.send({ text: payload });
    expect(other.flowEvents[0]).toMatch(/^flow_started (?:buy|look)$/);
  }
});

test('a guarded flow is offered once its guard holds', async () => {
  const chat = shop();
  await chat.send({ text: 'hello', slots: { is_member: true } });
  expect(chat.last?.messages[0]?.buttons).toContainEqual({ title: 'Repairs', payload: 'repairs' });
});

test('what can you do is answered from the names and descriptions of the flows', async () => {
  expect(await shop().send({ text: 'what can you do?' })).toEqual([
    'Here is what I can do:\n- Buying a hat: Buy a hat.\n- Look: Look at hats.',
  ]);
});

test('within a flow small talk is short, offers nothing and asks again', async () => {
  const chat = shop();
  await chat.send({ text: 'I want a hat' });
  expect(await chat.send({ text: 'hi' })).toEqual(['Hello!', 'Which colour?']);
  expect(chat.last?.messages.some(({ buttons }) => buttons !== undefined)).toBe(false);
  expect(await chat.send({ text: 'help' })).toEqual([
    'We are in the middle of buying a hat. Answer the question, or say "cancel" to stop.',
    'Which colour?',
  ]);
});

test('what is out of scope gets one honest sentence and what the assistant can do', async () => {
  const can = 'I can help you with buying a hat and look.';
  const chat = shop();
  expect(await chat.send({ text: 'order a pizza' })).toEqual([
    `Sorry, I didn't understand that. ${can}`,
  ]);
  expect(chat.outcome.cannotHandle).toBe('cannot_handle_default');
  expect(chat.last?.messages[0]?.buttons).toEqual(offered);
  expect(await shop().send({ text: 'who won the cup?' })).toEqual([
    `Sorry, I can't answer that. ${can}`,
  ]);
});

test('a response of the project replaces the built-in one, buttons included', async () => {
  const chat = shop({ responses: '  utter_small_talk_greeting: [{text: "Good day, madam."}]\n' });
  expect(await chat.send({ text: 'hi' })).toEqual(['Good day, madam.']);
  expect(chat.last?.messages[0]?.buttons).toBeUndefined();
});

test('a response of the project offers the flows that it names', async () => {
  const chat = shop({
    responses: `  utter_small_talk_greeting:
    - text: "I do {{ offered_flows }}."
      metadata: {template: jinja, offer_flows: [look]}
`,
  });
  expect(await chat.send({ text: 'hi' })).toEqual(['I do look and buying a hat.']);
  expect(chat.last?.messages[0]?.buttons).toEqual([{ title: 'Look', payload: 'look' }]);
});

test.each(['hi', 'what can you do?', 'thanks', 'one moment'])(
  'a project with a pattern_chitchat of its own answers "%s" by it',
  async (text) => {
    const own = '  pattern_chitchat: {description: Ours., steps: [{action: utter_own}]}\n';
    expect(await shop({ flows: own }).send({ text })).toEqual(['Mine.']);
  },
);

test('utter_free_chitchat_response is there for a pattern_chitchat that names it', async () => {
  const own = '  pattern_chitchat: {steps: [{action: utter_free_chitchat_response}]}\n';
  expect(await shop({ flows: own }).send({ text: 'hi' })).toEqual([
    "I'm a virtual assistant. I can help you with buying a hat and look.",
  ]);
});

test('a placeholder that no model reworded is never said', async () => {
  const own = '  pattern_chitchat: {steps: [{action: utter_free_chitchat_response}]}\n';
  const responses = `  utter_free_chitchat_response:
    - text: placeholder_this_utterance_needs_the_rephraser
      metadata: {rephrase: true}
`;
  const chat = shop({ flows: own, responses });
  expect(await chat.send({ text: 'thanks' })).toEqual(["You're welcome!"]);
  expect(chat.last?.messages[0]?.metadata?.['utter_action']).toBe('utter_free_chitchat_response');
});

test('a placeholder of a question or topic itself is replaced, too', async () => {
  const placeholder = '[{text: placeholder, metadata: {rephrase: true}}]\n';
  const texts = `  utter_ask_size: ${placeholder}  utter_small_talk_thanks: ${placeholder}`;
  const measure = '  measure: {description: Take a size., steps: [{collect: size}]}\n';
  const chat = shop({ flows: measure, responses: texts });
  const sorry = "Sorry, I can't help with that.";
  expect(await chat.send({ text: 'thanks' })).toEqual([expect.stringContaining(sorry)]);
  expect(await chat.send({ text: 'measure' })).toEqual([sorry]);
});

test('a pattern of the project may tell the topics apart', async () => {
  const own = `  pattern_chitchat:
    steps:
      - noop: true
        next:
          - if: context.topic = "thanks"
            then: [{action: utter_own, next: END}]
          - else: [{action: utter_hats, next: END}]
`;
  expect(await shop({ flows: own }).send({ text: 'thank you' })).toEqual(['Mine.']);
  expect(await shop({ flows: own }).send({ text: 'hello' })).toEqual(['Hats.']);
});

test('small talk that a model recognised has its topic from the message', async () => {
  const chat = new Conversation(project({ flows: `flows:${flows}`, domain }));
  expect(await chat.say('thanks a lot', chitchat)).toEqual(["You're welcome!"]);
  expect(await chat.say('nice weather', chitchat)).toEqual([
    "Sorry, I can't help with that. I can help you with buying a hat and look.",
  ]);
  expect(await chat.say('why?', search)).toHaveLength(1);
});

test('/session_start opens a conversation with the welcome, in one session', async () => {
  const chat = shop();
  expect(await chat.send({ text: '/session_start' })).toEqual([
    'Hi! I can help you with buying a hat and look. What would you like to do?',
  ]);
  expect(chat.last?.messages[0]?.buttons).toEqual(offered);
  expect(chat.log.filter(({ event }) => event === 'session_started')).toHaveLength(1);
  expect(await chat.send({ text: 'I want a hat' })).toEqual(['Which colour?']);
});

test('a first message gets its answer alone, without a welcome', async () => {
  expect(await shop().send({ text: 'I want a hat' })).toEqual(['Which colour?']);
});

test('an action_session_start of the project is the whole welcome', async () => {
  const greeting = defineAction({
    name: 'action_session_start',
    run: async ({ utter }) => utter('Welcome.'),
  });
  const chat = new Conversation(
    project({ flows: `flows:${flows}`, domain: `actions: [action_session_start]\n${domain}` }),
    { actions: new InProcessActions([greeting]) },
  );
  expect(await chat.send({ text: '/session_start' })).toEqual(['Welcome.']);
});

test('starting over is confirmed to a person, not to a program', async () => {
  const chat = shop();
  expect(await chat.send({ text: '/restart' })).toEqual([]);
  await chat.send({ text: 'I want a hat' });
  expect(await chat.send({ text: 'start over' })).toEqual([
    "Alright, let's start over. I can help you with buying a hat and look.",
  ]);
});

test('flows of the project for greetings and farewells answer them, and are not offered', async () => {
  const own = `  greet_user: {description: Greet the user., steps: [{action: utter_own}]}
  goodbye_flow: {description: Say goodbye., steps: [{action: utter_hats}]}
`;
  const chat = shop({ flows: own });
  expect((await chat.send({ text: 'hi there' }))[0]).toBe('Mine.');
  expect((await shop({ flows: own }).send({ text: 'bye' }))[0]).toBe('Hats.');
  expect((await shop({ flows: own }).send({ text: 'who are you?' }))[0]).toBe(
    "I'm a virtual assistant, not a person. I can help you with buying a hat and look.",
  );
});
