import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Command } from '../conversation.ts';
import { cancel, Conversation, start } from '../testing/conversation.ts';
import { project } from '../testing/project.ts';
import { readSpecial } from './special.ts';

const bank = project({
  domain: `
intents: [greet]
entities: [money]
slots:
  amount: {type: float, mappings: [{type: from_entity, entity: money}]}
  mood: {type: text, mappings: [{type: from_intent, intent: greet, value: happy}]}
  items: {type: list, mappings: [{type: controlled}]}
`,
  flows: `
flows:
  balance:
    description: How much is there?
    nlu_trigger: [{intent: ask_balance}]
    steps: [{noop: true, next: END}]
`,
});

function payload(name: string, value: string | null): Command {
  return { command: 'set slot', name, value, by: 'payload' };
}

const commands: [string, string, readonly Command[]][] = [
  ['slots', '/SetSlots(amount=5, mood=so so)', [payload('amount', '5'), payload('mood', 'so so')]],
  ['a slot without a value', '/SetSlots(amount=null)', [payload('amount', null)]],
  ['a value with an equals sign', '/SetSlots(mood=a=b)', [payload('mood', 'a=b')]],
  ['a list slot, which is left out', '/SetSlots(items=x, mood=y)', [payload('mood', 'y')]],
  ['an intent that starts a flow', '/ask_balance', [start('balance')]],
  [
    'an intent with entities',
    '/ask_balance{"money": 5}',
    [start('balance'), { command: 'set slot', name: 'amount', value: 5, by: 'nlu' }],
  ],
  [
    'an intent that fills a slot',
    '/greet@0.9',
    [{ command: 'set slot', name: 'mood', value: 'happy', by: 'nlu' }],
  ],
  ['a session that starts', '/session_start', [{ command: 'session start' }]],
  ['a session that ends', ' /session_end ', [{ command: 'session end' }]],
  ['a restart', '/restart', [{ command: 'restart' }]],
  ['silence', '/silence_timeout', [{ command: 'user silence' }]],
];

test.each(commands)('reads %s', (_, text, expected) => {
  expect(readSpecial(text, bank)).toMatchObject({ kind: 'commands', commands: expected });
});

test('an intent is named with its entities', () => {
  expect(readSpecial('/ask_balance{"money": 5}', bank)).toMatchObject({
    intent: { name: 'ask_balance', entities: [{ entity: 'money', value: 5 }] },
  });
});

const travel = project({
  domain: `
intents: [inform, deny]
slots:
  from: {type: text, mappings: [{type: from_entity, entity: city, role: from}]}
  to: {type: text, mappings: [{type: from_entity, entity: city, role: to, group: '1'}]}
  any_city: {type: any, mappings: [{type: from_entity, entity: city, not_intent: deny}]}
  certain: {type: text, mappings: [{type: from_entity, entity: name, intent: [inform]}]}
  agreed: {type: bool, mappings: [{type: from_intent, not_intent: [deny], value: true}]}
  seats: {type: float, mappings: [{type: from_entity, entity: number, conditions: [{active_flow: book}]}]}
`,
  flows: `
flows:
  book: {description: Book a trip., nlu_trigger: [{intent: go}], steps: [{noop: true, next: END}]}
`,
});

test.each([
  ['an entity without a role fills no slot that asks for one', '/deny{"city": "Rome"}', {}],
  [
    'a role is told from another',
    '/deny{"city": [{"value": "Rome", "role": "from"}, {"value": "Oslo", "role": "to"}]}',
    { from: 'Rome' },
  ],
  [
    'and so is a group',
    '/deny{"city": {"value": "Oslo", "role": "to", "group": "1"}}',
    { to: 'Oslo' },
  ],
  [
    'not_intent leaves an intent out',
    '/inform{"city": {"x": 1}}',
    { any_city: { x: 1 }, agreed: true },
  ],
  ['intent admits only its own', '/deny{"name": "Ada"}', {}],
  ['one of several intents is enough', '/inform{"name": "Ada"}', { certain: 'Ada', agreed: true }],
  ['a condition waits for its flow', '/deny{"number": 2}', {}],
  ['which may start with the message', '/go{"number": 2}', { seats: 2, agreed: true }],
])('mappings: %s', (_, text, expected) => {
  const special = readSpecial(text, travel);
  const read = special?.kind === 'commands' ? special.commands : [];
  const slots = read.flatMap((one) => (one.command === 'set slot' ? [[one.name, one.value]] : []));
  expect(Object.fromEntries(slots)).toEqual(expected);
});

test('mappings: a condition holds while its flow is under way', () => {
  const special = readSpecial('/deny{"number": 2}', { ...travel, active: new Set(['book']) });
  expect(special).toMatchObject({ commands: [{ name: 'seats', value: 2 }] });
});

const typed = project({
  domain: `
slots:
  report: {type: text, mappings: [{type: from_text, conditions: [{active_flow: tell}]}]}
  nothing: {type: text, mappings: [{type: from_text, intent: inform}]}
responses:
  utter_ask_report: [{text: "What happened?"}]
  utter_ask_nothing: [{text: "And then?"}]
`,
  flows: `
flows:
  tell: {description: Tell., steps: [{collect: report}, {collect: nothing}]}
`,
});

test('mappings: what is typed fills a slot from_text when it is asked, and only then', async () => {
  const chat = new Conversation(typed);
  expect(await chat.say('I have to tell you something', start('tell'))).toEqual(['What happened?']);
  expect(chat.slot('report')).toBeNull();
  expect(await chat.say('It rained in.')).toEqual(['And then?']);
  expect(chat.slot('report')).toBe('It rained in.');
  await chat.say('It stopped.');
  expect(chat.slot('nothing')).toBeNull();
});

test('mappings: a request to stop does not fill a slot', async () => {
  const chat = new Conversation(typed);
  await chat.say('I have to tell you something', start('tell'));
  await chat.say('Stop', cancel);
  expect(chat.flowEvents).toContain('flow_cancelled tell');
});

const eleven = Array.from({ length: 11 }, (_, at) => `s${at}=1`).join(',');

test.each([
  ['an unknown intent', '/dance', 'dance'],
  ['entities that are not JSON', '/greet{money}', 'greet{money}'],
  ['a pair without a value', '/SetSlots(amount)', 'SetSlots(amount)'],
  ['a pair without a name', '/SetSlots(=5)', 'SetSlots(=5)'],
  ['another case', '/setslots(amount=5)', 'setslots(amount=5)'],
  ['brackets in a value', '/SetSlots(mood=a(b))', 'SetSlots(mood=a(b))'],
  ['more than ten pairs', `/SetSlots(${eleven})`, `SetSlots(${eleven})`],
  ['a path', '/home/ada', 'home/ada'],
])('%s is text without its slash', (_, text, expected) => {
  expect(readSpecial(text, bank)).toEqual({ kind: 'text', text: expected });
});

test('a message without a slash is not special', () => {
  expect(readSpecial('send 5 euros', bank)).toBeUndefined();
});

test('any text is read', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      expect(readSpecial(`/${text}`, bank)).toBeDefined();
      expect(readSpecial(`/SetSlots(${text})`, bank)).toBeDefined();
      expect(readSpecial(`/greet{${text}}`, bank)).toBeDefined();
    }),
  );
});
