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
 * One of our servers beside the official SDK. The bar is for the SDK on the same Node as ours: what is
 * compared are two programs, not two Nodes. Where the machine has an older Node, which is what users
 * of the SDK run there, that ratio is told too. Server CPU is what the load hides where it is the
 * slower side.
 */
export function besideSdk(
  figures: ReadonlyMap<ServerName, Figures>,
  server: ServerName,
  bar: number,
): { readonly verdict: Verdict; readonly notes: Readonly<Record<string, number>> } {
  const perSecond = (sdk: ServerName) => ratio(figures, 'requestsPerSecond', server, sdk);
  return {
    verdict: atLeast('requests/s, of the official SDK', perSecond('sdk'), bar, 'x'),
    notes: {
      "official SDK's server CPU per request, of ours": ratio(figures, 'cpuMicros', 'sdk', server),
      ...(figures.has('sdk-system') && {
        "requests/s, of the official SDK on this machine's Node": perSecond('sdk-system'),
      }),
    },
  };
}

/** How many times the one server does what the other does. */
export function ratio(
  figures: ReadonlyMap<ServerName, Figures>,
  pick: keyof Figures,
  server: ServerName,
  than: ServerName,
): number {
  return (figures.get(server)?.[pick] ?? Number.NaN) / (figures.get(than)?.[pick] ?? Number.NaN);
}
