/**
 * Tries projects written for Rasa: loads each below the given folders, builds its assistant, and runs its
 * end-to-end tests. No model is called: what one would answer is derived from each test's own expectations
 * (scripts/rasa-projects/answers.ts). Actions in Python run as `legate run` runs them, with the interpreter of
 * the project's .venv or of VIRTUAL_ENV. Nothing of the projects is stored.
 * Usage: npm run rasa-projects -- [--tests FOLDER] [--failures] DIR...
 * `--tests` is a folder inside the project; `--failures` prints why each test failed.
 */
import { styleText, parseArgs } from 'node:util';
import { findProjects } from './rasa-projects/find-projects.ts';
import { type Outcome, tryProject } from './rasa-projects/try-project.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    tests: { type: 'string' },
    failures: { type: 'boolean', default: false },
  },
});
if (positionals.length === 0) {
  console.error('Usage: npm run rasa-projects -- [--tests FOLDER] [--failures] DIR...');
  process.exit(2);
}

const outcomes: Outcome[] = [];
for (const directory of positionals.flatMap((folder) => findProjects(folder))) {
  const outcome = await tryProject(directory, values);
  outcomes.push(outcome);
  for (const reason of outcome.reasons) console.log(styleText('dim', reason));
  if (!values.failures) continue;
  for (const failure of outcome.failures) console.log(`${failure}\n`);
}

const width = Math.max(7, ...outcomes.map(({ name }) => name.length));
console.log(`\n${'project'.padEnd(width)}  loads   starts  flows  tests passed`);
for (const { name, loads, starts, flows, passed, tests } of outcomes) {
  const cells = [loads ? 'yes' : 'no', starts ? 'yes' : 'no'].map((cell) => cell.padEnd(6));
  const count = tests === 0 ? '-' : `${passed} of ${tests}`;
  console.log(`${name.padEnd(width)}  ${cells.join('  ')}  ${String(flows).padStart(5)}  ${count}`);
}
