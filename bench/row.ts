import type { Bench, Figures, ServerName } from './bench.ts';

/** One workload, measured on several servers, with the limits that it must meet. */
export interface Row {
  /** The name for `--only`. */
  readonly name: string;
  readonly title: string;
  run(bench: Bench): Promise<RowResult>;
}

export interface RowResult {
  readonly verdicts: readonly Verdict[];
  /** Present if the row measures requests per second. */
  readonly figures?: ReadonlyMap<ServerName, Figures>;
  /** Further numbers, by their descriptions. */
  readonly notes?: Readonly<Record<string, number>>;
}

/** One claim, its number, and the limit that the number must meet. */
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
 * Compares one of our servers with the official SDK. The limit applies to the SDK on the same Node as
 * ours, so that it compares two programs, not two Nodes. If the machine has an older Node, which users of
 * the SDK run, the report has that ratio, too. Server CPU shows the difference when the load generator is
 * the bottleneck.
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

/** A figure of one server relative to that of another. */
export function ratio(
  figures: ReadonlyMap<ServerName, Figures>,
  pick: keyof Figures,
  server: ServerName,
  than: ServerName,
): number {
  return (figures.get(server)?.[pick] ?? Number.NaN) / (figures.get(than)?.[pick] ?? Number.NaN);
}
