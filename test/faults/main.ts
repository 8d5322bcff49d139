/** Runs replicas under faults for as long as asked: `--minutes M --seed S`. */
import { parseArgs } from 'node:util';
import { runFaults } from './run.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '2' },
    seed: { type: 'string' },
    replicas: { type: 'string', default: '3' },
    conversations: { type: 'string', default: '40' },
  },
});
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
const milliseconds = Number(values.minutes) * 60_000;
console.log(`seed ${seed}, ${values.minutes} minutes`);
const { violations, ...summary } = await runFaults({
  seed,
  milliseconds,
  replicas: Number(values.replicas),
  conversations: Number(values.conversations),
  report: (line) => console.log(line),
});
console.log(JSON.stringify(summary));
for (const violation of violations) console.error(violation);
console.log(
  violations.length === 0
    ? 'every promise was kept'
    : `${violations.length} promises were broken; again with: npm run faults -- --minutes ${values.minutes} --seed ${seed}`,
);
process.exit(violations.length === 0 ? 0 : 1);
