import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { phrasePattern, smallTalkTopic, topicOfFlow } from './small-talk.ts';

test.each([
  ['hi', 'greeting'],
  ['Hello there!', 'greeting'],
  ['heyyyy', 'greeting'],
  ['Good morning.', 'greeting'],
  ['hi, anybody here?', 'greeting'],
  ['hi hello', 'greeting'],
  ['👋', 'greeting'],
  ["hey, how's it going?", 'wellbeing'],
  ['How are you today?', 'wellbeing'],
  ['who are you', 'identity'],
  ['What’s your name?', 'identity'],
  ['are you a bot or a human?', 'identity'],
  ['help', 'capabilities'],
  ['HELP!!', 'capabilities'],
  ['hi, can you help me please?', 'capabilities'],
  ['what can you do?', 'capabilities'],
  ['so what can I ask you?', 'capabilities'],
  ['how does this work', 'capabilities'],
  ["I'm lost", 'capabilities'],
  ['thanks', 'thanks'],
  ['Thank you so much for your help!', 'thanks'],
  ['ok thanks', 'thanks'],
  ['perfect, thanks', 'thanks'],
  ['bye', 'farewell'],
  ['thanks, bye!', 'farewell'],
  ["that's all for now", 'farewell'],
  ['good bot', 'praise'],
  ['you are useless', 'complaint'],
  ['tell me a joke', 'fun'],
  ['do you like pizza?', 'fun'],
  ['one moment please', 'pause'],
  ['let me check my other account', 'pause'],
  ['lol', 'reaction'],
  ['thank you so much, that was really helpful', 'thanks'],
  ['ok bye for now, have a good one', 'farewell'],
  ["that's all, have a nice day", 'farewell'],
  ["you're absolutely brilliant!", 'praise'],
  ['ugh this is useless, you dont understand anything', 'complaint'],
  ['so what exactly can you help me with', 'capabilities'],
  ['am i talking to a robot or a person?', 'identity'],
  ['morning :)', 'greeting'],
  // Clauses without a mark between them.
  ['ok perfect thank you so much for your help dear', 'thanks'],
  ['bye bye have a nice evening', 'farewell'],
  // The clause that says most counts, also when it could be taken for politeness.
  ['cool thx', 'thanks'],
  ["that's great thanks", 'thanks'],
  ['ok good, thank you', 'thanks'],
  // Fillers stand anywhere.
  ['this is just so incredibly annoying', 'complaint'],
  // Lists of words within phrases.
  ['the food was absolutely delicious last night', 'praise'],
  ['your waiter was very rude', 'complaint'],
  ['never mind', 'cancel'],
  ['Das ist echt nervig', 'complaint'],
  ['Wobei können Sie mir helfen?', 'capabilities'],
])('%s is small talk about %s', (text, topic) => {
  expect(smallTalkTopic(text)).toBe(topic);
});

test.each([
  'hi, I want to transfer money',
  'help me book a table',
  'can you help me with my card',
  'thanks, now show my balance',
  'what can you do about my lost card?',
  'who are my payees',
  'good morning, when are you open?',
  'thank you, my card is broken',
  'i want to thank you with a payment',
  'my card was cold',
  'this is useless, block my card',
  'yes',
  'no',
  'ok',
  'please',
  '???',
  '',
])('%s is a request or an answer, not small talk', (text) => {
  expect(smallTalkTopic(text)).toBeUndefined();
});

test('a phrase has choices, optional words and room for a few others', () => {
  const fits = (phrase: string, text: string) =>
    new RegExp(`^${phrasePattern(phrase)}$`, 'u').test(text);
  expect(fits('see (you|ya) [later|next time]', 'see you')).toBe(true);
  expect(fits('see (you|ya) [later|next time]', 'see ya next time')).toBe(true);
  expect(fits('[just] a|one moment', 'just one moment')).toBe(true);
  expect(fits('[just] a|one moment', 'moment')).toBe(false);
  expect(fits('do you like ...', 'do you like ice cream')).toBe(true);
  expect(fits('do you like ...', `do you like ${'ice '.repeat(20).trim()}`)).toBe(false);
});

test('every message has a topic or none, whatever it is made of', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), (text) => {
      expect(['string', 'undefined']).toContain(typeof smallTalkTopic(text));
    }),
  );
});

test.each([
  ['greet', 'greeting'],
  ['say_hello_flow', 'greeting'],
  ['user_goodbye', 'farewell'],
  ['what_can_you_do', 'capabilities'],
  ['bot_challenge', 'identity'],
  ['help_with_order', undefined],
  ['transfer_money', undefined],
])('a flow %s answers the topic %s', (id, topic) => {
  expect(topicOfFlow({ id })).toBe(topic);
});
