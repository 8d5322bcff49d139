import { expect, test } from 'vitest';
import { formatProblem, Problems } from '../../config/index.ts';
import { assemble } from './load-project.ts';

const domain = `
slots:
  amount: {type: float}
  ready: {type: bool, initial_value: false}
  tier: {type: categorical, values: [Gold, silver]}
  names: {type: list}
  note: {type: text}
actions: [action_pay, action_ask_note]
responses:
  utter_ask_amount: [{text: How much?}]
  utter_ask_tier: [{text: Which?}]
  utter_hello: [{text: Hello}]
`;

/** Problems of a project with these flows, each line without the file when it is the flows' own. */
async function check(
  flows: string,
  more: { readonly domain?: string; readonly endpoints?: string } = {},
) {
  const problems = new Problems();
  const source = (file: string, text: string) => ({ file, name: file, text });
  await assemble(
    {
      name: 'test',
      directory: '.',
      config: undefined,
      domain: [source('domain.yml', more.domain ?? domain)],
      data: [source('flows.yml', flows)],
      endpoints: more.endpoints === undefined ? undefined : source('endpoints.yml', more.endpoints),
      credentials: undefined,
      subAgents: [],
      subAgentsDirectory: 'sub_agents',
      file: () => Promise.resolve(undefined),
      documents: () => Promise.resolve([]),
    },
    {},
    problems,
  );
  return problems.all.map(formatProblem);
}

/** Problems of one flow `f` with these steps. */
async function checkSteps(steps: string, properties = ''): Promise<readonly string[]> {
  const problems = await check(
    `flows:\n  f:\n    description: d\n${properties}    steps:\n${steps}`,
  );
  return problems.map((one) => one.replace(/^flows\.yml:/, '').replace('flows.f.', ''));
}

test('section 1.1: slots exist, list slots and the stack are not collected or set', async () => {
  expect(
    await checkSteps(`
      - collect: amuont
      - collect: names
      - set_slots: [{nmaes: 1}, {names: []}]
      - set_slots: [{dialogue_stack: null}]
      - collect: amount
`),
  ).toEqual([
    '6:18 steps[0].collect: no slot named "amuont"; did you mean "amount"?',
    '7:18 steps[1].collect: a slot of type list cannot be used in collect; set it from a custom action',
    '7:18 steps[1].collect: nothing asks for "names"; add response utter_ask_names or action action_ask_names',
    '8:29 steps[2].set_slots[0].nmaes: no slot named "nmaes"; did you mean "names"?',
    '8:41 steps[2].set_slots[1].names: a slot of type list cannot be used in set_slots; set it from a custom action',
    '9:38 steps[3].set_slots[0].dialogue_stack: slot "dialogue_stack" belongs to the engine',
  ]);
});

test('section 1.1: conditions parse, name slots with their prefix, and compare legal values', async () => {
  expect(
    await checkSteps(
      `
      - collect: amount
        rejections:
          - {if: "slots.amount > ", utter: utter_hello}
          - {if: amount < 3, utter: utter_helo}
        next:
          - if: slots.amout > 3 and slots.ready or slots.tier is null
            then: END
          - if: slots.tier = "bronze" or slots.tier = "GOLD"
            then: END
          - if: slots.ready = "yes" or slots.ready is not true
            then: END
          - if: '{ "gold" "siver" } contains slots.tier'
            then: END
          - if: slots.tier contains "go" or slots.tier matches "^x" or slots.tier is null
            then: END
          - if: slots.dialogue_stack
            then: END
          - else: END
`,
      '    if: slots.ready and (\n',
    ),
  ).toEqual([
    '2:3 flows.f: warning: flow "f" is left out; fix its errors',
    '4:26 if: cannot be read as a condition: expected a value, found the end',
    '9:34 steps[0].rejections[0].if: cannot be read as a condition: expected a value, found the end',
    '10:18 steps[0].rejections[1].if: warning: "amount" is read as slots.amount; write slots.amount',
    '10:37 steps[0].rejections[1].utter: no response named "utter_helo"; did you mean "utter_hello"?',
    '12:17 steps[0].next[0].if: no slot named "amout"; did you mean "amount"?',
    '12:49 steps[0].next[0].if: warning: "and" and "or" are mixed; they group from the right, so write parentheses',
    '14:30 steps[0].next[1].if: slot "tier" is never "bronze"; it holds Gold, silver',
    '16:31 steps[0].next[2].if: slot "ready" is never "yes"; compare it with true or false',
    '18:27 steps[0].next[3].if: slot "tier" is never "siver"; did you mean "silver"?',
    '22:17 steps[0].next[5].if: slot "dialogue_stack" belongs to the engine',
  ]);
});

test('section 1.1: a collect step is asked by a response or an action, unless the slot has a value', async () => {
  const both = `${domain}  utter_ask_note: [{text: Note?}]\n  utter_other: [{text: x}]\n`;
  const steps = (slot: string) => `flows: {f: {description: d, steps: [{collect: ${slot}}]}}`;
  expect(await check(steps('note'), { domain: both })).toEqual([
    'flows.yml:1:47 flows.f.steps[0].collect: both utter_ask_note and action_ask_note would ask for "note"; remove one of them',
  ]);
  expect(await check(steps('note, utter: utter_other'), { domain: both })).toEqual([
    'flows.yml:1:47 flows.f.steps[0].collect: both utter_other and action_ask_note would ask for "note"; remove one of them',
  ]);
  expect(await check(steps('note'))).toEqual([]);
  expect(await check(steps('ready'))).toEqual([]);
  expect(
    await check(steps('ready'), { domain: domain.replace(', initial_value: false', '') }),
  ).toEqual([
    'flows.yml:1:47 flows.f.steps[0].collect: nothing asks for "ready"; add response utter_ask_ready or action action_ask_ready',
  ]);
});

test('section 1.1: actions and responses exist', async () => {
  expect(
    await checkSteps(`
      - action: action_pya
      - action: utter_helo
      - action: action_restart
      - action: whatever
      - action: "utter_{{ context.x }}"
`),
  ).toEqual([
    '6:17 steps[0].action: no action named "action_pya"; did you mean "action_pay"?',
    '7:17 steps[1].action: no response named "utter_helo"; did you mean "utter_hello"?',
    '9:17 steps[3].action: no action named "whatever"; add it to actions in the domain',
  ]);
});

test('section 1.1: persisted slots are filled in the flow and exclude reset_after_flow_ends', async () => {
  expect(
    await checkSteps(
      `
      - collect: amount
        reset_after_flow_ends: false
`,
      '    persisted_slots: [amount, note, nobody]\n',
    ),
  ).toEqual([
    '4:31 persisted_slots[1]: no step of this flow collects or sets "note"; what custom actions set persists anyway',
    '4:37 persisted_slots[2]: no slot named "nobody"',
    '7:9 flows.f: "reset_after_flow_ends" and "persisted_slots" exclude each other; keep persisted_slots',
  ]);
});

test('section 1.1: names and descriptions are unique without punctuation', async () => {
  const flow = (id: string, name: string, description: string) =>
    `  ${id}: {name: "${name}", description: "${description}", steps: [{action: utter_hello}]}\n`;
  const flows =
    flow('a', 'Pay now', 'Pays.') + flow('b', 'pay-now!', 'Else') + flow('c', 'c', 'pays');
  expect(await check(`flows:\n${flows}`)).toEqual([
    'flows.yml:3:3 flows.b: has the same name as flow "a"; say what makes it different',
    'flows.yml:4:3 flows.c: has the same description as flow "a"; say what makes it different',
  ]);
});

test('section 1.1: calls and links lead to what exists and may be led to', async () => {
  expect(
    await check(`flows:
  a:
    description: a
    steps:
      - call: bb
      - call: b
        exit_if: [slots.ready]
      - call: pattern_search
      - call: tool
        mcp_server: server
        mapping: {input: [], output: []}
      - link: pattern_completed
  b:
    description: b
    steps:
      - collect: amount
      - link: c
  c:
    description: c
    steps: [{collect: amount}, {link: pattern_human_handoff}]
  pattern_chitchat:
    steps: [{call: c}]
  pattern_completed:
    steps: [{link: pattern_customer_satisfaction}]
  pattern_internal_error:
    steps: [{link: c}]
  pattern_serch:
    steps: [{link: pattern_completed}]
  d:
    description: d
    steps: [{link: nowhere}]
`),
  ).toEqual([
    'flows.yml:5:15 flows.a.steps[0].call: no flow, sub agent or peer named "bb"; did you mean "b"?',
    'flows.yml:6:15 flows.a.steps[1].call: "exit_if" belongs to the call of a sub agent, and this is a flow',
    'flows.yml:8:15 flows.a.steps[2].call: a pattern cannot be called; link to it',
    'flows.yml:9:15 flows.a.steps[3].call: no MCP server named "server"; add it to mcp_servers in endpoints.yml',
    'flows.yml:12:15 flows.a.steps[4].link: a may not link to pattern_completed; it may link to pattern_human_handoff, pattern_search',
    'flows.yml:17:15 flows.b.steps[1].link: a flow that is called may not link, and flow "a" calls this one; use call instead of link',
    'flows.yml:20:39 flows.c.steps[1].link: a flow that is called may not link, and flow "pattern_chitchat" calls this one; use call instead of link',
    'flows.yml:22:20 flows.pattern_chitchat.steps[0].call: a pattern may not call; link to a flow that does',
    'flows.yml:26:20 flows.pattern_internal_error.steps[0].link: pattern_internal_error may not link; an error must not lead into another',
    'flows.yml:27:3 flows.pattern_serch: warning: there is no pattern "pattern_serch" to replace; did you mean "pattern_search"?',
    'flows.yml:28:20 flows.pattern_serch.steps[0].link: pattern_serch may not link to pattern_completed; it may link to pattern_human_handoff, pattern_chitchat',
    'flows.yml:31:20 flows.d.steps[0].link: no flow named "nowhere"',
  ]);
});

test('ways that never end are found', async () => {
  const flow = (id: string, steps: string) => `  ${id}: {description: ${id}, steps: [${steps}]}\n`;
  const problems = await check(
    `flows:\n${flow('a', '{action: utter_hello}, {link: b}')}${flow('b', '{noop: true, next: [{if: slots.ready, then: END}, {else: [{link: a}]}]}')}` +
      `${flow('menu', '{collect: amount}, {link: menu}')}${flow('c', '{call: d}')}${flow('d', '{call: e}')}${flow('e', '{call: c}')}` +
      flow('loop', '{id: x, action: utter_hello}, {action: utter_hello, next: x}') +
      flow('fine', '{id: x, action: utter_hello, next: [{if: slots.ready, then: END}, {else: x}]}'),
  );
  expect(problems).toEqual([
    'flows.yml:2:3 flows.a: flows link to each other without waiting for the user: "a" -> "b" -> "a"; ask the user something before one of the links',
    'flows.yml:5:3 flows.c: flows call each other recursively: "c" -> "d" -> "e" -> "c"; leave out one of the calls',
    'flows.yml:8:37 flows.loop: step "x" loops forever; lead out of it under a condition',
  ]);
});

test('many flows that call each other in layers are checked in no time', async () => {
  const layers = Array.from({ length: 30 }, (_, layer) =>
    [0, 1, 2].map((at) => {
      const calls =
        layer === 29
          ? '{action: utter_hello}'
          : [0, 1, 2].map((to) => `{call: f${layer + 1}_${to}}`).join(', ');
      return `  f${layer}_${at}: {description: d${layer}x${at}y, steps: [${calls}]}\n`;
    }),
  );
  expect(await check(`flows:\n${layers.flat().join('')}`)).toEqual([]);
});

test('steps that nothing leads to are warnings', async () => {
  expect(
    await checkSteps(`
      - action: utter_hello
        next: END
      - id: lost
        action: utter_hello
`),
  ).toEqual([
    '8:9 flows.f: warning: step "lost" is never reached; lead to it by next, or remove it',
  ]);
});

test('the domain is checked too', async () => {
  const wrong = `${domain.replace('note: {type: text}', 'note: {type: text, validation: {rejections: [{if: slots.nota, utter: utter_x}], refill_utter: utter_y}, mappings: [{type: controlled, run_action_every_turn: action_z}]}')}  utter_c: [{text: c, condition: slots.tier = "x"}]\n`;
  const flows = 'flows: {f: {description: d, steps: [{action: utter_hello}]}}';
  expect(
    (await check(flows, { domain: wrong })).map((one) => one.replace(/^domain\.yml:\d+:\d+ /, '')),
  ).toEqual([
    'slots.note.validation.rejections[0].if: no slot named "nota"; did you mean "note"?',
    'slots.note.validation.rejections[0].utter: no response named "utter_x"; did you mean "utter_c"?',
    'slots.note.validation.refill_utter: no response named "utter_y"; did you mean "utter_c"?',
    'slots.note.mappings[0].run_action_every_turn: no action named "action_z"; add it to actions in the domain',
    'responses.utter_c[0].condition: slot "tier" is never "x"; it holds Gold, silver',
  ]);
});

test('default patterns and a minimal project have no problem', async () => {
  expect(await check('flows: {f: {description: d, steps: [{collect: amount}]}}')).toEqual([]);
});

test('a question whose slot only a classifier could fill is told, unless it has buttons', async () => {
  const mapping = 'mappings: [{type: from_entity, entity: city}]';
  const collected = 'flows: {f: {description: d, steps: [{collect: city}, {collect: home}]}}';
  expect(
    await check(collected, {
      domain: `
slots:
  city: {type: text, ${mapping}}
  home: {type: text, ${mapping}}
responses:
  utter_ask_city: [{text: Where to?}]
  utter_ask_home: [{text: Where from?, buttons: [{title: Rome, payload: /SetSlots(home=Rome)}]}]
`,
    }),
  ).toEqual([expect.stringContaining('"city" is filled by intents and entities only')]);
});
