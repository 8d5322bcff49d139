/** Sends hostile messages over a real broker: `npm run fuzz:bus -- --messages 100000 --seed 1`. */
import { parseArgs } from 'node:util';
import { fuzzBus } from './fuzz.ts';

const { values } = parseArgs({
  options: {
    messages: { type: 'string', default: '100000' },
    seed: { type: 'string' },
    dialect: { type: 'string' },
  },
});
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
const messages = Number(values.messages);
console.log(`seed ${seed}, ${messages} messages`);
const { injected, checked, violations } = await fuzzBus({
  seed,
  dialect: values.dialect === 'rockbot' ? 'rockbot' : 'legate',
  isOver: (sent) => sent >= messages,
  report: (line) => console.log(line),
});
console.log(`injected ${JSON.stringify(injected)}`);
console.log(`checked ${JSON.stringify(checked)}`);
for (const violation of violations) console.error(violation);
console.log(`${violations.length} violations (seed ${seed})`);
process.exit(violations.length === 0 ? 0 : 1);
