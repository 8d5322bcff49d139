import { parseArgs } from 'node:util';
import { drawPlan, type Plan } from './plan.ts';
import { shrink } from './shrink.ts';
import { type Result, simulate } from './simulate.ts';

const usage = `npm run simulate -- [--seed S] [--turns N] [--replicas R] [--worlds W] [--history]

  --seed S      which world; a number or any word (default 1)
  --turns N     messages that its clients send (default 10000)
  --replicas R  processes that serve them (default 2 to 4, by the seed)
  --worlds W    so many worlds, with the seeds S, S+1, ... (default 1)
  --without K   no faults of these kinds, separated by commas
  --history     prints what happened even when nothing went wrong
`;

/** The end of a long history tells most. */
const shownLines = 400;

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
  process.on('uncaughtException', (error) => {
    print(`seed ${seed}: ${error.stack ?? error.message}`);
    process.exit(2);
  });
  const started = performance.now();
  const result = await simulate(plan, { keepsHistory: values.history });
  const seconds = (performance.now() - started) / 1000;
  print(`seed ${seed}: ${describe(plan)}`);
  print(`  ${summary(result)} in ${seconds.toFixed(1)} s`);
  if (values.history) for (const line of result.history) print(line);
  if (result.violation === undefined) return true;
  print(`  BROKEN: ${result.violation.invariant}\n  ${result.violation.detail}`);
  const smallest = await shrink({ plan, result });
  const told = await simulate(smallest.plan, { keepsHistory: true });
  print(`\nthe shortest history found: ${describe(smallest.plan)}`);
  for (const each of smallest.plan.conversations) print(`  ${JSON.stringify(each)}`);
  for (const each of smallest.plan.faults) print(`  ${JSON.stringify(each)}`);
  for (const line of told.history.slice(-shownLines)) print(line);
  print(`BROKEN: ${told.violation?.invariant}\n${told.violation?.detail}`);
  print(`seed ${seed}, at ${told.violation?.at.toFixed(2)}`);
  return false;
}

function describe(plan: Plan): string {
  const traits = Object.entries(plan.agent).map(([name, value]) => `${name}=${value}`);
  return `${plan.replicas} replicas, ${plan.conversations.length} conversations, ${plan.faults.length} faults, ${traits.join(' ')}`;
}

function summary({ turns, steps, duration, webhookCalls }: Result): string {
  return `${turns} turns, ${webhookCalls} webhook calls, ${steps} steps, ${(duration / 1000).toFixed(0)} s of virtual time`;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
