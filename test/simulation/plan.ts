import type { Agent } from '../../src/agents/index.ts';
import { Random } from './random.ts';

/** How the agent of a world is declared. */
export type AgentTraits = Pick<Agent, 'onInterrupted' | 'serialise' | 'replies'> & {
  readonly supersedes: boolean;
  readonly abandons: boolean;
};

/** One client in one conversation; what it does is drawn from its own name. */
export interface ConversationPlan {
  readonly name: string;
  readonly startsAt: number;
  /** Messages it sends, repeats not counted. */
  readonly turns: number;
}

/**
 * What goes wrong, when (milliseconds since the world began), for how long, and where. Faults with
 * a `share` hit that part of the calls made meanwhile.
 */
export type Fault = { readonly at: number; readonly for: number } & (
  | { readonly kind: 'crash'; readonly replica: number }
  | { readonly kind: 'pause'; readonly replica: number }
  /** Stopped in an orderly way, with so much time to drain, and away for a while. */
  | { readonly kind: 'restart'; readonly replica: number; readonly grace: number }
  /** The clock is wrong by so many milliseconds. */
  | { readonly kind: 'clock'; readonly replica: number; readonly by: number }
  /** Store calls fail: before they are made, or after they took effect (`late`). */
  | {
      readonly kind: 'outage';
      readonly replica: number | undefined;
      readonly share: number;
      readonly late: number;
    }
  | { readonly kind: 'slow-store'; readonly replica: number; readonly factor: number }
  | {
      readonly kind: 'bad-notices';
      readonly replica: number;
      readonly lost: number;
      readonly repeated: number;
    }
  /** Answers to clients are lost. */
  | { readonly kind: 'bad-network'; readonly share: number }
  | { readonly kind: 'bad-webhooks'; readonly share: number }
  /** The connection to the broker breaks, and is bad for a while. */
  | {
      readonly kind: 'bad-bus';
      readonly replica: number;
      readonly failing: number;
      readonly late: number;
      readonly repeated: number;
    }
);

/** All that is to happen in a world from outside. Any part of it makes a world as well. */
export interface Plan {
  readonly seed: string;
  readonly replicas: number;
  readonly agent: AgentTraits;
  /** Whether the agent works on the bus as well; then it has no webhooks. */
  readonly hasBus: boolean;
  readonly conversations: readonly ConversationPlan[];
  readonly faults: readonly Fault[];
}

export interface PlanOptions {
  readonly seed: string;
  /** Messages sent by all clients together. */
  readonly turns: number;
  /** @default 2 to 4, by the seed */
  readonly replicas?: number;
}

/** Milliseconds between the beginnings of two conversations, on average. */
const arrivalGap = 40;
/** Milliseconds between two faults, on average. */
const faultGap = 400;
const meanTurns = 4.5;

export function drawPlan(options: PlanOptions): Plan {
  const random = new Random(options.seed).fork('plan');
  const replicas = options.replicas ?? random.integer(2, 4);
  const agent = drawTraits(random);
  const hasBus = random.chance(0.4);
  const conversations: ConversationPlan[] = [];
  let at = 0;
  for (let left = options.turns; left > 0;) {
    const turns = Math.min(left, random.integer(1, 2 * meanTurns - 1));
    conversations.push({ name: `c${conversations.length + 1}`, startsAt: at, turns });
    left -= turns;
    at += random.between(0, 2 * arrivalGap);
  }
  const faults: Fault[] = [];
  const end = at + 2_000;
  for (let time = random.between(0, 2 * faultGap); time < end;) {
    faults.push(drawFault(random, { at: time, replicas, hasBus }));
    time += random.between(0, 2 * faultGap);
  }
  return { seed: options.seed, replicas, agent, hasBus, conversations, faults };
}

function drawTraits(random: Random): AgentTraits {
  const serialise = random.chance(0.2) ? 'task' : 'context';
  return {
    onInterrupted: random.chance(0.5) ? 'run-again' : 'fail',
    serialise,
    replies: random.chance(0.3) ? 'message' : 'task',
    // A conversation of independent tasks has no one question that a new message could answer.
    supersedes: serialise === 'context' && random.chance(0.4),
    abandons: random.chance(0.4),
  };
}

function drawFault(
  random: Random,
  world: { readonly at: number; readonly replicas: number; readonly hasBus: boolean },
): Fault {
  const { at, replicas, hasBus } = world;
  const kind = random.weighted({
    crash: 3,
    pause: 3,
    restart: 2,
    clock: 1,
    outage: 3,
    'slow-store': 2,
    'bad-notices': 2,
    'bad-network': 2,
    'bad-webhooks': hasBus ? 0 : 2,
    'bad-bus': hasBus ? 4 : 0,
  });
  const replica = random.integer(0, replicas - 1);
  const short = random.between(20, 800);
  switch (kind) {
    case 'crash':
      return { kind, at, for: random.between(10, 3_000), replica };
    case 'pause':
      return { kind, at, for: random.between(50, 4_000), replica };
    case 'restart':
      return { kind, at, for: random.between(10, 500), replica, grace: random.integer(0, 1_500) };
    case 'clock':
      return { kind, at, for: random.between(500, 5_000), replica, by: random.integer(-150, 150) };
    case 'outage': {
      const share = random.chance(0.3) ? 1 : random.between(0.05, 0.7);
      const late = random.pick([0, 0.5, 0.5, 1]);
      // Now and then longer than anybody keeps trying.
      const length = random.chance(0.02) ? 30_000 : random.between(5, 1_500);
      return {
        kind,
        at,
        for: length,
        replica: random.chance(0.7) ? replica : undefined,
        share,
        late,
      };
    }
    case 'slow-store':
      return { kind, at, for: short, replica, factor: random.pick([5, 20, 100]) };
    case 'bad-notices':
      return {
        kind,
        at,
        for: random.between(100, 4_000),
        replica,
        lost: random.pick([0, 0.5, 1]),
        repeated: random.pick([0, 0.5]),
      };
    case 'bad-network':
      return { kind, at, for: short, share: random.between(0.05, 0.5) };
    case 'bad-webhooks':
      return { kind, at, for: random.between(100, 4_000), share: random.between(0.1, 1) };
    case 'bad-bus':
      return {
        kind,
        at,
        for: random.between(50, 2_000),
        replica,
        failing: random.pick([0, 0.3, 1]),
        late: random.pick([0, 0.5, 1]),
        repeated: random.pick([0, 0.5]),
      };
  }
}
