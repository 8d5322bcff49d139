/**
 * Runs fault scenarios one after the other, each for so many minutes:
 * `npm run faults -- --only replicas,clock-skew --minutes 2 --seed 1`.
 */
import { parseArgs } from 'node:util';
import { scenarios } from './scenarios.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: Object.keys(scenarios).join(',') },
    minutes: { type: 'string', default: '2' },
    seed: { type: 'string' },
  },
});
const { minutes } = values;
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
const names = values.only.split(',').map((name) => name.trim());
const unknown = names.filter((name) => !Object.hasOwn(scenarios, name));
if (unknown.length > 0 || !(Number(minutes) > 0) || !Number.isSafeInteger(seed)) {
  if (unknown.length > 0) console.error(`Unknown scenarios: ${unknown.join(', ')}.`);
  console.error('Usage: npm run faults -- [--only a,b] [--minutes M] [--seed S]');
  console.error(`Scenarios: ${Object.keys(scenarios).join(', ')}.`);
  process.exit(2);
}

let broken = 0;
for (const name of names) {
  const scenario = scenarios[name];
  if (scenario === undefined) continue;
  console.log(`${name}: seed ${seed}, ${minutes} minutes`);
  const { injected, checked, violations } = await scenario({
    seed,
    milliseconds: Number(minutes) * 60_000,
    report: (line) => console.log(`${name}: ${line}`),
  });
  console.log(`${name}: injected ${JSON.stringify(injected)}`);
  console.log(`${name}: checked ${JSON.stringify(checked)}`);
  for (const violation of violations) console.error(`${name}: ${violation}`);
  console.log(
    violations.length === 0
      ? `${name}: no violations (seed ${seed})`
      : `${name}: ${violations.length} violations; run it again with: npm run faults -- --only ${name} --minutes ${minutes} --seed ${seed}`,
  );
  broken += violations.length;
}
process.exit(broken === 0 ? 0 : 1);
