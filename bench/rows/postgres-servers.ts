import { type Helper, startHelper } from '../ipc.ts';

/** The measurements of our server on PostgreSQL; the SDK's server reports only processor time. */
export interface PostgresUsage {
  readonly cpuMicros: number;
  readonly roundTrips?: number;
  readonly transactions?: number;
  readonly residentBytes?: number;
}

/** Servers of one kind on one database. */
export interface Contender extends AsyncDisposable {
  readonly name: string;
  readonly ports: readonly number[];
  readonly database: string;
  /** The sum over all servers. */
  usage(): Promise<Required<PostgresUsage>>;
}

interface Started {
  readonly helper: Helper<unknown, PostgresUsage>;
  readonly ready: { readonly port: number };
}

export async function startContender(
  name: string,
  options: {
    readonly file: string;
    readonly database: string;
    readonly replicas: number;
    /** For our server. @default that of `serve` */
    readonly maxContexts?: number;
  },
): Promise<Contender> {
  const started: Started[] = [];
  for (let index = 0; index < options.replicas; index += 1) {
    started.push(
      await startHelper<unknown, PostgresUsage, { readonly port: number }>({
        file: options.file,
        arguments: [
          options.database,
          ...(options.maxContexts === undefined ? [] : [`${options.maxContexts}`]),
        ],
        core: 0,
      }),
    );
  }
  return {
    name,
    ports: started.map(({ ready }) => ready.port),
    database: options.database,
    async usage() {
      const all = await Promise.all(started.map(({ helper }) => helper.ask({})));
      const sum = (pick: (usage: PostgresUsage) => number | undefined): number =>
        all.reduce((total, usage) => total + (pick(usage) ?? Number.NaN), 0);
      return {
        cpuMicros: sum(({ cpuMicros }) => cpuMicros),
        roundTrips: sum(({ roundTrips }) => roundTrips),
        transactions: sum(({ transactions }) => transactions),
        residentBytes: sum(({ residentBytes }) => residentBytes),
      };
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(started.map(({ helper }) => helper.stop()));
    },
  };
}
