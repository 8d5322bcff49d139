/** Faults of processes and broker, by number: `npm run faults:bus -- --faults 300 --poison 10000 --seed 1`. */
import { parseArgs } from 'node:util';
import { busCampaign } from './campaign.ts';

const { values } = parseArgs({
  options: {
    faults: { type: 'string', default: '300' },
    poison: { type: 'string', default: '10000' },
    seed: { type: 'string' },
  },
});
const maxMinutes = 45;
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
const [faults, poison] = [Number(values.faults), Number(values.poison)];
console.log(`seed ${seed}, ${faults} faults, ${poison} poison messages`);
const startedAt = performance.now();
const { injected, checked, violations } = await busCampaign({
  seed,
  faults,
  poison,
  report: (line) => console.log(line),
});
const minutes = (performance.now() - startedAt) / 60_000;
console.log(`injected ${JSON.stringify(injected)}`);
console.log(`checked ${JSON.stringify(checked)}`);
for (const violation of violations) console.error(violation);
console.log(`${violations.length} violations in ${minutes.toFixed(1)} minutes (seed ${seed})`);
if (minutes > maxMinutes) console.error(`longer than ${maxMinutes} minutes`);
process.exit(violations.length === 0 && minutes <= maxMinutes ? 0 : 1);
