/** `npm run bench`: compares the servers side by side in one run. */
import { parseArgs } from 'node:util';
import { endServers } from '../test/support/servers.ts';
import { Bench } from './bench.ts';
import { type Measurement, printRow, printVerdicts, writeReport } from './report.ts';
import { rows } from './rows/index.ts';

const usage = `npm run bench [-- options]

  --only row,row   some rows only: ${rows.map(({ name }) => name).join(', ')}
  --seconds n      length of one round of one server (default 4)
  --rounds n       rounds, of which the median counts (default 5)
  --rows n         rows of PostgreSQL in the row million (default 10000000)`;

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '5' },
    rows: { type: 'string', default: '10000000' },
    help: { type: 'boolean', default: false },
  },
});

const only = values.only?.split(',');
const unknown = only?.find((name) => !rows.some((row) => row.name === name));
const options = {
  seconds: Number(values.seconds),
  rounds: Number(values.rounds),
  rows: Number(values.rows),
};
const isValid = options.seconds > 0 && options.rounds >= 1 && options.rows >= 10_000;

if (values.help) {
  console.log(usage);
} else if (unknown !== undefined || !isValid) {
  console.error(unknown === undefined ? usage : `There is no row "${unknown}".\n\n${usage}`);
  process.exitCode = 2;
} else {
  await using bench = await Bench.open(options);
  const measurements: Measurement[] = [];
  const { systemNode = process } = bench;
  console.log(`Our Node is ${process.version}, this machine's ${systemNode.version}.`);
  for (const row of rows) {
    if (only !== undefined && !only.includes(row.name)) continue;
    const measurement = { row, result: await row.run(bench) };
    printRow(measurement);
    measurements.push(measurement);
  }
  const clears = printVerdicts(measurements);
  console.log(await writeReport(measurements, bench));
  if (!clears) process.exitCode = 1;
  endServers();
}
