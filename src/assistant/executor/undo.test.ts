import { expect, test } from 'vitest';
import type { ActionResult } from '../actions/runner.ts';
import { Conversation, set, start } from '../testing/conversation.ts';
import { project } from '../testing/project.ts';
import { appliedEvents } from '../tracker/events.ts';
import type { CallHandler } from './call-handler.ts';

const shop = project({
  domain: `
slots:
  item: {type: text}
  count: {type: float}
  gift: {type: bool}
  price: {type: float, mappings: [{type: controlled}]}
actions: [action_check]
responses:
  utter_ask_item: [{text: "What?"}]
  utter_ask_count: [{text: "How many?"}]
  utter_ask_gift: [{text: "As a gift?"}]
  utter_oops: [{text: "Oops."}]
  utter_done: [{text: "{count} {item}, {price} euros."}]
`,
  flows: `
flows:
  order:
    description: Order something.
    run_pattern_completed: false
    steps:
      - collect: item
      - collect: count
      - action: action_check
      - collect: gift
      - action: utter_done
  back:
    description: Go back.
    steps:
      - action: utter_oops
      - action: action_back
      - action: utter_done
  ask:
    description: Ask somebody.
    steps:
      - call: clerk
`,
});

/** A conversation in a shop whose check answers by a script. */
function visit(...script: Partial<ActionResult>[]) {
  const cancelled: unknown[] = [];
  const clerk: CallHandler = {
    kind: 'agent',
    handles: ({ target }) => target === 'clerk',
    run: async () => ({
      status: 'input-required',
      messages: [{ text: 'Yes?' }],
      events: [],
      metadata: { task_id: 't1' },
    }),
    cancel: async ({ metadata }) => void cancelled.push(metadata['task_id']),
  };
  const chat = new Conversation(shop, {
    actions: {
      has: () => true,
      run: async () => ({ messages: [], events: [], ...script.shift() }),
    },
    callHandlers: [clerk],
  });
  return { chat, cancelled };
}

/** Without what is of now. */
function stateOf({ tracker }: Conversation) {
  const { latestEventTime: _, activeAt: __, frameCount: ___, ...state } = tracker ?? {};
  return state;
}

const price = { event: 'slot', name: 'price', value: 7 };
const rewind = { event: 'rewind' };
const undo = { event: 'undo' };

test('section 7: an action takes the message back, and the question of before waits again', async () => {
  const { chat } = visit(
    { messages: [{ text: 'Sold out.' }], events: [price, rewind] },
    { events: [price] },
  );
  await chat.say('order', start('order'));
  expect(await chat.say('tea', set('item', 'tea'))).toEqual(['How many?']);
  const before = stateOf(chat);
  expect(await chat.say('nine', set('count', 9))).toEqual(['Sold out.']);
  expect(stateOf(chat)).toEqual(before);
  expect(chat.outcome).toMatchObject({
    waiting: true,
    activeFlow: 'order',
    slots: { item: 'tea' },
  });
  expect(chat.last?.events.at(-1)).toMatchObject({ event: 'action', name: 'action_listen' });
  expect(await chat.say('two', set('count', 2))).toEqual(['As a gift?']);
  expect(await chat.say('no', set('gift', false))).toEqual(['2 tea, 7 euros.']);
});

test('section 7: what an action says after a rewind holds: slots, and the action to follow', async () => {
  const followup = { event: 'followup', name: 'utter_oops' };
  const { chat } = visit({ events: [rewind, price, followup] });
  await chat.say('order', start('order'));
  await chat.say('tea', set('item', 'tea'));
  expect(await chat.say('nine', set('count', 9))).toEqual(['Oops.']);
  expect([chat.slot('count'), chat.slot('price')]).toEqual([null, 7]);
  expect(await chat.say('two', set('count', 2))).toEqual(['As a gift?']);
});

test('section 7: a first message that is taken back leaves a session in which nothing was said', async () => {
  const { chat } = visit({ events: [rewind, rewind] });
  await chat.say('two teas', start('order'), set('item', 'tea'), set('count', 2));
  expect(chat.outcome).toMatchObject({ waiting: true, userFlows: [], slots: {} });
  expect(chat.tracker).toMatchObject({ latestMessage: null, transcript: [], stack: [] });
  expect(await chat.say('order', start('order'))).toEqual(['What?']);
});

test('section 7: a flow that completed and was taken back has not completed', async () => {
  const { chat } = visit({ events: [price] });
  await chat.say('two teas', start('order'), set('item', 'tea'), set('count', 2));
  const before = stateOf(chat);
  await chat.say('no', set('gift', false));
  expect(chat.outcome.completedFlows).toEqual(['order']);
  await chat.record(rewind);
  expect(stateOf(chat)).toEqual(before);
  expect(await chat.say('yes', set('gift', true))).toEqual(['2 tea, 7 euros.']);
});

test('section 7: an undo takes back what the action did, and the flow continues behind it', async () => {
  const { chat } = visit({ messages: [{ text: 'Seven.' }], events: [price, undo] });
  const said = await chat.say('tea', start('order'), set('item', 'tea'), set('count', 2));
  expect(said).toEqual(['Seven.', 'As a gift?']);
  expect([chat.slot('count'), chat.slot('price')]).toEqual([2, null]);
  expect(chat.tracker).toMatchObject({ spoken: [{ text: 'As a gift?' }] });
  expect(await chat.say('no', set('gift', false))).toEqual(['2 tea, None euros.']);
});

test('action_back takes back the message that asked for it and the one before, then listens', async () => {
  const { chat } = visit();
  await chat.say('order', start('order'));
  const before = stateOf(chat);
  await chat.say('tea', set('item', 'tea'));
  expect(await chat.say('go back', start('back'))).toEqual(['Oops.']);
  expect(stateOf(chat)).toEqual(before);
  expect(chat.outcome).toMatchObject({ userFlows: ['order'], completedFlows: [] });
  expect(await chat.say('coffee', set('item', 'coffee'))).toEqual(['How many?']);
  const applied = appliedEvents(chat.log).filter(({ event }) => event === 'user');
  expect(applied.map(({ text }) => text)).toEqual(['order', 'coffee']);
  expect(chat.log.filter(({ event }) => event === 'user')).toHaveLength(4);
});

test('a session is not left by action_back', async () => {
  const { chat } = visit();
  await chat.say('order', start('order'));
  await chat.send({ text: '/restart' });
  await chat.say('go back', start('back'));
  expect(chat.outcome).toMatchObject({ userFlows: [], slots: {} });
  expect(await chat.say('order', start('order'))).toEqual(['What?']);
});

test('section 7: however long the session, what a rewind goes back to is whole', async () => {
  const { chat } = visit();
  await chat.say('tea', start('order'), set('item', 'tea'));
  for (let round = 0; round < 120; round += 1) await chat.say('hm', { command: 'chitchat' });
  expect(chat.log.length).toBeGreaterThan(500);
  await chat.say('coffee', set('item', 'coffee'));
  await chat.record(rewind);
  expect(chat.slot('item')).toBe('tea');
  expect(chat.outcome.activeFlow).toBe('order');
});

test('a question that an undone message answered is closed at its agent', async () => {
  const { chat, cancelled } = visit();
  await chat.say('order', start('order'));
  const before = stateOf(chat);
  expect(await chat.say('somebody there?', start('ask'))).toEqual(['Yes?']);
  await chat.record(rewind);
  await chat.assistant.close();
  expect(cancelled).toEqual(['t1']);
  expect(stateOf(chat)).toEqual(before);
  expect(chat.last?.events.map(({ event }) => event)).toContain('agent_cancelled');
});

test('an agent that waited before a message taken back waits again', async () => {
  const { chat, cancelled } = visit();
  await chat.say('somebody there?', start('ask'));
  const before = stateOf(chat);
  await chat.say('order', start('order'));
  await chat.record(rewind);
  expect(stateOf(chat)).toEqual(before);
  expect(chat.outcome.waitingAgent).toBe('clerk');
  expect(cancelled).toEqual([]);
});

test('without a log nothing is taken back, and nothing is lost', async () => {
  const { chat } = visit();
  await chat.say('tea', start('order'), set('item', 'tea'));
  const { tracker } = chat;
  const { events, outcome } = await chat.assistant.record({ senderId: 'ada', tracker }, [rewind]);
  expect(events).toEqual([]);
  expect(outcome.slots).toEqual({ item: 'tea' });
});

test('one answer takes back no more than a hundred times', async () => {
  const { chat } = visit({ events: Array.from({ length: 1000 }, () => undo) });
  const said = await chat.say('tea', start('order'), set('item', 'tea'), set('count', 2));
  expect(said).toEqual(['As a gift?']);
  expect(chat.log.filter(({ event }) => event === 'undo')).toHaveLength(100);
});
