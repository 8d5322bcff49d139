import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatProblem, Problems } from '../../config/index.ts';
import { END, type Flow } from '../model.ts';
import { loadFlows } from './flow.ts';

function load(...texts: readonly string[]) {
  const problems = new Problems();
  const sources = texts.map((text, at) => ({ file: `data/${at}.yml`, text }));
  const loaded = loadFlows(sources, problems);
  return { ...loaded, problems: problems.all.map(formatProblem) };
}

/** A flow `f` whose steps are given, each line indented as in a file. */
function steps(text: string) {
  const { flows, problems, uses } = load(`flows:\n  f:\n    description: d\n    steps:\n${text}`);
  return { flow: flows.get('f') as Flow, problems, uses };
}

function edges(flow: Flow): Record<string, unknown> {
  return Object.fromEntries(
    [...flow.steps].map(([id, { next }]) => [
      id,
      next.branches.map((branch) => (branch.if === undefined ? branch.to : [branch.if, branch.to])),
    ]),
  );
}

test('a flow has every property of section 1.1', () => {
  const { flows, problems } = load(`
flows:
  transfer_money:
    name: sending money
    description: Send money to someone.
    translation: {de: {name: Geld senden}}
    if: slots.logged_in
    nlu_trigger:
      - intent: transfer
      - intent: {name: pay, confidence_threshold: 0.7}
      - intent: send
        confidence_threshold: 0.8
    always_include_in_prompt: true
    run_pattern_completed: false
    persisted_slots: [receipt]
    examples: [send 50 to Bob, pay my friend]
    steps:
      - set_slots: [{receipt: "1"}]
`);
  expect(problems).toEqual([]);
  expect(flows.get('transfer_money')).toMatchObject({
    id: 'transfer_money',
    name: 'sending money',
    description: 'Send money to someone.',
    translation: { de: { name: 'Geld senden' } },
    if: 'slots.logged_in',
    nluTrigger: [
      { intent: 'transfer', confidenceThreshold: 0 },
      { intent: 'pay', confidenceThreshold: 0.7 },
      { intent: 'send', confidenceThreshold: 0.8 },
    ],
    alwaysIncludeInPrompt: true,
    runPatternCompleted: false,
    persistedSlots: ['receipt'],
    first: '0_set_slots',
    examples: ['send 50 to Bob', 'pay my friend'],
    isPattern: false,
    position: { file: 'data/0.yml', line: 3, column: 3 },
  });
});

test('a flow without them has the defaults; a guard may be a plain word', () => {
  const { flows } = load(
    'flows: {order_a-book: {description: d, if: False, steps: [{action: utter_x}]}}',
  );
  expect(flows.get('order_a-book')).toMatchObject({
    name: 'order a book',
    if: 'false',
    nluTrigger: [],
    alwaysIncludeInPrompt: false,
    runPatternCompleted: true,
    persistedSlots: [],
    examples: [],
  });
});

test('every kind of step, with derived ids and the following step as next', () => {
  const { flow, problems } = steps(`
      - action: utter_hello
      - collect: amount
        description: in euros
        utter: utter_how_much
        ask_before_filling: true
        force_slot_filling: true
        reset_after_flow_ends: false
        rejections:
          - if: slots.amount < 0
            utter: utter_positive
      - collect: name
      - set_slots:
          - a: 1
          - b: null
        metadata: {x: 1}
      - noop: true
        next: last
      - call: child
      - call: agent
        exit_if: [slots.a is not null]
      - call: tool
        mcp_server: tools
        mapping:
          input: [{param: p, slot: a}]
          output: [{slot: b, value: result.structuredContent.x | length}]
      - id: last
        link: other
`);
  expect(problems).toEqual([]);
  expect([...flow.steps.keys()]).toEqual([
    '0_action_utter_hello',
    '1_collect_amount',
    '2_collect_name',
    '3_set_slots',
    '4_noop',
    '5_call_child',
    '6_call_agent',
    '7_call_tool',
    'last',
  ]);
  expect(flow.steps.get('1_collect_amount')).toStrictEqual({
    kind: 'collect',
    slot: 'amount',
    utter: 'utter_how_much',
    rejections: [{ if: 'slots.amount < 0', utter: 'utter_positive' }],
    askBeforeFilling: true,
    resetAfterFlowEnds: false,
    forceSlotFilling: true,
    description: 'in euros',
    id: '1_collect_amount',
    next: { branches: [{ to: '2_collect_name' }] },
    position: { file: 'data/0.yml', line: 7, column: 9 },
  });
  expect(flow.steps.get('2_collect_name')).toMatchObject({ utter: 'utter_ask_name' });
  expect(flow.steps.get('3_set_slots')).toMatchObject({
    slots: [
      { slot: 'a', value: 1 },
      { slot: 'b', value: null },
    ],
    metadata: { x: 1 },
  });
  expect(flow.steps.get('6_call_agent')).toMatchObject({
    target: 'agent',
    exitIf: ['slots.a is not null'],
  });
  expect(flow.steps.get('7_call_tool')).toMatchObject({
    target: 'tool',
    mcpServer: 'tools',
    mapping: {
      input: [{ param: 'p', slot: 'a' }],
      output: [{ slot: 'b', value: 'result.structuredContent.x | length' }],
    },
  });
  expect(flow.steps.get('last')).toMatchObject({
    kind: 'link',
    flow: 'other',
    next: { branches: [{ to: END }] },
  });
});

test('next leads by conditions, to nested steps, and to the end', () => {
  const { flow, problems } = steps(`
      - id: pay
        collect: method
        next:
          - if: slots.method = "card"
            then: card
          - if: slots.amount > 100
            then:
              - action: utter_discount
              - action: utter_more
                next: card
          - else:
              - link: other
      - id: card
        action: utter_card
        next:
          - action: utter_a
          - action: utter_b
            next: END
      - action: utter_unreached
`);
  expect(problems).toEqual([]);
  expect(edges(flow)).toEqual({
    pay: [
      ['slots.method = "card"', 'card'],
      ['slots.amount > 100', '1_action_utter_discount'],
      '3_link_other',
    ],
    '1_action_utter_discount': ['2_action_utter_more'],
    '2_action_utter_more': ['card'],
    '3_link_other': ['END'],
    card: ['5_action_utter_a'],
    '5_action_utter_a': ['6_action_utter_b'],
    '6_action_utter_b': ['END'],
    '7_action_utter_unreached': ['END'],
  });
  expect(flow.first).toBe('pay');
});

test('mistakes in steps are reported where they stand, and the rest is read', () => {
  const { problems } = steps(`
      - colect: amount
      - action: utter_a
        collect: b
      - noop: true
      - action: utter_a
        next: cardd
      - id: card
        action: utter_a
        next:
          - if: slots.a
            then: END
      - id: card
        action: utter_a
        next:
          - else: END
          - if: slots.a
            then: END
      - id: END
        collect: c
        rejections: [{if: slots.c}]
      - collect: d
        next:
          - action: utter_nested
      - link: other
        next: card
      - action: "utter_{{ context."
      - call: tool
        mcp_server: tools
      - call: agent
        exit_if: []
        mapping: {input: []}
      - set_slots: {a: 1}
      - collect:
`);
  expect(problems).toEqual([
    'data/0.yml:2:3 flows.f: warning: flow "f" is left out; fix its errors',
    'data/0.yml:6:9 flows.f.steps[0]: a step needs one of action, collect, set_slots, noop, link, call; did you mean "collect"?',
    'data/0.yml:8:9 flows.f.steps[1].collect: a step can only have one kind; this one already has "action"; make two steps of it',
    'data/0.yml:9:9 flows.f.steps[2]: "noop" needs "next"; name a step, or END',
    'data/0.yml:11:15 flows.f.steps[3].next: no step named "cardd"; did you mean "card"?',
    'data/0.yml:14:9 flows.f.steps[4].next: the last branch must be "else"; add - else: END',
    'data/0.yml:17:13 flows.f.steps[5].id: a step named "card" exists already',
    'data/0.yml:19:9 flows.f.steps[5].next: the last branch must be "else"; add - else: END',
    'data/0.yml:20:13 flows.f.steps[5].next[0]: "else" must be the last branch',
    'data/0.yml:23:13 flows.f.steps[6].id: "END" cannot be the id of a step',
    'data/0.yml:25:22 flows.f.steps[6].rejections[0]: "utter" is missing',
    'data/0.yml:28:13 flows.f.steps[7].next[0]: the last of nested steps needs "next"; name a step, or END',
    'data/0.yml:30:9 flows.f.steps[8].next: warning: "next" has no effect here: "link" ends the flow',
    'data/0.yml:31:26 flows.f.steps[9].action: missing the closing }}',
    'data/0.yml:32:9 flows.f.steps[10]: a call of a tool needs "mapping"; write mapping: {input: [...], output: [...]}',
    'data/0.yml:35:18 flows.f.steps[11].exit_if: must hold a condition about a slot; the agent ends when it is filled',
    'data/0.yml:36:9 flows.f.steps[11].mapping: "output" is missing',
    'data/0.yml:36:9 flows.f.steps[11].mapping: "mapping" belongs to the call of a tool; name its mcp_server',
    'data/0.yml:37:20 flows.f.steps[12].set_slots: must be a list, but is a mapping',
    'data/0.yml:38:9 flows.f.steps[13].collect: "collect" is empty',
  ]);
});

test('mistakes in flows and files are reported where they stand', () => {
  const { problems, flows } = load(
    'flows:\n  a:\n    descripton: x\n    steps: []\n  -b: {description: d, steps: [{action: x}]}\n  c: {description: d}\n',
    'flow: {}\nnlu: []\n',
    'flows:\n  a: {description: d, steps: [{action: x}]}\n',
    '- a list\n',
    '',
  );
  expect(problems).toEqual([
    'data/0.yml:2:3 flows.a: "description" is missing; say when the flow is the right one',
    'data/0.yml:2:3 flows.a: warning: flow "a" is left out; fix its errors',
    'data/0.yml:3:5 flows.a.descripton: unknown key "descripton"; did you mean "description"?',
    'data/0.yml:4:12 flows.a.steps: must hold at least one step',
    'data/0.yml:5:3 flows.-b: "-b" cannot be the id of a flow; use letters, digits, _ and -',
    'data/0.yml:6:3 flows.c: "steps" is missing',
    'data/0.yml:6:3 flows.c: warning: flow "c" is left out; fix its errors',
    'data/1.yml:1:1 flow: unknown key "flow"; did you mean "flows"?',
    'data/1.yml:2:1 nlu: warning: "nlu" is left out; only flows are read from data files',
    'data/2.yml:2:3 flows.a: flow "a" is already defined in data/0.yml:2, and this one is left out; rename one',
    'data/3.yml:1:1: must be a mapping, but is a list',
  ]);
  expect(flows.has('c')).toBe(false);
});

test('default flows are there unless the project has its own', () => {
  const problems = new Problems();
  const { flows, uses } = loadFlows(
    [{ file: 'data/a.yml', text: 'flows: {pattern_x: {steps: [{action: utter_mine}]}}' }],
    problems,
    {
      defaults: [
        {
          file: 'patterns.yml',
          text: 'flows: {pattern_x: {steps: [{action: utter_x}]}, pattern_y: {steps: [{action: utter_y}]}}',
        },
      ],
    },
  );
  expect(problems.all).toEqual([]);
  expect([...flows.keys()]).toEqual(['pattern_x', 'pattern_y']);
  expect(uses.map((use) => use.kind === 'action' && use.name)).toEqual(['utter_y', 'utter_mine']);
});

test('whatever the file, loading reports problems and never throws', () => {
  const key = fc.constantFrom(
    'flows',
    'f',
    'steps',
    'collect',
    'next',
    'if',
    'then',
    'else',
    'id',
    'call',
    'mapping',
    'set_slots',
    'rejections',
    'exit_if',
    'nlu_trigger',
    'translation',
    'description',
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 7 },
      fc.constantFrom('x', 'END', '', null, true, 3, '{{ x'),
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(key, tie('tree'), { maxKeys: 5 }),
    ),
  }));
  fc.assert(
    fc.property(tree, (value) => {
      const text = JSON.stringify({ flows: { f: { description: 'd', steps: value } } });
      const { flows } = load(text, JSON.stringify(value));
      for (const { steps, first } of flows.values()) {
        const targets = [
          first,
          ...[...steps.values()].flatMap(({ next }) => next.branches.map(({ to }) => to)),
        ];
        for (const to of targets) expect(to === END || steps.has(to)).toBe(true);
      }
    }),
    { numRuns: 500 },
  );
});
