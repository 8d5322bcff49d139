import { expect, test, vi } from 'vitest';
import type { JsonValue } from '../../protocol/index.ts';
import { silentLogger } from '../../telemetry/index.ts';
import { InProcessActions } from '../actions/in-process.ts';
import { defineAction } from '../actions/runner.ts';
import type { AssistantOptions } from '../assistant-options.ts';
import { cancel, Conversation, repeat, set, start } from '../testing/conversation.ts';
import { project } from '../testing/project.ts';

/** A garden bed: the size is asked for in any case, the plant and the soil only while unknown. */
const beds = project({
  domain: `
slots:
  plant: {type: text}
  soil: {type: categorical, values: [loam, sand]}
  is_large: {type: bool}
  colour: {type: text}
  is_right: {type: bool}
  count: {type: float, mappings: [{type: controlled}]}
  is_confirmed: {type: bool}
actions: [action_count]
responses:
  utter_ask_plant: [{text: "Which plant?"}]
  utter_ask_soil: [{text: "Which soil?"}]
  utter_ask_is_large: [{text: "A large bed?"}]
  utter_ask_colour: [{text: "Which colour?"}]
  utter_ask_is_right: [{text: "Is that right?"}]
  utter_ask_is_confirmed: [{text: "Change it?"}]
  utter_planted: [{text: "Planted."}]
  utter_changed: [{text: "Changed."}]
  utter_categorical_slot_rejection: [{text: "{value} is no soil."}]
`,
  flows: `
flows:
  plant_bed:
    description: Plant a bed.
    run_pattern_completed: false
    steps:
      - collect: plant
      - collect: soil
      - collect: is_large
        ask_before_filling: true
        next:
          - if: slots.is_large
            then:
              - collect: colour
                next: check
          - else: check
      - id: check
        collect: is_right
        ask_before_filling: true
      - action: action_count
      - action: utter_planted
  pattern_correction:
    description: Asks before it changes what the user said.
    steps:
      - noop: true
        next:
          - if: context.is_reset_only
            then:
              - action: action_correct_flow_slot
                next: END
          - else:
              - collect: is_confirmed
                next:
                  - if: slots.is_confirmed
                    then:
                      - action: action_correct_flow_slot
                      - action: utter_changed
                        next: END
                  - else: END
`,
});

const count = (value: JsonValue) =>
  defineAction({ name: 'action_count', run: async ({ setSlot }) => setSlot('count', value) });

function garden(value: JsonValue = 3, options: Partial<AssistantOptions> = {}) {
  return new Conversation(beds, { actions: new InProcessActions([count(value)]), ...options });
}

async function asked(): Promise<Conversation> {
  const chat = garden();
  await chat.say('a rose in loam', start('plant_bed'), set('plant', 'rose'), set('soil', 'loam'));
  expect(await chat.say('no', set('is_large', false))).toEqual(['Is that right?']);
  return chat;
}

const slotEvents = (chat: Conversation) =>
  (chat.last?.events ?? [])
    .filter(({ event }) => event === 'slot')
    .map(({ name, value }) => `${name as string} = ${JSON.stringify(value)}`);

test('a correction of a slot with ask_before_filling only resets it: its question is asked again', async () => {
  const chat = await asked();
  expect(await chat.say('it is large after all', set('is_large', true))).toEqual(['A large bed?']);
  expect(chat.slot('is_large')).toBe(null);
  expect(await chat.say('yes', set('is_large', true))).toEqual(['Which colour?']);
});

test('clearing a slot without ask_before_filling is not reset-only: the pattern confirms it', async () => {
  const chat = await asked();
  expect(await chat.say('another plant', set('plant', null))).toEqual(['Change it?']);
  expect(await chat.say('yes', set('is_confirmed', true))).toEqual(['Changed.', 'Which plant?']);
  expect(slotEvents(chat)).toContain('plant = null');
  expect(await chat.say('a tulip', set('plant', 'tulip'))).toEqual(['A large bed?']);
});

test('a correction of both kinds of slots is not reset-only', async () => {
  const chat = await asked();
  const said = await chat.say('a large tulip', set('plant', 'tulip'), set('is_large', true));
  expect(said).toEqual(['Change it?']);
});

test('a flow that ends records each slot that it asks for as reset, filled or not', async () => {
  const chat = await asked();
  await chat.say('yes', set('is_right', true));
  expect(slotEvents(chat)).toEqual([
    'is_right = true',
    'count = 3',
    'plant = null',
    'soil = null',
    'is_large = null',
    'colour = null',
    'is_right = null',
  ]);
});

test('a cancelled flow records each slot that it asks for as reset, filled or not', async () => {
  const chat = garden();
  await chat.say('plant a rose', start('plant_bed'), set('plant', 'rose'));
  await chat.say('stop', cancel);
  expect(slotEvents(chat)).toEqual(expect.arrayContaining(['plant = null', 'colour = null']));
});

test('an invalid answer is never recorded, and is shown to the user as often as it comes', async () => {
  const chat = garden();
  await chat.say('plant a rose', start('plant_bed'), set('plant', 'rose'));
  for (const text of ['clay', 'clay']) {
    expect(await chat.say(text, set('soil', text))).toEqual(['clay is no soil.', 'Which soil?']);
    expect(new Set(slotEvents(chat))).toEqual(new Set(['soil = null']));
  }
  expect(await chat.say('sand', set('soil', 'sand'))).toEqual(['A large bed?']);
});

test('a repeated message keeps the name of its response', async () => {
  const chat = garden();
  await chat.say('plant something', start('plant_bed'));
  expect(await chat.say('what?', repeat)).toEqual(['Which plant?']);
  const bot = chat.last?.events.find(({ event }) => event === 'bot');
  expect(bot?.['metadata']).toMatchObject({ utter_action: 'utter_ask_plant' });
});

test('a project with the slot of a router sees that messages are for flows, until it resets routing', async () => {
  const routed = { slots: { route_session_to_calm: { type: 'bool' } } };
  const { domain, flows } = project({
    domain: 'responses: {utter_watered: [{text: Watered.}]}',
    flows: `
flows:
  water:
    description: Water the bed.
    run_pattern_completed: false
    steps:
      - action: utter_watered
      - action: action_reset_routing
`,
  });
  const chat = new Conversation({ domain: { ...domain, raw: routed }, flows });
  for (const text of ['water it', 'water it again']) {
    await chat.say(text, start('water'));
    expect(slotEvents(chat)).toEqual(
      expect.arrayContaining(['route_session_to_calm = true', 'route_session_to_calm = null']),
    );
  }
});

const shelf = project({
  domain: `
slots:
  title: {type: text, mappings: [{type: controlled}]}
  status: {type: text, mappings: [{type: controlled}]}
  is_lent: {type: bool, mappings: [{type: controlled}]}
  pages: {type: float, mappings: [{type: controlled}]}
  tags: {type: list, mappings: [{type: controlled}]}
  kind: {type: categorical, values: [novel, poem], mappings: [{type: controlled}]}
actions: [action_store]
responses:
  utter_zero: [{text: "The status is zero."}]
  utter_other: [{text: "The status is something else."}]
`,
  flows: `
flows:
  store:
    description: Store a book.
    run_pattern_completed: false
    persisted_slots: [title]
    steps:
      - action: action_store
      - collect: title
        next:
          - if: slots.status = 0
            then:
              - action: utter_zero
                next: END
          - else:
              - action: utter_other
                next: END
  reset_status:
    description: Reset the status.
    run_pattern_completed: false
    steps:
      - set_slots: [{status: 0}]
        next:
          - if: slots.status = 0
            then:
              - action: utter_zero
                next: END
          - else:
              - action: utter_other
                next: END
`,
});

/** What the conversation holds after an action set slots, and the warnings. */
async function stored(slots: Readonly<Record<string, JsonValue>>) {
  const warn = vi.fn();
  const action = defineAction({
    name: 'action_store',
    async run({ setSlot }) {
      for (const [name, value] of Object.entries({ title: 'Emma', ...slots })) setSlot(name, value);
    },
  });
  const chat = new Conversation(shelf, {
    actions: new InProcessActions([action]),
    logger: { ...silentLogger, warn },
  });
  const said = await chat.say('store it', start('store'));
  return { chat, said, warn };
}

test.each<[string, JsonValue, JsonValue]>([
  ['title', 0, 0],
  ['title', { main: 'Emma' }, { main: 'Emma' }],
  ['title', ['Emma'], ['Emma']],
  ['is_lent', 'no', 'no'],
  ['pages', '12', '12'],
  ['pages', ['three'], ['three']],
  ['tags', 'old', ['old']],
  ['tags', ['old'], ['old']],
  ['tags', '', ''],
  ['kind', 'POEM', 'poem'],
])('%s set to %j by an action holds %j', async (name, value, expected) => {
  const { chat } = await stored({ [name]: value });
  expect(chat.slot(name)).toEqual(expected);
});

test('conditions see the number that an action or set_slots stored in a text slot', async () => {
  const { chat, said } = await stored({ status: 0 });
  expect(said).toEqual(['The status is zero.']);
  expect((await stored({ status: '0' })).said).toEqual(['The status is something else.']);
  expect(await chat.say('reset it', start('reset_status'))).toEqual(['The status is zero.']);
});

test('a warning names a value of another type, and not one that the type can be read from', async () => {
  const { warn } = await stored({ title: ['Emma'], status: 0, pages: '12' });
  expect(warn.mock.calls).toEqual([
    [
      { action: 'action_store', slot: 'title', expected: 'text', found: '["Emma"]' },
      'action.slot.unexpected_type',
    ],
  ]);
});

test('an action can never record a value that a categorical slot does not have', async () => {
  const { chat, warn } = await stored({ kind: 'essay' });
  expect(chat.slot('kind')).toBe(null);
  const shown = { action: 'action_store', slot: 'kind', expected: 'novel or poem' };
  expect(warn).toHaveBeenCalledWith(
    { ...shown, found: '"essay"', kept: null },
    'action.slot.invalid',
  );
});
