import type { Bench, Figures, ServerName } from './bench.ts';

/** One workload, measured on several servers, with the bars it has to clear. */
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
 * Compares one of our servers with the official SDK. The bar applies to the SDK on the same Node as
 * ours, so that it compares two programs, not two Nodes. If the machine has an older Node, which users
 * of the SDK run there, the report has that ratio, too. Server CPU shows the difference when the load
 * generator is the bottleneck.
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
