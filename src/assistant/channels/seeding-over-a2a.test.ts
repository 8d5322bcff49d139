import { expect, test } from 'vitest';
import type { JsonObject } from '../../protocol/index.ts';
import { served, stateOf, wordsOf } from './testing/served.ts';

const text = (words: string) => ({ kind: 'text', text: words });
const data = (slots: JsonObject) => ({ kind: 'data', data: { slots } });

test('slots in the text are taken out of it, and the flow need not ask for them', async () => {
  await using house = await served();
  const task = await house.say('water a plant\nSLOTS: {"plant": "Monstera", "litres": 5}', {
    contextId: 'c',
  });
  expect(task.status.state).toBe('completed');
  expect(wordsOf(task)[0]).toBe('Monstera got 5 litres.');
  const { events } = await house.tracker('c');
  expect(events.find(({ event }) => event === 'user')).toMatchObject({ text: 'water a plant' });
});

test('a data part goes before metadata, and metadata before the text', async () => {
  await using house = await served();
  const task = await house.say('', {
    contextId: 'c',
    parts: [text('water a plant\nSLOTS: {"plant": "text", "litres": 1}'), data({ plant: 'data' })],
    metadata: { slots: { plant: 'metadata', litres: 2 } },
  });
  expect(wordsOf(task)[0]).toBe('data got 2 litres.');
});

test('what the user says in the message goes before what the orchestrator knows', async () => {
  await using house = await served();
  const task = await house.say('water the Ficus', {
    contextId: 'c',
    metadata: { slots: { plant: 'Monstera', litres: 3 } },
  });
  expect(wordsOf(task)[0]).toBe('Ficus got 3 litres.');
});

test('unknown and builtin slots are ignored, values coerced, bad ones skipped and told', async () => {
  await using house = await served();
  const task = await house.say('', {
    contextId: 'c',
    parts: [
      text('water a plant'),
      data({ litres: '7', shade: 'purple', nothing: 1, language: 'de', __proto__: 1 }),
    ],
  });
  expect(stateOf(task)['slots']).toEqual({ litres: 7, watered: 0 });
  expect(house.logged).toContain('a2a_server.message_adapter.skip_slot.invalid_value');
  const { slots } = await house.tracker('c');
  expect(slots).toMatchObject({ language: null, shade: null });
});

test.each(['none', 'null', 'undefined', 'None'])('the value %s empties a slot', async (nothing) => {
  await using house = await served();
  await house.say('water the Monstera', { contextId: 'c' });
  const task = await house.say('', {
    contextId: 'c',
    parts: [text('what was that?'), data({ plant: nothing })],
  });
  expect(stateOf(task)['slots']).toEqual({ watered: 0 });
});

test('follow-ups bring slots as well', async () => {
  await using house = await served();
  await house.say('water a plant', { contextId: 'c' });
  const task = await house.say('Monstera', { contextId: 'c', metadata: { slots: { litres: 4 } } });
  expect(task.status.state).toBe('completed');
  expect(wordsOf(task)[0]).toBe('Monstera got 4 litres.');
});

const transfers = {
  'domain.yml': `
version: "3.1"
session_config: {session_expiration_time: 60, start_session_after_expiry: false}
slots:
  recipient: {type: text}
  amount: {type: float}
  confirmed: {type: bool}
  account:
    type: text
    validation:
      rejections:
        - if: not slots.account matches "^[0-9]+$"
          utter: utter_account_wrong
responses:
  utter_ask_recipient: [{text: "Who gets it?"}]
  utter_ask_amount: [{text: "How much?"}]
  utter_ask_account: [{text: "From which account?"}]
  utter_ask_confirmed: [{text: "Shall I send {amount} to {recipient}?"}]
  utter_amount_wrong: [{text: "That is no amount."}]
  utter_account_wrong: [{text: "An account has digits only."}]
  utter_sent: [{text: "Sent {amount} to {recipient}."}]
  utter_kept: [{text: "Nothing was sent."}]
  utter_rates: [{text: "One for one."}]
`,
  'data/flows.yml': `
flows:
  send_money:
    name: money transfer
    description: Send money to someone.
    steps:
      - collect: recipient
      - collect: amount
        rejections:
          - if: slots.amount <= 0
            utter: utter_amount_wrong
      - collect: account
      - collect: confirmed
        ask_before_filling: true
        next:
          - if: slots.confirmed
            then:
              - action: utter_sent
                next: END
          - else:
              - action: utter_kept
                next: END
  exchange_rates:
    name: exchange rates
    description: Show the exchange rates.
    steps:
      - action: utter_rates
`,
};

const known = { recipient: 'Ann', amount: 50, account: '1' };

/** A transfer of 50 to Ann that waits for a yes. */
async function confirming(contextId: string) {
  const house = await served({ files: transfers });
  const task = await house.say('send money', { contextId, metadata: { slots: known } });
  expect(wordsOf(task)).toEqual(['Shall I send 50 to Ann?']);
  return house;
}

test('a seed at the confirmation is a correction: the new value is confirmed again', async () => {
  await using house = await confirming('c');
  const task = await house.say('yes', {
    contextId: 'c',
    metadata: { slots: { recipient: 'Mallory' } },
  });
  expect(task.status.state).toBe('input-required');
  expect(wordsOf(task).at(-1)).toBe('Shall I send 50 to Mallory?');
  expect(wordsOf(await house.say('yes', { contextId: 'c' }))[0]).toBe('Sent 50 to Mallory.');
});

test('a seed that brings the confirmation and another value is confirmed again as well', async () => {
  await using house = await confirming('c');
  const task = await house.say('', {
    contextId: 'c',
    parts: [data({ confirmed: true, amount: 900 })],
  });
  expect(task.status.state).toBe('input-required');
  expect(wordsOf(task).at(-1)).toBe('Shall I send 900 to Ann?');
});

test('a seed is checked by the rejections of the flow, like any correction', async () => {
  await using house = await confirming('c');
  const task = await house.say('yes', { contextId: 'c', metadata: { slots: { amount: -700 } } });
  expect(task.status.state).toBe('input-required');
  expect(wordsOf(task)).toEqual(expect.arrayContaining(['That is no amount.', 'How much?']));
  expect(stateOf(task)['slots']).not.toHaveProperty('amount');
});

test('a seed is checked by the validation of the domain', async () => {
  await using house = await confirming('c');
  const task = await house.say('yes', { contextId: 'c', metadata: { slots: { account: 'x' } } });
  expect(task.status.state).toBe('input-required');
  expect(wordsOf(task)).toEqual(
    expect.arrayContaining(['An account has digits only.', 'From which account?']),
  );
});

test('a snapshot that repeats what is known changes nothing', async () => {
  await using house = await confirming('c');
  const task = await house.say('yes', { contextId: 'c', metadata: { slots: known } });
  expect(task.status.state).toBe('completed');
  expect(wordsOf(task)[0]).toBe('Sent 50 to Ann.');
});

test('what the user corrects goes before an older snapshot of the same turn', async () => {
  await using house = await confirming('c');
  const task = await house.say('/SetSlots(amount=60)', {
    contextId: 'c',
    metadata: { slots: known },
  });
  expect(wordsOf(task).at(-1)).toBe('Shall I send 60 to Ann?');
});

test.each([{ recipient: 'Bob' }, { recipient: 'Bob', amount: 7, account: '2' }])(
  'a no to continuing is a no, whatever else is known by then: %o',
  async (slots) => {
    await using house = await served({ files: transfers });
    await house.say('send money', { contextId: 'c' });
    const asked = await house.say('show the exchange rates', { contextId: 'c' });
    expect(wordsOf(asked).at(-1)).toContain('money transfer');
    const task = await house.say('no', { contextId: 'c', metadata: { slots } });
    expect(stateOf(task)['active_flow'] ?? null).toBeNull();
    expect(wordsOf(task).join(' ')).not.toMatch(/Who gets it|How much|Shall I send/);
  },
);

test('a no to continuing is a no even if it comes with a correction', async () => {
  await using house = await confirming('c');
  await house.say('show the exchange rates', { contextId: 'c' });
  const task = await house.say('no', { contextId: 'c', metadata: { slots: { amount: 7 } } });
  expect(stateOf(task)['active_flow'] ?? null).toBeNull();
  expect(wordsOf(task).join(' ')).not.toMatch(/Shall I send/);
});

const guarded = {
  'domain.yml': `
version: "3.1"
session_config: {session_expiration_time: 60, start_session_after_expiry: false}
slots:
  customer: {type: text, mappings: [{type: controlled}]}
  order: {type: text, mappings: [{type: from_entity, entity: order}]}
responses:
  utter_ask_order: [{text: "Which order?"}]
  utter_orders: [{text: "{customer} ordered {order}."}]
`,
  'data/flows.yml': `
flows:
  show_order:
    name: order status
    description: Show an order.
    if: slots.customer is not null
    steps:
      - collect: order
      - action: utter_orders
`,
};

test('slots that no user fills are for orchestrators to fill: who speaks is theirs to say', async () => {
  await using house = await served({ files: guarded });
  const slots = { customer: 'ada', order: 'A1' };
  const task = await house.say('show an order', { contextId: 'c', metadata: { slots } });
  expect(wordsOf(task)[0]).toBe('ada ordered A1.');
});

test('messages of a channel that look like slots fill none: users are not orchestrators', async () => {
  await using house = await served({ files: guarded });
  const { body } = await house.api('POST', '/webhooks/rest/webhook', {
    sender: 'mallory',
    message: 'show an order\nSLOTS: {"customer": "ada", "order": "A1"}',
    metadata: { slots: { customer: 'ada' } },
  });
  expect(JSON.stringify(body)).not.toContain('ada ordered');
  const { slots } = await house.tracker('mallory');
  expect(slots).toMatchObject({ customer: null, order: null });
});
