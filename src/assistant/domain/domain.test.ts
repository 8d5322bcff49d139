import { expect, test } from 'vitest';
import { formatProblem, Problems } from '../../config/index.ts';
import { loadDomain } from './domain.ts';

function load(...texts: readonly string[]) {
  const problems = new Problems();
  const sources = texts.map((text, at) => ({ file: `domain/${at}.yml`, text }));
  const loaded = loadDomain(sources, problems);
  return { ...loaded, problems: problems.all.map(formatProblem) };
}

test('a domain without anything has the builtin slots and the session defaults', () => {
  const { domain, problems } = load('');
  expect(problems).toEqual([]);
  expect([...domain.slots.values()].every((slot) => slot.builtin)).toBe(true);
  expect(domain.slots.get('max_clarification_options')?.initialValue).toBe(3);
  expect(domain.session).toEqual({
    sessionExpirationTime: 60,
    carryOverSlotsToNewSession: true,
    startSessionAfterExpiry: true,
  });
});

test('slots have types, values, mappings, validation and initial values', () => {
  const { domain, problems, uses } = load(`
version: "3.1"
slots:
  amount:
    type: float
    min_value: 0
    max_value: 100
    initial_value: "5"
    validation:
      rejections:
        - if: slots.amount = 13
          utter: utter_unlucky
  tier:
    type: categorical
    values: [Gold, silver]
    initial_value: gold
    mappings:
      - type: controlled
        run_action_every_turn: action_tier
      - type: from_entity
        entity: tier
        conditions: [{active_flow: order}]
  note:
    type: text
`);
  expect(problems).toEqual([]);
  expect(domain.slots.get('amount')).toStrictEqual({
    name: 'amount',
    type: 'float',
    minValue: 0,
    maxValue: 100,
    initialValue: 5,
    mappings: [{ type: 'from_llm', allow_nlu_correction: false }],
    validation: {
      rejections: [{ if: 'slots.amount = 13', utter: 'utter_unlucky' }],
      refillUtter: 'utter_ask_amount',
    },
    builtin: false,
  });
  expect(domain.slots.get('tier')).toStrictEqual({
    name: 'tier',
    type: 'categorical',
    values: ['Gold', 'silver'],
    initialValue: 'Gold',
    mappings: [
      { type: 'controlled', run_action_every_turn: 'action_tier' },
      {
        type: 'from_entity',
        options: { entity: 'tier', conditions: [{ active_flow: 'order' }] },
      },
    ],
    builtin: false,
  });
  expect(uses.map(({ kind }) => kind)).toEqual(['condition', 'response', 'action']);
});

test('mistakes in slots are reported where they stand', () => {
  expect(
    load(`slots:
  a: {type: txt}
  b: {type: categorical}
  c: {type: float, initial_value: x, min_value: 1}
  language: {type: text}
  d: {type: bool, mapings: []}
  e: text
  f: {type: categorical, values: [x, X]}
  g: {type: any, mappings: [{type: custom}]}
  h: {type: unfeaturized}
`).problems,
  ).toEqual([
    'domain/0.yml:2:13 slots.a.type: must be one of text, bool, categorical, float, any, list, but is "txt"',
    'domain/0.yml:3:3 slots.b: a categorical slot needs "values"; list what it may hold',
    'domain/0.yml:4:3 slots.c: warning: the range is checked only when both min_value and max_value are there',
    'domain/0.yml:4:35 slots.c.initial_value: does not fit a slot of type float',
    'domain/0.yml:5:3 slots.language: warning: slot "language" is left out: the engine has it already',
    'domain/0.yml:6:19 slots.d.mapings: unknown key "mapings"; did you mean "mappings"?',
    'domain/0.yml:7:6 slots.e: must be a mapping, but is "text"',
    'domain/0.yml:8:38 slots.f.values[1]: "x" is there twice; upper and lower case do not count',
    'domain/0.yml:9:36 slots.g.mappings[0].type: warning: "custom" is deprecated; write controlled',
    'domain/0.yml:10:13 slots.h.type: warning: "unfeaturized" is read as any; write any',
  ]);
});

test('files are merged; a slot that two of them define differently is an error', () => {
  const { domain, problems } = load(
    'slots: {a: {type: text}}\nactions: [action_a]\nresponses: {utter_a: [{text: a}]}\nintents: [one]\n',
    'slots: {a: {type: bool}, b: {type: bool}}\nactions: [{action_b: {send_domain: true}}]\nintents: [{two: {use_entities: []}}]\nentities: [city]\n',
  );
  expect(problems).toEqual([
    'domain/1.yml:1:9 slots.a: slot a is already defined in domain/0.yml:1; the last one counts',
  ]);
  expect(domain.slots.get('a')?.type).toBe('bool');
  expect([...domain.actions.values()]).toEqual([
    { name: 'action_a', sendDomain: false },
    { name: 'action_b', sendDomain: true },
  ]);
  expect(domain.intents).toEqual(['one', 'two']);
  expect(domain.entities).toEqual(['city']);
  expect(domain.raw).toMatchObject({ actions: ['action_a', { action_b: { send_domain: true } }] });
});

test('responses have variations with everything a channel can show', () => {
  const { domain, problems, uses } = load(`
responses:
  utter_ask_size:
    - text: "Which size, {name}?"
      id: size_1
      channel: web
      condition: slots.tier = "gold"
      image: https://example.org/sizes.png
      buttons:
        - title: Small
          payload: /SetSlots(size=S)
          translation: {de: {title: Klein}}
        - title: Large
      translation: {de: "Welche Größe, {name}?"}
    - custom: {blocks: [{type: section}]}
      condition:
        - {type: slot, name: tier, value: 'say "hi"'}
        - {type: slot, name: count, value: 3}
        - {type: slot, name: ready, value: null}
    - text: "{{ slots.name | upper }}"
      metadata: {template: jinja, rephrase: true}
      quick_replies: [{title: x}]
      attachment: {type: file}
      elements: [{title: x}]
`);
  expect(problems).toEqual([]);
  expect(domain.responses.get('utter_ask_size')).toStrictEqual([
    {
      text: 'Which size, {name}?',
      id: 'size_1',
      channel: 'web',
      condition: 'slots.tier = "gold"',
      image: 'https://example.org/sizes.png',
      buttons: [
        { title: 'Small', payload: '/SetSlots(size=S)', translation: { de: { title: 'Klein' } } },
        { title: 'Large', payload: 'Large' },
      ],
      translation: { de: 'Welche Größe, {name}?' },
    },
    {
      custom: { blocks: [{ type: 'section' }] },
      condition: 'slots.tier = "say \\"hi\\"" and slots.count = 3 and slots.ready = null',
    },
    {
      text: '{{ slots.name | upper }}',
      metadata: { template: 'jinja', rephrase: true },
      quickReplies: [{ title: 'x' }],
      attachment: { type: 'file' },
      elements: [{ title: 'x' }],
    },
  ]);
  expect(uses).toHaveLength(2);
});

test('mistakes in responses are reported where they stand', () => {
  expect(
    load(`responses:
  greet: [{text: hi}]
  utter_a: []
  utter_b: [{txt: hi}]
  utter_c:
    - text: "Hello {{ name"
      metadata: {template: jinja}
`).problems,
  ).toEqual([
    'domain/0.yml:2:3 responses.greet: warning: the name of a response starts with "utter_"; write utter_greet',
    'domain/0.yml:3:3 responses.utter_a: has no variation; write - text: ...',
    'domain/0.yml:4:13 responses.utter_b[0]: is empty; give it a text or custom',
    'domain/0.yml:4:14 responses.utter_b[0].txt: unknown key "txt"; did you mean "text"?',
    'domain/0.yml:6:22 responses.utter_c[0].text: missing the closing }}',
  ]);
});

test('defaults are there unless the project has its own', () => {
  const problems = new Problems();
  const { domain } = loadDomain(
    [{ file: 'domain.yml', text: 'responses: {utter_a: [{text: mine}]}' }],
    problems,
    {
      defaults: [
        { file: 'patterns.yml', text: 'responses: {utter_a: [{text: a}], utter_b: [{text: b}]}' },
      ],
    },
  );
  expect(problems.all).toEqual([]);
  expect(domain.responses.get('utter_a')).toEqual([{ text: 'mine' }]);
  expect(domain.responses.get('utter_b')).toEqual([{ text: 'b' }]);
  expect(domain.raw).toEqual({ responses: { utter_a: [{ text: 'mine' }] } });
});

test('unknown sections and a strange session are reported', () => {
  expect(
    load(
      'slot: {}\nforms: {a: {}}\nsession_config:\n  session_expiration_time: -1\n  start_session_after_expiry: false\n  carry_over_slots_to_new_session: false\n',
    ).problems,
  ).toEqual([
    'domain/0.yml:1:1 slot: unknown key "slot"; did you mean "slots"?',
    'domain/0.yml:2:1 forms: warning: "forms" is left out; write a flow instead',
    'domain/0.yml:4:28 session_config.session_expiration_time: must be a number that is not less than 0, but is -1',
    'domain/0.yml:6:36 session_config.carry_over_slots_to_new_session: warning: has no effect: no new session starts; set start_session_after_expiry to true',
  ]);
});

test('a broken file is reported, and the rest is read', () => {
  const { domain, isComplete, problems } = load('slots: {a: ', 'slots: {b: {type: text}}');
  expect(isComplete).toBe(false);
  expect(problems.length).toBeGreaterThan(0);
  expect(domain.slots.has('b')).toBe(true);
});

test('a slot may not have a name that objects have for themselves', () => {
  const { domain, problems } = load('slots:\n  __proto__: {type: text}\n  fine: {type: text}\n');
  expect(
    [...domain.slots.values()].filter((slot) => !slot.builtin).map(({ name }) => name),
  ).toEqual(['fine']);
  expect(problems).toEqual(['domain/0.yml:2:3 slots: "__proto__" cannot be a key']);
});
