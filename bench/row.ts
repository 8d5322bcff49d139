import type { Bench, Figures, ServerName } from './bench.ts';

/** One line of work, measured on several servers, with the bars it has to clear. */
export interface Row {
  /** As given to `--only`. */
  readonly name: string;
  readonly title: string;
  run(bench: Bench): Promise<RowResult>;
}

export interface RowResult {
  readonly verdicts: readonly Verdict[];
  /** Where the row is a matter of requests per second. */
  readonly figures?: ReadonlyMap<ServerName, Figures>;
  /** Further numbers worth keeping, by what they are. */
  readonly notes?: Readonly<Record<string, number>>;
}

/** One claim, its number and the bar that the number has to clear. */
export interface Verdict {
  readonly claim: string;
  readonly value: number;
  readonly bound: 'at least' | 'at most';
  readonly bar: number;
  readonly unit: string;
}

export function atLeast(claim: string, value: number, bar: number, unit: string): Verdict {
  return { claim, value, bound: 'at least', bar, unit };
}

export function atMost(claim: string, value: number, bar: number, unit: string): Verdict {
  return { claim, value, bound: 'at most', bar, unit };
}

export function holds({ value, bound, bar }: Verdict): boolean {
  return bound === 'at least' ? value >= bar : value <= bar;
}

/**
 * One of our servers beside the official SDK. The bar is for the SDK on the Node that the machine has,
 * since that is what its users run there; on a newer Node it is faster, and that ratio is told too.
 * Server CPU is what the load hides where it is the slower side.
 */
export function besideSdk(
  figures: ReadonlyMap<ServerName, Figures>,
  server: ServerName,
  bar: number,
): { readonly verdict: Verdict; readonly notes: Readonly<Record<string, number>> } {
  const perSecond = (sdk: ServerName) => ratio(figures, 'requestsPerSecond', server, sdk);
  const cpu = (sdk: ServerName) => ratio(figures, 'cpuMicros', sdk, server);
  const hasSystemNode = figures.has('sdk-system');
  const judged = hasSystemNode ? 'sdk-system' : 'sdk';
  return {
    verdict: atLeast(`requests/s, of ${titles[judged]}`, perSecond(judged), bar, 'x'),
    notes: {
      ...(hasSystemNode && { [`requests/s, of ${titles.sdk}`]: perSecond('sdk') }),
      [`server CPU per request of ${titles[judged]}, of ours`]: cpu(judged),
      ...(hasSystemNode && { [`server CPU per request of ${titles.sdk}, of ours`]: cpu('sdk') }),
    },
  };
}

const titles = {
  sdk: 'the official SDK on our Node',
  'sdk-system': "the official SDK on this machine's Node",
} as const;

/** How many times the one server does what the other does. */
export function ratio(
  figures: ReadonlyMap<ServerName, Figures>,
  pick: keyof Figures,
  server: ServerName,
  than: ServerName,
): number {
  return (figures.get(server)?.[pick] ?? Number.NaN) / (figures.get(than)?.[pick] ?? Number.NaN);
}
