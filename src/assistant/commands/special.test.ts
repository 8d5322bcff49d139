import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Command } from '../model.ts';
import { start } from '../testing/conversation.ts';
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

const eleven = Array.from({ length: 11 }, (_, at) => `s${at}=1`).join(',');

test.each([
  ['an unknown intent', '/dance', 'dance'],
  ['entities that are no JSON', '/greet{money}', 'greet{money}'],
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
