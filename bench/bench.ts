import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Helper, type HelperOptions, startHelper } from './ipc.ts';
import type { Job, LoadResult, RequestTemplate, Usage } from './protocol.ts';
import { buildSdkServer, findSystemNode, type SystemNode } from './system-node.ts';

/**
 * `memory` and `sqlite` are Legate on that store. `sdk` is the official SDK on the Node of this checkout,
 * `sdk-sqlite` the same with its tasks in SQLite, `sdk-system` the SDK on the Node of the machine.
 */
export type ServerName = 'raw' | 'sdk' | 'sdk-sqlite' | 'sdk-system' | 'memory' | 'sqlite';

export interface BenchOptions {
  /** The length of one round of one server, in seconds. */
  readonly seconds: number;
  readonly rounds: number;
  /** The rows of the benchmark `million` on PostgreSQL. */
  readonly rows: number;
}

/** A server under test, in its own process. */
export interface Server {
  readonly name: ServerName;
  readonly port: number;
  /** The directory of its files. */
  readonly directory: string;
  usage(): Promise<Usage>;
  stop(): Promise<void>;
}

/** The results of one server in one row: medians over the rounds. */
export interface Figures {
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Server processor time per request, in microseconds. */
  readonly cpuMicros: number;
  /** The length of one response. */
  readonly bytes: number;
}

export interface StartOptions {
  /** The parent of the server's directory. @default the directory for temporary files */
  readonly directory?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

const serverCore = 0;
const loadCore = 1;

/** Starts servers and puts load on them; stops the remaining servers when disposed. */
export class Bench implements AsyncDisposable {
  readonly options: BenchOptions;
  /** The Node of the machine, if it is older than the one of this checkout. */
  readonly systemNode: SystemNode | undefined = findSystemNode();
  readonly #load: Helper<Job, LoadResult>;
  readonly #servers = new Set<Server>();

  private constructor(options: BenchOptions, load: Helper<Job, LoadResult>) {
    this.options = options;
    this.#load = load;
  }

  static async open(options: BenchOptions): Promise<Bench> {
    const { helper } = await startHelper<Job, LoadResult, unknown>({
      file: 'load.ts',
      core: loadCore,
    });
    return new Bench(options, helper);
  }

  /** The official SDK on each available Node. */
  get sdks(): readonly ServerName[] {
    return this.systemNode === undefined ? ['sdk'] : ['sdk-system', 'sdk'];
  }

  async start(name: ServerName, options: StartOptions = {}): Promise<Server> {
    const directory = await mkdtemp(join(options.directory ?? tmpdir(), 'bench-'));
    const { environment } = options;
    const { helper, ready } = await startHelper<unknown, Usage, { port: number }>({
      ...this.#program(name, directory),
      ...(environment !== undefined && { environment }),
      core: serverCore,
    });
    const server: Server = {
      name,
      port: ready.port,
      directory,
      usage: () => helper.ask({}),
      stop: async () => {
        this.#servers.delete(server);
        await helper.stop();
        await rm(directory, { recursive: true });
      },
    };
    this.#servers.add(server);
    return server;
  }

  #program(name: ServerName, directory: string): HelperOptions {
    switch (name) {
      case 'memory':
        return { file: 'servers/ours.ts', arguments: [name] };
      case 'sqlite':
        return { file: 'servers/ours.ts', arguments: [name, directory] };
      case 'sdk-sqlite':
        return { file: 'servers/sdk.ts', arguments: [join(directory, 'sdk.db')] };
      case 'sdk-system':
        if (this.systemNode === undefined) throw new Error('the machine has no Node of its own');
        return { file: buildSdkServer(), node: this.systemNode.path };
      default:
        return { file: `servers/${name}.ts` };
    }
  }

  /** Puts load on one server; an unexpected response fails the benchmark. */
  async load(
    request: RequestTemplate,
    limits: {
      connections?: number;
      seconds?: number;
      requests?: number;
      perSecond?: number;
    } = {},
  ): Promise<LoadResult> {
    const result = await this.#load.ask({
      kind: 'load',
      request,
      connections: limits.connections ?? 32,
      milliseconds: (limits.seconds ?? 600) * 1000,
      requests: limits.requests ?? Number.MAX_SAFE_INTEGER,
      ...(limits.perSecond !== undefined && { perSecond: limits.perSecond }),
    });
    if (result.errors > 0) {
      throw new Error(`${result.errors} of ${result.requests} failed: ${result.firstError}`);
    }
    return result;
  }

  /** Sends a request and never reads the response, until `hangUp`. */
  async ignore(request: RequestTemplate): Promise<void> {
    await this.#load.ask({ kind: 'ignore', request });
  }

  async hangUp(): Promise<void> {
    await this.#load.ask({ kind: 'hang-up' });
  }

  /**
   * Runs the same load on several servers in turn, round after round, so that a slow moment of the
   * machine affects all of them. Returns the medians.
   */
  async compare(
    names: readonly ServerName[],
    requestFor: (server: Server) => RequestTemplate | Promise<RequestTemplate>,
  ): Promise<ReadonlyMap<ServerName, Figures>> {
    const { seconds, rounds } = this.options;
    const entrants = [];
    for (const name of names) {
      const server = await this.start(name);
      const request = await requestFor(server);
      // A warm-up until V8 has compiled the code, counted in requests because a busy machine is slow.
      await this.load(request, { requests: 20_000, seconds: 120 });
      entrants.push({ server, request, rounds: [] as Figures[] });
    }
    for (let round = 0; round < rounds; round += 1) {
      for (const { server, request, rounds: measured } of entrants) {
        const before = await server.usage();
        const result = await this.load(request, { seconds });
        const after = await server.usage();
        measured.push({
          requestsPerSecond: result.requests / result.seconds,
          p50Ms: result.p50Ms,
          p99Ms: result.p99Ms,
          cpuMicros: (after.cpuMicros - before.cpuMicros) / result.requests,
          bytes: result.bytes / result.requests,
        });
      }
    }
    for (const { server } of entrants) await server.stop();
    return new Map(entrants.map(({ server, rounds: measured }) => [server.name, middle(measured)]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.#servers) await server.stop();
    await this.#load.stop();
  }
}

function middle(rounds: readonly Figures[]): Figures {
  const of = (pick: (figures: Figures) => number) => median(rounds.map(pick));
  return {
    requestsPerSecond: of((figures) => figures.requestsPerSecond),
    p50Ms: of((figures) => figures.p50Ms),
    p99Ms: of((figures) => figures.p99Ms),
    cpuMicros: of((figures) => figures.cpuMicros),
    bytes: of((figures) => figures.bytes),
  };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = Math.floor(sorted.length / 2);
  const upper = sorted[half] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? Number.NaN) + upper) / 2;
}
