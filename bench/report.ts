import { mkdir, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import type { Bench, Figures } from './bench.ts';
import { isPinned } from './ipc.ts';
import { holds, type Row, type RowResult, type Verdict } from './row.ts';

export interface Measurement {
  readonly row: Row;
  readonly result: RowResult;
}

/** Prints the results of one row. */
export function printRow({ row, result }: Measurement): void {
  console.log(`\n${row.title}`);
  if (result.figures !== undefined) {
    console.log(table(['server', 'req/s', 'p50 ms', 'p99 ms', 'CPU µs/req', 'core', 'bytes']));
    for (const [server, figures] of result.figures) {
      console.log(
        table([
          server,
          figures.requestsPerSecond.toFixed(0),
          figures.p50Ms.toFixed(2),
          figures.p99Ms.toFixed(2),
          figures.cpuMicros.toFixed(1),
          `${(coreShare(figures) * 100).toFixed(0)} %`,
          figures.bytes.toFixed(0),
        ]),
      );
    }
    warnOfOtherLoad([...result.figures.values()]);
  }
  for (const [name, value] of Object.entries(result.notes ?? {})) {
    console.log(`  ${name}: ${shown(value)}`);
  }
}

/** Under this load, a server uses its whole core, unless it waits for a disk. */
const freeCore = 0.75;

/** The share of one processor that a server used. */
function coreShare({ requestsPerSecond, cpuMicros }: Figures): number {
  return (requestsPerSecond * cpuMicros) / 1e6;
}

function warnOfOtherLoad(figures: readonly Figures[]): void {
  if (figures.some((server) => coreShare(server) >= freeCore)) return;
  console.log(
    '  No server got its core: other programs are running here. Compare CPU per request, not requests/s.',
  );
}

/** Prints all verdicts; returns whether all of them hold. */
export function printVerdicts(measurements: readonly Measurement[]): boolean {
  const verdicts = measurements.flatMap(({ row, result }) =>
    result.verdicts.map((verdict) => ({ row, verdict })),
  );
  console.log('\nBars');
  for (const { row, verdict } of verdicts) {
    const mark = holds(verdict) ? 'PASS' : 'MISS';
    console.log(`  ${mark}  ${row.name.padEnd(14)} ${sentence(verdict)}`);
  }
  const missed = verdicts.filter(({ verdict }) => !holds(verdict)).length;
  console.log(`\n${verdicts.length - missed} of ${verdicts.length} bars cleared`);
  return missed === 0;
}

/** Writes the results as JSON next to the benchmark; returns the path. */
export async function writeReport(
  measurements: readonly Measurement[],
  { options, systemNode }: Bench,
): Promise<string> {
  const directory = new URL('results/', import.meta.url);
  await mkdir(directory, { recursive: true });
  const at = new Date().toISOString();
  const file = new URL(`${at.replaceAll(':', '-')}.json`, directory);
  const report = {
    at,
    node: process.version,
    systemNode: systemNode?.version,
    processor: cpus()[0]?.model,
    pinned: isPinned,
    ...options,
    rows: measurements.map(({ row, result }) => ({
      name: row.name,
      title: row.title,
      servers: Object.fromEntries(result.figures ?? []),
      notes: result.notes ?? {},
      verdicts: result.verdicts.map((verdict) => ({ ...verdict, holds: holds(verdict) })),
    })),
  };
  await writeFile(file, `${JSON.stringify(report, undefined, 2)}\n`);
  return file.pathname;
}

function sentence({ claim, value, bound, bar, unit }: Verdict): string {
  return `${claim}: ${shown(value)} ${unit} (${bound} ${bar} ${unit})`;
}

function shown(value: number): string {
  return value.toFixed(value < 100 ? 2 : 0);
}

function table(cells: readonly string[]): string {
  const [first = '', ...rest] = cells;
  return `  ${first.padEnd(15)}${rest.map((cell) => cell.padStart(12)).join('')}`;
}
