import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Command } from '../../conversation.ts';
import { bank, bankDomain } from '../testing/bank.ts';
import { parseCommands } from './parse-commands.ts';

const vocabulary = { flows: bank, domain: bankDomain };
const parse = (text: string): readonly Command[] => parseCommands(text, vocabulary);

const started: Command = { command: 'start flow', flow: 'transfer_money' };
const set = (name: string, value: string | number | boolean | null): Command => ({
  command: 'set slot',
  name,
  value,
  by: 'llm',
});

test.each<readonly [string, readonly Command[]]>([
  ['start flow transfer_money', [started]],
  ['cancel flow', [{ command: 'cancel flow' }]],
  [
    'disambiguate flows freeze_card replace_card',
    [{ command: 'clarify', options: ['freeze_card', 'replace_card'] }],
  ],
  ['disambiguate flows', [{ command: 'clarify', options: [] }]],
  ['offtopic reply', [{ command: 'chitchat' }]],
  ['provide info', [{ command: 'knowledge answer' }]],
  ['search and reply', [{ command: 'knowledge answer' }]],
  ['repeat message', [{ command: 'repeat bot messages' }]],
  ['skip question', [{ command: 'skip question' }]],
  ['hand over', [{ command: 'human handoff' }]],
  ['continue agent', [{ command: 'continue agent' }]],
  ['restart agent flight_finder', [{ command: 'restart agent', agent: 'flight_finder' }]],
  ['start flow transfer_money\nset slot amount 50', [started, set('amount', 50)]],
])('the language of commands: %s', (text, expected) => {
  expect(parse(text)).toEqual(expected);
});

test.each([
  'StartFlow(transfer_money)',
  'start_flow transfer_money',
  'START FLOW transfer_money',
  '- start flow transfer_money',
  '* start flow transfer_money',
  '• start flow transfer_money',
  '1. start flow transfer_money',
  '2) start flow transfer_money',
  '`start flow transfer_money`',
  '**start flow transfer_money**',
  '"start flow transfer_money"',
  '- `start flow transfer_money`',
  '> start flow transfer_money',
  'start flow "transfer_money"',
  "start flow 'transfer_money'",
  'start flow `transfer_money`',
  'start flow: transfer_money',
  'start flow transfer_money.',
  'start flow transfer_money;',
  'start flow transfer_money  # the user wants to send money',
  'start flow transfer_money (sending money)',
  'Command: start flow transfer_money',
  'start flow transfer-money',
  'start flow Transfer_Money',
  '  start flow transfer_money  \r',
  'Sure! Here are the commands:\n\nstart flow transfer_money\n\nLet me know if you need more.',
  '```\nstart flow transfer_money\n```',
  '```json\n{"commands": [{"command": "start flow", "flow": "transfer_money"}]}\n```',
  '[{"command": "start flow", "flow": "transfer_money"}]',
  '{"commands": ["start flow transfer_money"]}',
  'start flow transfer_money\nstart flow transfer_money',
])('what models put around a command does not matter: %s', (text) => {
  expect(parse(text)).toEqual([started]);
});

test.each([
  ['set slot amount 50', set('amount', 50)],
  ['set slot amount 1,200.50', set('amount', 1200.5)],
  ['set slot amount $50', set('amount', 50)],
  ['set slot amount 50 euros', set('amount', 50)],
  ['set slot amount = 50', set('amount', 50)],
  ['set slot amount: 50', set('amount', 50)],
  ['set slot amount "50"', set('amount', 50)],
  ['SetSlot(amount, 50)', set('amount', 50)],
  ['set slot "amount" "50"', set('amount', 50)],
  ['set slot amount a lot', set('amount', 'a lot')],
  ['set slot recipient Bob', set('recipient', 'Bob')],
  ['set slot recipient Bob Smith', set('recipient', 'Bob Smith')],
  ['set slot recipient "Bob Smith"', set('recipient', 'Bob Smith')],
  ["set slot recipient 'Bob'", set('recipient', 'Bob')],
  ["set slot recipient Bob's shop", set('recipient', "Bob's shop")],
  ['set slot recipient `Bob`', set('recipient', 'Bob')],
  ['`set slot recipient Bob`', set('recipient', 'Bob')],
  ['set slot recipient Bob\\n', set('recipient', 'Bob')],
  ['set slot recipient True', set('recipient', 'True')],
  ['set slot recipient Acme (UK)', set('recipient', 'Acme (UK)')],
  ['SetSlot(recipient, Bob)', set('recipient', 'Bob')],
  ['set slot confirm True', set('confirm', true)],
  ['set slot confirm false', set('confirm', false)],
  ['set slot confirm True.', set('confirm', true)],
  ['set slot confirm perhaps', set('confirm', 'perhaps')],
  ['set slot account_type SAVINGS', set('account_type', 'savings')],
  ['set slot account_type savings (as said)', set('account_type', 'savings')],
  ['set slot account_type gold', set('account_type', 'gold')],
  ['set slot recipient null', set('recipient', null)],
  ['set slot recipient None', set('recipient', null)],
  ['set slot recipient undefined', set('recipient', null)],
  ['set slot recipient ""', set('recipient', null)],
  ['set slot recipient', set('recipient', null)],
  ['set slot amount null', set('amount', null)],
])('values: %s', (text, expected) => {
  expect(parse(text)).toEqual([expected]);
});

test('a declared value "none" is a value', () => {
  const slots = new Map(bankDomain.slots);
  const extras = slots.get('account_type');
  if (extras === undefined) throw new Error('no slot');
  slots.set('account_type', { ...extras, values: ['none', 'some'] });
  const domain = { ...bankDomain, slots };
  expect(parseCommands('set slot account_type none', { flows: bank, domain })).toEqual([
    set('account_type', 'none'),
  ]);
});

test('several commands on one line', () => {
  expect(parse('start flow transfer_money; set slot amount 50, set slot recipient Bob')).toEqual([
    started,
    set('amount', 50),
    set('recipient', 'Bob'),
  ]);
  expect(parse('start flow transfer_money\\nset slot amount 50')).toEqual([
    started,
    set('amount', 50),
  ]);
});

const notSupported: Command = { command: 'cannot handle', reason: 'cannot_handle_not_supported' };

test.each([
  ['start flow unknown_flow', [notSupported]],
  ['start flow pattern_completed', [notSupported]],
  ['StartFlow(unknown_flow)', [notSupported]],
  ['start flow unknown_flow\nstart flow another', [notSupported]],
  ['cannot handle', [notSupported]],
  ['CannotHandle()', [notSupported]],
  ['start flow unknown_flow\nstart flow transfer_money', [notSupported, started]],
])('a flow that there is not is a request out of scope: %s', (text, expected) => {
  expect(parse(text)).toEqual(expected);
});

test.each([
  'start flow',
  'set slot unknown 5',
  'set slot',
  'restart agent',
  'please start the flow',
  'I would set the slot amount to 50',
  'no command at all',
  '{"commands": "none"}',
  '{"commands": [{"command": "set slot", "slot": "__proto__", "value": 1}]}',
  '{broken',
  '',
])('lines without a command are skipped: %s', (text) => {
  expect(parse(text)).toEqual([]);
});

test.each<readonly [string, readonly Command[]]>([
  ['{"command":"set slot","flow":null,"slot":"amount","value":50}', [set('amount', 50)]],
  ['{"command":"set slot","slot":"amount","value":"1,200"}', [set('amount', 1200)]],
  ['{"command":"set slot","slot":"confirm","value":true}', [set('confirm', true)]],
  ['{"command":"set slot","slot":"recipient","value":null}', [set('recipient', null)]],
  [
    '{"command":"set slot","slot":"recipient","value":"Bob; cancel flow"}',
    [set('recipient', 'Bob; cancel flow')],
  ],
  [
    '{"command":"disambiguate flows","flows":["freeze_card","replace_card"]}',
    [{ command: 'clarify', options: ['freeze_card', 'replace_card'] }],
  ],
  ['{"command":"restart agent","agent":"finder"}', [{ command: 'restart agent', agent: 'finder' }]],
])('structured: %s', (item, expected) => {
  expect(parse(`{"commands":[${item}]}`)).toEqual(expected);
});

test('never throws, whatever a model writes, and names only what exists', () => {
  const pieces = fc.constantFrom(
    'start flow',
    'set slot',
    'cancel flow',
    'transfer_money',
    'amount',
    'recipient',
    '50',
    'Bob',
    '"',
    "'",
    '`',
    '(',
    ')',
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    ';',
    '\n',
    '\\n',
    '- ',
    '1. ',
    '{"commands":',
    'null',
    '__proto__',
    'constructor',
    ' ',
    '<think>',
    '</think>',
  );
  const text = fc.oneof(
    fc.string({ maxLength: 200 }),
    fc.string({ unit: 'binary', maxLength: 200 }),
    fc.array(pieces, { maxLength: 30 }).map((list) => list.join('')),
    fc.json({ maxDepth: 4 }),
  );
  fc.assert(
    fc.property(text, (answer) => {
      for (const command of parse(answer)) {
        if (command.command === 'start flow') expect(bank.has(command.flow)).toBe(true);
        if (command.command === 'set slot') expect(bankDomain.slots.has(command.name)).toBe(true);
      }
    }),
    { numRuns: 2_000 },
  );
});

test('an endless answer is cut', () => {
  const endless = 'set slot amount 5\nset slot amount 6\n'.repeat(500_000);
  expect(parse(endless)).toEqual([set('amount', 5), set('amount', 6)]);
  const many = Array.from({ length: 1_000 }, (_, index) => `set slot amount ${index}`).join('\n');
  expect(parse(many)).toHaveLength(50);
  expect(parse(`start flow ${'"'.repeat(19_000)}`)).toEqual([]);
});
