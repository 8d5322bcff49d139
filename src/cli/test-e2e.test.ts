import { expect, test } from 'vitest';
import { greenhouseFolder } from '../../test/support/greenhouse.ts';
import { legate, patient } from './testing/legate-process.ts';

const failing = {
  'endpoints.yml': '{}\n',
  'domain.yml':
    'version: "3.1"\nactions: [action_clay, action_boom]\nslots: {soil: {type: categorical, values: [loam, sand], mappings: [{type: controlled}]}}\n',
  'actions.ts':
    "export const clay = { name: 'action_clay', run: ({ setSlot }) => setSlot('soil', 'clay') };\n" +
    "export const boom = { name: 'action_boom', run() { throw new Error('kaboom'); } };\n",
  'data/flows.yml':
    'flows:\n  boom:\n    description: Explode.\n    examples: [explode now]\n    steps: [{action: action_clay}, {action: action_boom}]\n',
};
const testOf = (name: string, expected: string): string =>
  `test_cases:\n  - test_case: ${name}\n    steps: [{user: explode now}, {utter: ${expected}}]\n`;

test(
  'a failure that a test expects prints nothing; with a failed test stands the reason, without a stack',
  patient,
  async () => {
    await using folder = await greenhouseFolder({
      ...failing,
      'tests/expected.yml': testOf('it explodes', 'utter_internal_error_rasa'),
      'tests/unexpected.yml': testOf('it does not', 'utter_can_do_something_else'),
    });
    const { directory } = folder;
    const expected = await legate(['test', 'e2e', 'tests/expected.yml'], { directory });
    expect(expected).toMatchObject({ code: 0, err: '' });
    const { code, err } = await legate(['test', 'e2e', 'tests/unexpected.yml'], { directory });
    expect(code).toBe(1);
    expect(err).toContain('turn.step_failed action action_boom failed: kaboom');
    expect(err).not.toMatch(/^\s+at /m);
    expect(err).toContain(
      'warn action.slot.invalid action="action_clay" slot="soil" expected="loam or sand" found="\\"clay\\""',
    );
    const json = await legate(['test', 'e2e', 'tests/unexpected.yml', '--json'], { directory });
    expect(JSON.parse(json.out)).toMatchObject([{ name: 'it does not', passed: false }]);
  },
);
