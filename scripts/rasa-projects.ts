/**
 * Tries projects written for Rasa: loads each project below the given folders, builds its assistant, and
 * runs its end-to-end tests. Calls no model: its responses are derived from each test's own expectations
 * (scripts/rasa-projects/answers.ts). Actions in Python run as in `legate run`, with the interpreter of
 * the project's .venv or of VIRTUAL_ENV. Stores nothing of the projects.
 * "starts" is the decision of `legate run`, with the variables that are set.
 * Usage: npm run rasa-projects -- [--tests FOLDER] [--env] [--failures] DIR...
 * `--tests` is a folder inside the project; `--env` starts projects as if every variable were set;
 * `--failures` prints the expectations of each failed test.
 */
import { styleText, parseArgs } from 'node:util';
import { findProjects } from './rasa-projects/find-projects.ts';
import { reasonClass } from './rasa-projects/failure-reason.ts';
import { type Outcome, tryProject } from './rasa-projects/try-project.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    tests: { type: 'string' },
    env: { type: 'boolean', default: false },
    failures: { type: 'boolean', default: false },
  },
});
if (positionals.length === 0) {
  console.error('Usage: npm run rasa-projects -- [--tests FOLDER] [--env] [--failures] DIR...');
  process.exit(2);
}

const outcomes: Outcome[] = [];
for (const directory of positionals.flatMap((folder) => findProjects(folder))) {
  const outcome = await tryProject(directory, values);
  outcomes.push(outcome);
  for (const reason of outcome.reasons) console.log(styleText('dim', reason));
  for (const { name, reason, text } of outcome.failures) {
    console.log(styleText('dim', `${outcome.name}: ${name}: ${reason}`));
    if (values.failures) console.log(`${text}\n`);
  }
}

const width = Math.max(7, ...outcomes.map(({ name }) => name.length));
console.log(`\n${'project'.padEnd(width)}  loads   starts  flows  tests passed`);
for (const { name, loads, starts, flows, passed, tests } of outcomes) {
  const cells = [loads ? 'yes' : 'no', starts ? 'yes' : 'no'].map((cell) => cell.padEnd(6));
  const count = tests === 0 ? '-' : `${passed} of ${tests}`;
  console.log(`${name.padEnd(width)}  ${cells.join('  ')}  ${String(flows).padStart(5)}  ${count}`);
}

const sum = (of: (outcome: Outcome) => number) =>
  outcomes.reduce((total, outcome) => total + of(outcome), 0);
const counted = [
  `${outcomes.length} projects`,
  `${sum(({ loads }) => Number(loads))} without errors`,
  `${sum(({ starts }) => Number(starts))} start`,
  `${sum(({ passed }) => passed)} of ${sum(({ tests }) => tests)} tests passed`,
];
console.log(`\n${counted.join(', ')}`);
const reasons = outcomes.flatMap(({ failures }) => failures.map(({ reason }) => reason));
for (const [name, { length }] of Map.groupBy(reasons, reasonClass)) {
  console.log(`${String(length).padStart(4)} failed: ${name}`);
}
