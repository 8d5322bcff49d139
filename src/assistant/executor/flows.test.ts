import { expect, test } from 'vitest';
import { cancel, Conversation, set, start } from '../testing/conversation.ts';
import { project } from '../testing/project.ts';

const MORE = 'Is there anything else I can help you with?';

/** Slots a to d that are asked for as "a?", and `utter_x` that says where the flow is. */
function open(flows: string, domain = ''): Conversation {
  const names = ['a', 'b', 'c', 'd'];
  return new Conversation(
    project({
      domain: `
slots:
${names.map((name) => `  ${name}: {type: text}`).join('\n')}
  done: {type: bool}
responses:
${names.map((name) => `  utter_ask_${name}: [{text: "${name}?"}]`).join('\n')}
  utter_ask_done: [{text: "{a} {b} {c} {d}?"}]
  utter_x: [{text: "x {a} {b}"}]
${domain}
`,
      flows: `flows:\n${flows}`,
    }),
  );
}

const parent = `
  parent:
    description: Calls a child.
    steps:
      - collect: a
      - call: child
      - collect: done
        ask_before_filling: true
  child:
    description: Is called.
    if: False
    steps:
      - collect: b
      - collect: c
`;

test('a called flow may be filled in advance and corrected after it ended', async () => {
  const chat = open(parent);
  expect(await chat.say('all', start('parent'), set('a', '1'), set('c', '3'))).toEqual(['b?']);
  expect(await chat.say('2', set('b', '2'))).toEqual(['1 2 3 None?']);
  expect(await chat.say('b is 9', set('b', '9'))).toEqual([
    'Alright, I changed b to 9.',
    '1 9 3 None?',
  ]);
  expect(await chat.say('change b', set('b', null))).toEqual(['b?']);
  expect(chat.outcome.activeFlow).toBe('child');
  expect(await chat.say('8', set('b', '8'))).toEqual(['1 8 3 None?']);
});

test('the slots of a called flow are forgotten when its caller ends, not before', async () => {
  const chat = open(parent);
  await chat.say('all', start('parent'), set('a', '1'), set('b', '2'), set('c', '3'));
  expect(chat.slot('b')).toBe('2');
  await chat.say('yes', set('done', true));
  expect(chat.outcome.slots).toEqual({});
  expect(chat.outcome.completedFlows).toEqual(['parent']);
});

test('a slot of the caller corrected in the called flow takes both back', async () => {
  const chat = open(parent);
  await chat.say('a', start('parent'), set('a', '1'));
  expect(await chat.say('no, a is 7', set('a', '7'))).toEqual(['Alright, I changed a to 7.', 'b?']);
  expect(chat.outcome.activeFlow).toBe('child');
});

test('a slot that the called flow persists outlives the caller', async () => {
  const chat = open(parent.replace('if: False', 'if: False\n    persisted_slots: [b]'));
  await chat.say('all', start('parent'), set('a', '1'), set('b', '2'), set('c', '3'));
  await chat.say('yes', set('done', true));
  expect(chat.outcome.slots).toEqual({ b: '2' });
  expect(chat.outcome.persistedSlots).toEqual({ b: '2' });
});

test('of two branches that ask for the same slot a correction goes back to the one that was taken', async () => {
  const chat = open(`
  branchy:
    description: Asks for b in two places.
    steps:
      - collect: a
        next:
          - if: slots.a = "left"
            then:
              - collect: b
                next: END
          - else:
              - collect: b
              - collect: c
              - collect: done
                ask_before_filling: true
                next: END
`);
  await chat.say('right', start('branchy'), set('a', 'right'), set('b', '2'), set('c', '3'));
  expect(await chat.say('b is 5', set('b', '5'))).toEqual([
    'Alright, I changed b to 5.',
    'right 5 3 None?',
  ]);
});

test('a link ends a flow for another one and keeps the slots that they share', async () => {
  const chat = open(`
  first:
    description: Links.
    steps:
      - collect: a
      - collect: b
      - link: second
  second:
    description: Is linked to.
    steps:
      - collect: b
      - collect: c
      - action: utter_x
`);
  expect(await chat.say('go', start('first'), set('a', '1'), set('b', '2'))).toEqual(['c?']);
  expect(chat.flowEvents).toEqual([
    'flow_started first',
    'flow_completed first',
    'flow_started second',
  ]);
  expect(chat.outcome.slots).toEqual({ b: '2' });
  expect(await chat.say('3', set('c', '3'))).toEqual(['x None 2', MORE]);
});

test('a flow that another one was linked to inside a digression leads back to what was interrupted', async () => {
  const chat = open(`
  long: {description: Long., steps: [{collect: a}]}
  hop: {description: Hops., steps: [{link: jump}]}
  jump: {description: Jumps., steps: [{action: utter_x}]}
`);
  await chat.say('long', start('long'));
  expect(await chat.say('hop', start('hop'))).toEqual([
    'x None None',
    'Would you like to continue with long?',
  ]);
});

test('set_slots sets and clears, and what it set is forgotten at the end', async () => {
  const chat = open(`
  setting:
    description: Sets.
    steps:
      - set_slots: [{a: one}, {b: two}]
      - set_slots: [{b: null}]
      - action: utter_x
`);
  expect(await chat.say('go', start('setting'))).toEqual(['x one None', MORE]);
  expect(chat.outcome.slots).toEqual({});
});

test('a question about to be asked although it was answered before is asked', async () => {
  const chat = open(`
  again:
    description: Asks again.
    steps:
      - collect: a
        ask_before_filling: true
      - action: utter_x
`);
  expect(await chat.say('go', start('again'), set('a', '1'))).toEqual(['a?']);
  expect(await chat.say('2', set('a', '2'))).toEqual(['x 2 None', MORE]);
});

test('what the readable names of flows are depends on the language', async () => {
  const chat = open(
    `
  talk:
    name: talking
    description: Talks.
    translation: {de: {name: das Reden}}
    steps: [{collect: a}]
  speak: {description: Speaks., steps: [{action: utter_x}]}
`,
  );
  await chat.say('talk', start('talk'));
  const german = await chat.assistant.record({ senderId: 'ada', tracker: chat.tracker }, [
    { event: 'slot', name: 'language', value: 'de' },
  ]);
  chat.tracker = german.tracker;
  expect(await chat.say('speak', start('speak'))).toEqual([
    'x None None',
    'Would you like to continue with das Reden?',
  ]);
});

test('a flow that calls itself again and again ends with one message', async () => {
  const chat = open('  deep: {description: Goes down., steps: [{call: deep}]}');
  expect(await chat.say('go', start('deep'))).toHaveLength(1);
  expect(chat.outcome).toMatchObject({ error: { type: 'calls_too_deep' }, userFlows: [] });
});

test('a cancelled flow no longer asks for its invalid value', async () => {
  const chat = new Conversation(
    project({
      domain: `
slots:
  size: {type: float, validation: {rejections: [{if: slots.size > 7, utter: utter_large}]}}
  colour: {type: text}
responses:
  utter_large: [{text: "Too large."}]
  utter_ask_size: [{text: "Which size?"}]
  utter_ask_colour: [{text: "Which colour?"}]
`,
      flows: `
flows:
  shoes:
    description: Shoes.
    steps: [{collect: colour}, {collect: size}]
  hats:
    description: Hats.
    steps: [{collect: colour}]
`,
    }),
  );
  await chat.say('shoes', start('shoes'));
  const said = await chat.say('size 8 - no, a hat', cancel, set('size', 8), start('hats'));
  expect(said.at(-1)).toBe('Which colour?');
  expect(said).not.toContain('Which size?');
  expect(chat.outcome.slots).toEqual({});
});
