import { parseArgs } from 'node:util';
import { drawPlan } from './plan.ts';
import { type Result, simulate } from './simulate.ts';
import { describePlan, tellFailure } from './tell.ts';

const usage = `npm run simulate -- [--seed S] [--turns N] [--replicas R] [--worlds W] [--history]

  --seed S      which world; a number or any word (default 1)
  --turns N     messages that its clients send (default 10000)
  --replicas R  processes that serve them (default 2 to 4, by the seed)
  --worlds W    so many worlds, with the seeds S, S+1, ... (default 1)
  --without K   no faults of these kinds, separated by commas
  --history     prints what happened even when nothing went wrong
`;

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    turns: { type: 'string', default: '10000' },
    replicas: { type: 'string' },
    worlds: { type: 'string', default: '1' },
    without: { type: 'string', default: '' },
    history: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) {
  process.stdout.write(usage);
} else {
  for (let world = 0; world < Number(values.worlds); world += 1) {
    const first = Number(values.seed);
    const seed = world === 0 || Number.isNaN(first) ? values.seed : String(first + world);
    if (!(await live(seed))) process.exitCode = 1;
  }
}

/** True when no rule was broken. */
async function live(seed: string): Promise<boolean> {
  const drawn = drawPlan({
    seed,
    turns: Number(values.turns),
    ...(values.replicas !== undefined && { replicas: Number(values.replicas) }),
  });
  const left = values.without.split(',');
  const plan = { ...drawn, faults: drawn.faults.filter(({ kind }) => !left.includes(kind)) };
  const started = performance.now();
  const result = await simulate(plan, { keepsHistory: values.history });
  const seconds = (performance.now() - started) / 1000;
  print(`seed ${seed}: ${describePlan(plan)}`);
  print(`  ${summary(result)} in ${seconds.toFixed(1)} s`);
  if (values.history) for (const line of result.history) print(line);
  if (result.violation === undefined) return true;
  print(await tellFailure(plan, result));
  return false;
}

function summary({ turns, steps, duration, webhookCalls, busAnswers }: Result): string {
  return `${turns} turns, ${webhookCalls} webhook calls, ${busAnswers} answers over the bus, ${steps} steps, ${(duration / 1000).toFixed(0)} s of virtual time`;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
