import { assert, asyncProperty, jsonValue } from 'fast-check';
import { relative } from 'node:path';
import { expect, test } from 'vitest';
import { greenhouseFolder, type ProjectFolder } from '../../../test/support/greenhouse.ts';
import { InProcessActions } from '../actions/in-process.ts';
import { defineAction } from '../actions/runner.ts';
import { loadProject } from '../project/load-project.ts';
import { checkNames, findTests, withErrors } from './find-tests.ts';
import { describeFailure, failureKinds, junitFile } from './report.ts';
import { runTests, type RunTestsOptions } from './run-tests.ts';

const water = defineAction({
  name: 'action_water',
  async run({ slots, setSlot, utter }) {
    setSlot('watered', Number(slots['litres']));
    utter({ text: 'The tap is open.', buttons: [{ title: 'Close it', payload: '/close' }] });
  },
});
const report = defineAction({
  name: 'action_report',
  async run({ tracker, utter }) {
    const { latest_message: latest } = await tracker();
    utter(JSON.stringify((latest as { metadata?: unknown }).metadata ?? null));
  },
});

async function run(folder: ProjectFolder, path = 'tests', options: RunTestsOptions = {}) {
  const { project, problems } = await loadProject({ directory: folder.directory }, {});
  problems.throwIfErrors();
  const found = await findTests(folder.path(path), folder.directory, {});
  checkNames(found.cases, project, found.problems);
  found.problems.throwIfErrors();
  const build = { actions: new InProcessActions([water, report]) };
  return { ...(await runTests(project, found.cases, { build, ...options })), found };
}

/** As the command runs them: with invalid tests among the failed ones. */
async function runAll(folder: ProjectFolder, path = 'tests') {
  const { project } = await loadProject({ directory: folder.directory }, {});
  const found = await findTests(folder.path(path), folder.directory, {});
  checkNames(found.cases, project, found.problems);
  const build = { actions: new InProcessActions([water, report]) };
  const { results } = await runTests(project, withErrors(found), { build });
  return results;
}

/** What came of a test with one message: what failed, as `expected | found | found`. */
async function failuresOf(step: string): Promise<readonly string[]> {
  await using folder = await greenhouseFolder({
    'tests/one.yml': `test_cases:\n  - test_case: one\n    steps:\n${step}`,
  });
  const { results } = await run(folder);
  return (results[0]?.failures ?? []).map(({ expected, found }) =>
    [expected, ...found].join(' | '),
  );
}

const plants = `      - user: water the Monstera with 5 litres`;
test.each([
  ['flow_started: water_plants', []],
  ['flow_started: {operator: any, flow_ids: [set_shade, water_plants]}', []],
  [
    'flow_started: {operator: all, flow_ids: [set_shade, water_plants]}',
    ['flow_started set_shade | flow_started water_plants | flow_started pattern_completed'],
  ],
])('the assertion %s', async (assertion, expected) => {
  const failures = await failuresOf(`${plants}\n        assertions:\n          - ${assertion}\n`);
  expect(failures.map((line) => line.replaceAll(/ \| flow_completed \S+ at \S+/g, ''))).toEqual(
    expected,
  );
});

test.each([
  ['slot_was_set: [{name: plant, value: Monstera}]', 0],
  ['slot_was_set: [{name: plant}]', 0],
  ['slot_was_set: [{name: plant, value: Ficus}]', 1],
  ['slot_was_set: [{name: litres, value: "5"}]', 0],
  ['slot_was_set: [{name: litres, value: null}]', 0],
  ['slot_was_set: [{name: shade}]', 1],
  ['slot_was_not_set: [{name: shade}]', 0],
  ['slot_was_not_set: [{name: plant}]', 1],
  ['slot_was_not_set: [{name: plant, value: Ficus}]', 0],
  ['action_executed: action_water', 0],
  ['action_executed: action_pump', 1],
  ['bot_uttered: {utter_name: utter_watered}', 0],
  ['bot_uttered: {utter_name: utter_watered, text_matches: "^Monstera"}', 0],
  ['bot_uttered: {utter_name: utter_watered, text_matches: "tap"}', 1],
  ['bot_uttered: {buttons: [{title: Close it}]}', 0],
  ['bot_uttered: {buttons: [{title: Close it, payload: /open}]}', 1],
  ['bot_did_not_utter: {utter_name: utter_too_much}', 0],
  ['bot_did_not_utter: {text_matches: "(?i)TAP"}', 1],
  ['flow_completed: {flow_id: water_plants}', 0],
  ['flow_completed: {flow_id: water_plants, flow_step_id: nowhere}', 1],
  ['flow_cancelled: {flow_id: water_plants}', 1],
  ['pattern_clarification_contains: [watering]', 1],
])('the assertion %s fails %i times', async (assertion, count) => {
  const step = `${plants}\n        assertions:\n          - ${assertion}\n`;
  expect(await failuresOf(step)).toHaveLength(count);
});

test.each([
  ['bot: The tap is open.', 0],
  ['bot: The tap is', 1],
  ['utter: utter_watered', 0],
  ['utter: utter_too_much', 1],
  ['slot_was_set: [plant: Monstera]', 0],
  ['slot_was_set: [plant]', 0],
  ['slot_was_set: [plant: Ficus]', 1],
  ['slot_was_not_set: [shade]', 0],
  ['slot_was_not_set: [plant]', 1],
])('the expectation %s fails %i times', async (expectation, count) => {
  expect(await failuresOf(`${plants}\n      - ${expectation}\n`)).toHaveLength(count);
});

test('assertions that need a model fail without one', async () => {
  const step = `${plants}\n        assertions:\n          - generative_response_is_relevant: {threshold: 0.9}\n`;
  expect(await failuresOf(step)).toEqual([expect.stringContaining('needs a model as a judge')]);
});

test('a failure tells the place, the message, what was expected and what came', async () => {
  await using folder = await greenhouseFolder({
    'tests/one.yml': `test_cases:
  - test_case: one
    steps:
      - user: water the Monstera with 5 litres
        assertions:
          - bot_uttered: {utter_name: utter_too_much}
`,
  });
  const { results } = await run(folder);
  const [result] = results;
  if (result === undefined) throw new Error('no result');
  const text = describeFailure(result).replaceAll(`${folder.directory}/`, '');
  expect(text).toBe(
    [
      'tests/one.yml:2:5 "one"',
      '  > "water the Monstera with 5 litres"',
      '  tests/one.yml:6:13',
      '  - bot_uttered utter_too_much',
      '  + "The tap is open." [Close it]',
      '  + utter_watered: "Monstera got 5 litres."',
      '  + utter_ask_continue_conversation: "Is there anything else I can help you with?"',
    ].join('\n'),
  );
});

test('expectations may come true in any order, ordered assertions only in theirs', async () => {
  const steps = (isOrdered: boolean) => `test_cases:
  - test_case: one
    assertion_order_enabled: ${isOrdered}
    steps:
      - user: water the Monstera with 5 litres
        assertions:
          - bot_uttered: {utter_name: utter_watered}
          - action_executed: action_water
`;
  await using folder = await greenhouseFolder({ 'tests/one.yml': steps(false) });
  expect((await run(folder)).results[0]?.failures).toEqual([]);
  await folder.write({ 'tests/one.yml': steps(true) });
  expect((await run(folder)).results[0]?.failures).toMatchObject([
    { expected: 'action_executed action_water, in this order' },
  ]);
});

test('fixtures of the file go before those of its folder, and those before the root’s', async () => {
  const fixture = (value: string, ...names: string[]) =>
    `fixtures:\n${names.map((name) => `  - ${name}: [{plant: ${value}}]\n`).join('')}`;
  await using folder = await greenhouseFolder({
    'tests/conftest.yml': fixture('of the root', 'a', 'b', 'c'),
    'tests/deep/conftest.yml': fixture('of the folder', 'b', 'c'),
    'tests/deep/one.yml': `${fixture('of the file', 'c')}test_cases:
${['a', 'b', 'c']
  .map(
    (name) => `  - test_case: ${name}
    fixtures: [${name}]
    steps:
      - user: I want to water a plant
        assertions: [bot_uttered: {utter_name: utter_ask_litres}]
      - user: "5"
        assertions: [bot_uttered: {utter_name: utter_too_much}]
`,
  )
  .join('')}`,
  });
  const { results } = await run(folder);
  expect(results.map(({ failures }) => failures[0]?.found[1])).toEqual([
    'utter_watered: "of the root got 5 litres."',
    'utter_watered: "of the folder got 5 litres."',
    'utter_watered: "of the file got 5 litres."',
  ]);
});

test('a conftest.yml that cannot be read is an error with its path', async () => {
  await using folder = await greenhouseFolder({
    'tests/conftest.yml/one.yml': 'test_cases: []',
  });
  await expect(run(folder)).rejects.toMatchObject({
    code: 'CONFIGURATION_INVALID',
    message: expect.stringMatching(/^can't read .*tests\/conftest\.yml: EISDIR/),
  });
});

test('metadata of a step goes before that of its test', async () => {
  await using folder = await greenhouseFolder({
    'tests/one.yml': `metadata:
  - app: {source: app, version: 1}
  - web: {source: web}
test_cases:
  - test_case: one
    metadata: app
    steps:
      - user: report the growth
        metadata: web
      - bot: '{"source":"web","version":1}'
      - user: report the growth
      - bot: '{"source":"app","version":1}'
`,
  });
  expect((await run(folder)).results[0]?.failures).toEqual([]);
});

test('stubs answer instead of actions, and those of one test go before the others', async () => {
  await using folder = await greenhouseFolder({
    'tests/one.yml': `stub_custom_actions:
  action_report: {responses: [{text: stubbed}], events: [{event: slot, name: watered, value: 7}]}
  "two::action_report": {responses: [{text: for two}]}
test_cases:
  - test_case: one
    steps:
      - user: report the growth
      - bot: stubbed
      - slot_was_set: [watered: 7]
  - test_case: two
    steps:
      - user: report the growth
      - bot: for two
      - slot_was_not_set: [watered]
`,
  });
  expect((await run(folder)).results.flatMap(({ failures }) => failures)).toEqual([]);
});

test('a test ends at the first step that fails; fail-fast ends the run there', async () => {
  const one = (name: string) => `  - test_case: ${name}
    steps:
      - user: I want to water a plant
      - utter: utter_too_much
      - user: Monstera
      - utter: utter_too_much
`;
  await using folder = await greenhouseFolder({
    'tests/one.yml': `test_cases:\n${one('one')}${one('two')}`,
  });
  const all = await run(folder);
  expect(all.results.map(({ failures }) => failures.length)).toEqual([1, 1]);
  const first = await run(folder, 'tests', { failFast: true });
  expect(first.results).toHaveLength(1);
});

test('one test of a file can be chosen by its name', async () => {
  const one = (name: string) =>
    `  - test_case: ${name}\n    steps: [{user: report the growth}, {slot_was_not_set: [plant]}]\n`;
  await using folder = await greenhouseFolder({
    'tests/one.yml': `test_cases:\n${one('first one')}${one('second one')}`,
  });
  const { results } = await run(folder, 'tests/one.yml::second one');
  expect(results.map((result) => result.test.name)).toEqual(['second one']);
  await expect(run(folder, 'tests/one.yml::third')).rejects.toThrow('first one, second one');
  await expect(run(folder, 'data')).rejects.toThrow('no file with test_cases');
  await expect(run(folder, 'nowhere')).rejects.toThrow('no such file');
});

test('coverage counts the steps of the project’s own flows', async () => {
  await using folder = await greenhouseFolder({
    'tests/one.yml': `test_cases:
  - test_case: one
    steps: [{user: I want to water a plant}, {utter: utter_ask_plant}]
`,
  });
  const { coverage } = await run(folder);
  expect(coverage.map(({ flow }) => flow)).not.toContain('pattern_completed');
  expect(coverage.find(({ flow }) => flow === 'water_plants')).toMatchObject({
    steps: 4,
    reached: 1,
    missing: [
      { step: '1_collect_litres', line: 10 },
      { step: '2_action_action_water', line: 15 },
      { step: '3_action_utter_watered', line: 16 },
    ],
  });
});

test.each([
  [
    'an unknown key',
    `test_cases: [{test_case: one, steps: [{user: hi, asertions: []}]}]`,
    'did you mean "assertions"?',
  ],
  [
    'an unknown assertion',
    `test_cases: [{test_case: one, steps: [{user: hi, assertions: [{bot_utterd: {utter_name: utter_watered}}]}]}]`,
    'did you mean "bot_uttered"?',
  ],
  [
    'an unknown slot',
    `test_cases: [{test_case: one, steps: [{user: hi}, {slot_was_not_set: [plnat]}]}]`,
    'there is no slot "plnat" in the project; did you mean "plant"?',
  ],
  [
    'an unknown response',
    `test_cases: [{test_case: one, steps: [{user: hi, assertions: [{bot_did_not_utter: {utter_name: utter_watred}}]}]}]`,
    'did you mean "utter_watered"?',
  ],
  [
    'a test that cannot fail',
    `test_cases: [{test_case: one, steps: [{user: hi}]}]`,
    'expects nothing, so it cannot fail',
  ],
  [
    'an expectation before any message',
    `test_cases: [{test_case: one, steps: [{bot: hi}]}]`,
    'first',
  ],
  [
    'a fixture defined twice',
    `fixtures: [{a: [{plant: x}]}, {a: [{plant: y}]}]\ntest_cases: [{test_case: one, steps: [{user: hi}, {bot: hi}]}]`,
    '"a" is defined twice',
  ],
  [
    'an unknown fixture',
    `test_cases: [{test_case: one, fixtures: [b], steps: [{user: hi}, {bot: hi}]}]`,
    'there is no fixture "b"',
  ],
  [
    'a bad regular expression',
    `test_cases: [{test_case: one, steps: [{user: hi, assertions: [{bot_uttered: {text_matches: "("}}]}]}]`,
    'invalid regular expression',
  ],
])('%s is an error with its place', async (_, text, message) => {
  await using folder = await greenhouseFolder({ 'tests/one.yml': text });
  await expect(run(folder)).rejects.toThrow(message);
  await expect(run(folder)).rejects.toThrow(/one\.yml:\d+:\d+/);
});

test('expectations after assertions are left out, with a warning', async () => {
  await using folder = await greenhouseFolder({
    'tests/one.yml': `test_cases:
  - test_case: one
    steps:
      - user: report the growth
        assertions: [action_executed: action_report]
      - bot: never said
`,
  });
  const { results, found } = await run(folder);
  expect(results[0]?.failures).toEqual([]);
  expect(
    found.problems.warnings.map(({ position }) => relative(folder.directory, position.file)),
  ).toEqual(['tests/one.yml']);
});

test('no document makes reading tests fail otherwise than by problems', async () => {
  await using folder = await greenhouseFolder();
  const { project } = await loadProject({ directory: folder.directory }, {});
  await assert(
    asyncProperty(jsonValue(), jsonValue(), async (step, more) => {
      const steps = [{ user: 'hi', assertions: [step] }, more];
      const cases = [{ test_case: 'one', steps, fixtures: [more] }, step];
      const text = JSON.stringify({ test_cases: cases, fixtures: more, metadata: step });
      await folder.write({ 'tests/one.yml': text });
      const { cases: read, problems } = await findTests(folder.path('tests'), folder.directory, {});
      checkNames(read, project, problems);
      expect(problems.errors.length).toBeGreaterThan(0);
    }),
    { numRuns: 100 },
  );
});

test('an invalid test fails, with its place, and the others run', async () => {
  await using folder = await greenhouseFolder({
    'tests/a.yml': `test_cases:
  - test_case: odd key
    steps:
      - user: report the growth
        asertions: [action_executed: action_report]
  - steps: [{user: report the growth, assertions: [action_executed: action_report]}]
  - test_case: unknown name
    steps: [{user: hi, assertions: [slot_was_set: [{name: plnat}]]}]
  - test_case: good
    steps: [{user: report the growth, assertions: [action_executed: action_report]}]
`,
    'tests/b.yml': `test_cases: [}`,
    'tests/c.yml': `fixtures: [{a: [{plant: x}]}, {a: [{plant: y}]}]
test_cases: [{test_case: also good, steps: [{user: report the growth, assertions: [action_executed: action_report]}]}]`,
  });
  const results = await runAll(folder);
  expect(
    results.map(({ test: { name }, failures }) => `${name}: ${failures[0]?.kind ?? 'passed'}`),
  ).toEqual([
    'odd key: invalid test',
    'test_cases[1]: invalid test',
    'unknown name: invalid test',
    'good: passed',
    'also good: passed',
    'b.yml: invalid test',
    'c.yml: invalid test',
  ]);
  const [odd] = results;
  expect(odd && describeFailure(odd)).toContain('did you mean "assertions"?');
  expect(failureKinds(results)).toBe('5 invalid test');
  const report = junitFile(results);
  expect(report).toContain('tests="4" failures="0" errors="3"');
  expect(report).toContain('<error type="invalid test" message="there is no slot');
});

test('an error in a test that was not asked for does not count', async () => {
  await using folder = await greenhouseFolder({
    'tests/a.yml': `test_cases:
  - {test_case: bad, steps: [{usr: hi}]}
  - {test_case: good, steps: [{user: report the growth, assertions: [action_executed: action_report]}]}
`,
  });
  const results = await runAll(folder, 'tests/a.yml::good');
  expect(results.map(({ test: { name }, failures }) => [name, failures])).toEqual([['good', []]]);
});

test('tests of one name are numbered, with a warning', async () => {
  const step = 'steps: [{user: report the growth, assertions: [action_executed: action_report]}]';
  await using folder = await greenhouseFolder({
    'tests/a.yml': `test_cases:\n  - {test_case: one, ${step}}\n  - {test_case: one, ${step}}\n`,
  });
  const { results, found } = await run(folder);
  expect(results.map(({ test: { name } }) => name)).toEqual(['one', 'one (2)']);
  expect(found.problems.warnings.map(({ message }) => message)).toEqual([
    'there are several tests "one": this one is called "one (2)"',
  ]);
});

test.each([
  ['the step', 'false', 'true', 1],
  ['the test, unless the step says otherwise', 'true', 'false', 0],
])('%s says whether assertions must come true in order', async (_, ofTest, ofStep, failures) => {
  await using folder = await greenhouseFolder({
    'tests/a.yml': `test_cases:
  - test_case: one
    assertion_order_enabled: ${ofTest}
    steps:
      - user: water the Monstera with 5 litres
        assertion_order_enabled: ${ofStep}
        assertions:
          - action_executed: action_water
          - flow_started: water_plants
`,
  });
  const { results } = await run(folder);
  expect(results[0]?.failures).toHaveLength(failures);
});

test('the assertion slot_was_set without a value holds for a slot that was emptied', async () => {
  const step = `${plants}\n        assertions: [slot_was_set: [{name: litres, value: null}]]\n`;
  expect(await failuresOf(step)).toEqual([]);
  expect(await failuresOf(step.replace(', value: null', ''))).toEqual([]);
});

test('what an earlier run wrote beside its tests is not taken for tests', async () => {
  await using folder = await greenhouseFolder({
    'tests/a.yml': 'test_cases: [{test_case: one, steps: [{user: hi}, {utter: utter_watered}]}]\n',
    'tests/passed.yml': 'test_cases: [{test_case: two, file: "tests/b.yml:1"}]\n',
    'tests/failed.yml': 'test_cases: [{test_case: one, file: "tests/a.yml:1", failures: []}]\n',
  });
  const found = await findTests(folder.path('tests'), folder.directory, {});
  expect(found.cases.map(({ name }) => name)).toEqual(['one']);
  expect(found.problems.all).toEqual([]);
});
