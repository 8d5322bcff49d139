import { openBus } from '../../src/bus/index.ts';
import { openMemoryReplicas, type Store } from '../../src/store/index.ts';
import { BusClient } from './bus-client.ts';
import { Conditions } from './conditions.ts';
import { Conversation } from './conversation.ts';
import { Health, placeOf } from './health.ts';
import { History } from './history.ts';
import { Ledger } from './ledger/ledger.ts';
import { Network } from './network.ts';
import type { Fault, Plan } from './plan.ts';
import { Random } from './random.ts';
import { Replica } from './replica.ts';
import type { Report, Violation } from './violation.ts';
import { VirtualTime } from './virtual-time.ts';
import { Webhooks } from './webhooks.ts';

export interface Result {
  readonly violation: Violation | undefined;
  /** Turns that were admitted. */
  readonly turns: number;
  readonly steps: number;
  /** Virtual milliseconds. */
  readonly duration: number;
  readonly webhookCalls: number;
  /** Answers that came over the bus. */
  readonly busAnswers: number;
  readonly history: readonly string[];
}

/** Virtual milliseconds that everything may take to come to rest once nothing goes wrong any more. */
const settlingTime = 120_000;

export interface SimulateOptions {
  /** Tells the course of the world in words. @default false */
  readonly keepsHistory?: boolean;
  /** Puts something else in the place of each replica's store: to see that faults are found. */
  readonly spoil?: (store: Store) => Store;
}

/** Lives through one world. The same plan gives the same world, step by step. */
export async function simulate(plan: Plan, options: SimulateOptions = {}): Promise<Result> {
  const { spoil = (store) => store } = options;
  // Most errors here are meant, and none is looked for by its stack.
  const { stackTraceLimit } = Error;
  if (options.keepsHistory !== true) Error.stackTraceLimit = 0;
  using _ = { [Symbol.dispose]: () => void (Error.stackTraceLimit = stackTraceLimit) };
  const random = new Random(plan.seed);
  const time = new VirtualTime(random.fork('time'));
  const history = new History(options.keepsHistory === true, () => time.now);
  let violation: Violation | undefined;
  const report: Report = (invariant, detail) => {
    violation ??= { invariant, detail, at: time.now };
    time.halt();
  };
  const health = new Health(plan.replicas, () => time.now);
  const ledger = new Ledger({
    report,
    traits: plan.agent,
    now: () => time.now,
    // One that is gone is not well, however well its place is.
    isWell: (replica) =>
      replicas[placeOf(replica)]?.present === replica && health.isWell(placeOf(replica)),
  });
  const conditions = new Conditions(plan.replicas);
  const outside = time.lane();
  const database = time.lane();
  const webhooks = new Webhooks({ conditions, ledger, random: random.fork('webhooks'), outside });
  const broker = plan.hasBus ? await openBus({ type: 'memory', scheduler: database }) : undefined;
  const busClient = broker && new BusClient({ bus: broker, outside, report });
  await busClient?.start();
  const replicas: readonly Replica[] = openMemoryReplicas(plan.replicas, {
    clock: database,
  }).map((inner, index) => {
    const store = conditions.stores[index];
    const busConditions = conditions.buses[index];
    if (store === undefined || busConditions === undefined)
      throw new RangeError('a replica without conditions');
    return new Replica({
      index,
      time,
      inner: spoil(inner),
      database,
      conditions: store,
      ledger,
      history,
      random: random.fork(`replica ${index}`),
      traits: plan.agent,
      webhooks,
      broker,
      busConditions,
    });
  });
  for (const replica of replicas) replica.start();
  for (const fault of plan.faults) {
    outside.after(fault.at, () => strike(fault, { replicas, conditions, history, health, time }));
  }

  const network = new Network({ replicas, conditions, outside, report, health });
  const talking = new Set<Conversation>();
  let failure: unknown;
  for (const each of plan.conversations) {
    const conversation = new Conversation({
      plan: each,
      traits: plan.agent,
      network,
      ledger,
      history,
      random: random.fork(`conversation ${each.name}`),
      outside,
      report,
      busClient,
    });
    talking.add(conversation);
    conversation.run().then(
      () => talking.delete(conversation),
      (error: unknown) => {
        failure = error;
        time.halt();
      },
    );
  }

  const lastFault = Math.max(0, ...plan.faults.map((fault) => fault.at + fault.for));
  const lastStart = plan.conversations.at(-1)?.startsAt ?? 0;
  const deadline = Math.max(lastFault, lastStart) + settlingTime;
  await time.run(() => talking.size === 0 && time.now > lastFault, deadline);
  if (failure !== undefined) throw failure;
  for (const conversation of talking) {
    report('every request is answered', `${conversation.state} is still waiting`);
  }
  await time.run(() => isAtRest(ledger, replicas), time.now + settlingTime);
  ledger.close();
  await checkLeaks({ time, replicas, report });
  return {
    violation,
    turns: ledger.turns.admitted,
    steps: time.steps,
    duration: time.now,
    webhookCalls: webhooks.arrived,
    busAnswers: busClient?.answers ?? 0,
    history: history.lines,
  };
}

function isAtRest(ledger: Ledger, replicas: readonly Replica[]): boolean {
  return (
    ledger.deliveries.isSettled &&
    // A process that lost a turn during an outage takes its time to learn of it.
    replicas.every(({ life }) => life?.engine.runningTurns === 0) &&
    ledger.turns.open().length === 0
  );
}

interface World {
  readonly replicas: readonly Replica[];
  readonly conditions: Conditions;
  readonly history: History;
  readonly health: Health;
  readonly time: VirtualTime;
}

function strike(fault: Fault, { replicas, conditions, history, health, time }: World): void {
  health.strike(fault);
  history.note('fault', () => JSON.stringify(fault));
  const replica = 'replica' in fault && fault.replica !== undefined && replicas[fault.replica];
  const outside = time.lane();
  const isPlace = replica !== false && replica !== undefined;
  switch (fault.kind) {
    case 'crash':
      if (isPlace) replica.crash(fault.for);
      return;
    case 'pause':
      if (isPlace) replica.pause(fault.for);
      return;
    case 'restart':
      if (isPlace) void replica.restart(fault.grace, fault.for);
      return;
    case 'clock':
      if (!isPlace) return;
      replica.setSkew(fault.by);
      outside.after(fault.for, () => replica.setSkew(0));
      return;
    case 'bad-bus':
      if (isPlace) replica.cutBus();
      conditions.begin(fault);
      outside.after(fault.for, () => conditions.end(fault));
      return;
    default:
      conditions.begin(fault);
      outside.after(fault.for, () => conditions.end(fault));
  }
}

/** Once nothing is left to do, a process asks the store for nothing but its upkeep, and stops clean. */
async function checkLeaks(options: {
  readonly time: VirtualTime;
  readonly replicas: readonly Replica[];
  readonly report: Report;
}): Promise<void> {
  const { time, replicas, report } = options;
  const lives = replicas.flatMap(({ life }) => (life === undefined ? [] : [life]));
  // Readers that were leaked look at the store whenever they are woken. Webhooks are called again when
  // the claim of a dead process ends, and a broker brings wishes to cancel again, for half a minute.
  await time.run(() => false, time.now + 45_000);
  const before = lives.map(({ store }) => store.reads);
  await time.run(() => false, time.now + 1_000);
  for (const [index, { name, store, engine }] of lives.entries()) {
    if (store.reads !== before[index]) report('nobody reads what nobody follows', name);
    if (engine.runningTurns > 0) report('a process at rest runs no turn', name);
  }
  let stopped = 0;
  for (const replica of replicas) {
    void replica.finish().then((left) => {
      stopped += 1;
      if (left !== undefined && left.leaked > 0) {
        report('a stopped process has no timers', `${left.name} has ${left.leaked}`);
      }
    });
  }
  await time.run(() => stopped === replicas.length, time.now + 10_000);
  if (stopped < replicas.length) report('a process stops when told to', '');
}
