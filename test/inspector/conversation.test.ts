import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { conversationTurns } from '../../inspector/src/assistant/conversation-turns.ts';
import { e2eTest } from '../../inspector/src/assistant/e2e-test.ts';
import { findTests, runTests, serveAssistant } from '../../src/assistant/index.ts';
import type { JsonObject } from '../../src/protocol/index.ts';
import { temporaryDirectory } from '../support/stores.ts';

const user = (text: string, commands: readonly JsonObject[] = []): JsonObject => ({
  event: 'user',
  text,
  timestamp: 10,
  parse_data: { commands },
});
const bot = (text: string, utter_action?: string): JsonObject => ({
  event: 'bot',
  text,
  metadata: utter_action === undefined ? {} : { utter_action },
});
const slot = (name: string, value: JsonObject[string], filled_by?: string): JsonObject => ({
  event: 'slot',
  name,
  value,
  ...(filled_by !== undefined && { filled_by }),
});
const tracker: JsonObject = {
  slots: { amount: 70, limit: 500, status: 'sent' },
  events: [
    { event: 'session_started', timestamp: 1 },
    bot('Welcome', 'utter_welcome'),
    user('send 50', [{ command: 'start flow', flow: 'transfer' }]),
    slot('amount', 50, 'llm'),
    {
      event: 'stack',
      update: JSON.stringify([
        { op: 'replace', path: '', value: [{ frame_id: 'F1', flow_id: 'transfer', step_id: 's' }] },
      ]),
    },
    bot('Sure?', 'utter_ask'),
    user('make it 70'),
    slot('amount', 70),
    slot('status', 'sent'),
    bot('**Done**: 70 €'),
  ],
};

test('each message starts a turn, and each turn has the state after it', () => {
  const [before, first, second] = conversationTurns(tracker);
  expect(before).toMatchObject({ number: 0, text: '', messages: [{ utter: 'utter_welcome' }] });
  expect(first).toMatchObject({
    number: 1,
    text: 'send 50',
    slots: { amount: 50, limit: 500, status: null },
    changes: [{ name: 'amount', value: 50, filledBy: 'llm' }],
    stack: [{ flowId: 'transfer', stepId: 's' }],
    commands: [{ command: 'start flow' }],
  });
  expect(second).toMatchObject({
    number: 2,
    slots: { amount: 70, status: 'sent' },
    stack: [{ flowId: 'transfer' }],
  });
});

test('the message that opens a session belongs to the turn before the first message', () => {
  const opened = [
    { event: 'session_started' },
    user('/session_start'),
    bot('Hi!', 'utter_welcome'),
  ];
  const [before, first, ...more] = conversationTurns({ events: [...opened, user('send 50')] });
  expect(before).toMatchObject({ number: 0, text: '', messages: [{ utter: 'utter_welcome' }] });
  expect(first).toMatchObject({ number: 1, text: 'send 50' });
  expect(more).toEqual([]);
  // Later it is a message like others.
  const again = conversationTurns({ events: [user('send 50'), user('/session_start')] });
  expect(again.map(({ number, text }) => [number, text])).toEqual([
    [1, 'send 50'],
    [2, '/session_start'],
  ]);
});

test('a new session starts with empty slots', () => {
  const events = [...(tracker['events'] as JsonObject[]), user('/restart'), { event: 'restart' }];
  const turns = conversationTurns({ ...tracker, events });
  expect(turns.at(-1)?.slots).toEqual({ amount: null, limit: 500, status: null });
});

test('prompts and tokens are shown where the tracker has them', () => {
  const prompts = [
    {
      component: 'CommandGenerator',
      model: 'small',
      prompt: 'You are',
      answer: 'start flow transfer',
      usage: { input_tokens: 812, output_tokens: 9 },
      duration_ms: 420,
    },
  ];
  const events = [{ ...user('hi'), parse_data: { commands: [], prompts } }];
  expect(conversationTurns({ slots: {}, events })[0]?.modelCalls).toEqual([
    {
      component: 'CommandGenerator',
      model: 'small',
      prompt: 'You are',
      answer: 'start flow transfer',
      inputTokens: 812,
      outputTokens: 9,
      milliseconds: 420,
      error: '',
    },
  ]);
  expect(conversationTurns(tracker)[1]?.modelCalls).toEqual([]);
});

test('a malformed tracker is shown as far as it can be decoded', () => {
  for (const odd of [{}, { events: 7, slots: [] }, { events: [null, 'x', { event: 'slot' }] }]) {
    expect(() => conversationTurns(odd as JsonObject)).not.toThrow();
  }
});

test('a saved test has the expected reaction to each message', () => {
  expect(e2eTest('send: 50', conversationTurns(tracker))).toBe(
    [
      'test_cases:',
      '  - test_case: "send: 50"',
      '    steps:',
      '      - user: send 50',
      '      - slot_was_set:',
      '          - amount: 50',
      '      - utter: utter_ask',
      '      - user: make it 70',
      '      - slot_was_set:',
      '          - amount: 70',
      '          - status: sent',
      '      - bot: "**Done**: 70 €"',
      '',
    ].join('\n'),
  );
});

test('a saved test passes, whatever slots were edited', async () => {
  const directory = join(import.meta.dirname, '../../examples/bank');
  await using bank = await serveAssistant({
    places: { directory },
    store: { type: 'memory' },
    build: { random: () => 0 },
  });
  for (const text of [
    'send 50 euros to Anna',
    'make it 70',
    '/SetSlots(transfer_confirmed=true)',
  ]) {
    await bank.conversations.say('ada', text, { channel: 'rest' });
    // As an operator in the inspector does: no message of the conversation leads to it.
    const edited = { event: 'slot', name: 'daily_limit', value: 600 };
    await bank.conversations.record('ada', [edited]);
  }
  const turns = conversationTurns(await bank.conversations.tracker('ada'));
  expect(turns.at(-1)?.number).toBe(3);
  const edits = turns.map(({ changes }) => changes.filter((one) => one.isEdited === true));
  expect(edits.map((all) => all.map(({ name }) => name)).flat()).toEqual(
    Array(3).fill('daily_limit'),
  );
  await using folder = await temporaryDirectory();
  const file = join(folder.path, 'transfer.yml');
  await writeFile(file, e2eTest('a transfer', turns));
  const { cases, problems } = await findTests(file, folder.path, {});
  expect(problems.errors).toEqual([]);
  const { results } = await runTests(bank.models.require().project, cases);
  expect(results.map(({ failures }) => failures)).toEqual([[]]);
  expect(cases[0]?.steps.map(({ checks }) => checks.length)).not.toContain(0);
});
