import { expect, test } from 'vitest';
import { findProjects } from '../scripts/rasa-projects/find-projects.ts';
import { tryProject } from '../scripts/rasa-projects/try-project.ts';
import { projectFolder } from './support/greenhouse.ts';

const files = {
  'ferry/config.yml': 'pipeline: [{name: CompactLLMCommandGenerator, llm: {model_group: main}}]\n',
  'ferry/endpoints.yml':
    'model_groups: [{id: main, models: [{provider: openai, model: any, api_key: "${FERRY_KEY}"}]}]\n',
  'ferry/domain.yml': `
slots:
  port: {type: text}
  class: {type: categorical, values: [deck, cabin]}
  is_sure: {type: bool}
responses:
  utter_ask_port: [{text: Where to?}]
  utter_ask_class: [{text: Deck or cabin?}]
  utter_ask_is_sure: [{text: "To {port}, {class}?"}]
  utter_booked: [{text: "Booked to {port}."}]
  utter_timetable: [{text: At nine.}]
`,
  'ferry/data/flows.yml': `
flows:
  book_ferry:
    description: Book a place on a ferry.
    steps:
      - collect: port
      - collect: class
      - collect: is_sure
        ask_before_filling: true
      - action: utter_booked
  timetable:
    description: Say when ferries leave.
    steps: [{action: utter_timetable}]
`,
};

const tests = (expected: string) => `test_cases:
  - test_case: a change of mind, a question between, and an invalid answer
    steps:
      - user: I need a ferry to Oban
      - utter: utter_ask_class
      - user: first class
      - utter: utter_categorical_slot_rejection
      - utter: utter_ask_class
      - user: deck
      - slot_was_set: [{class: deck}]
      - user: when does it leave?
      - utter: utter_timetable
      - user: go on
      - utter: utter_ask_is_sure
      - user: no wait, to Mallaig
      - slot_was_set: [{port: Mallaig}]
      - user: yes
      - bot: ${expected}
`;

test('projects are tried with answers derived from the expectations of their tests', async () => {
  await using folder = await projectFolder({
    ...files,
    'ferry/tests/a.yml': tests('Booked to Mallaig.'),
    'ferry/tests/b.yml': tests('Booked to Oban.'),
  });
  const found = findProjects(folder.directory);
  expect(found).toEqual([folder.path('ferry')]);
  const outcome = await tryProject(folder.path('ferry'), {});
  expect(outcome).toMatchObject({ loads: true, starts: true, flows: 2, tests: 2, passed: 1 });
  expect(outcome.failures.map(({ text }) => text).join('\n')).toContain('- bot "Booked to Oban."');
});
