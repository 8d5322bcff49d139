import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import type { ReplicaSettings, ToParent, ToReplica, TurnBegan } from './messages.ts';

/** One server process. */
export interface Replica {
  readonly url: string;
  readonly isAlive: boolean;
  /** Ends it as a crash does. */
  kill(): Promise<void>;
  /** Asks it to end, and waits until it has; gives its exit code. */
  stop(): Promise<number | null>;
  /** Stops it in its tracks, as a long pause of the machine does, until the returned function is called. */
  freeze(): () => void;
  tell(message: ToReplica): void;
}

/** Server processes on one database. */
export class Cluster implements AsyncDisposable {
  readonly #settings: ReplicaSettings;
  readonly #replicas: Replica[] = [];
  readonly #began: (TurnBegan & { readonly by: Replica })[] = [];
  #turn = 0;

  private constructor(settings: ReplicaSettings) {
    this.#settings = settings;
  }

  /** `clockShiftsMs`: how far the wall clock of each replica is ahead, in milliseconds. */
  static async start(
    settings: ReplicaSettings,
    replicas = 2,
    clockShiftsMs: readonly number[] = [],
  ): Promise<Cluster> {
    const cluster = new Cluster(settings);
    await Promise.all(
      Array.from({ length: replicas }, (_, index) =>
        cluster.add({ clockShiftMs: clockShiftsMs[index] ?? 0 }),
      ),
    );
    return cluster;
  }

  /** The turns that were begun, in the order in which they told. */
  get began(): readonly (TurnBegan & { readonly by: Replica })[] {
    return this.#began;
  }

  get alive(): readonly Replica[] {
    return this.#replicas.filter(({ isAlive }) => isAlive);
  }

  at(index: number): Replica {
    const replica = this.#replicas[index];
    if (replica === undefined) throw new Error(`there is no replica ${index}`);
    return replica;
  }

  /** Any other live replica than this one. */
  other(than: Replica): Replica {
    const found = this.alive.find((replica) => replica !== than);
    if (found === undefined) throw new Error('there is no other replica');
    return found;
  }

  /** The live replicas by turns, as a load balancer would choose. */
  next(): Replica {
    const { alive } = this;
    const replica = alive[(this.#turn += 1) % alive.length];
    if (replica === undefined) throw new Error('no replica is alive');
    return replica;
  }

  /** `clockShiftMs`: how far its wall clock is ahead when it starts. */
  async add({ clockShiftMs = 0 } = {}): Promise<Replica> {
    const child = fork(join(import.meta.dirname, 'server.ts'), [JSON.stringify(this.#settings)], {
      execArgv: ['--import', join(import.meta.dirname, 'shifted-clock.ts')],
      env: { ...process.env, CLOCK_SHIFT_MS: String(clockShiftMs) },
    });
    const port = await portOf(child);
    const replica = toReplica(child, port);
    child.on('message', (message: ToParent) => {
      if ('began' in message) this.#began.push({ ...message, by: replica });
    });
    this.#replicas.push(replica);
    return replica;
  }

  open(gate: string): void {
    for (const replica of this.alive) replica.tell({ open: gate });
  }

  /** `fetch` for a client behind a load balancer. */
  readonly fetch: typeof globalThis.fetch = (input, init) => {
    const address = new URL(input instanceof Request ? input.url : input);
    return fetch(new URL(address.pathname + address.search, this.next().url), init);
  };

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.alive.map((replica) => replica.kill()));
  }
}

function portOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('exit', () => reject(new Error('the replica did not start')));
    child.once('message', (message: ToParent) => {
      if ('port' in message) resolve(message.port);
    });
  });
}

function toReplica(child: ChildProcess, port: number): Replica {
  let isEnding = false;
  const ended = new Promise<number | null>((resolve) => void child.once('exit', resolve));
  const isAlive = (): boolean => !isEnding && child.exitCode === null && child.signalCode === null;
  const end = (signal: NodeJS.Signals): Promise<number | null> => {
    isEnding = true;
    child.kill(signal);
    return ended;
  };
  return {
    url: `http://127.0.0.1:${port}`,
    get isAlive() {
      return isAlive();
    },
    kill: async () => void (await end('SIGKILL')),
    stop: () => end('SIGTERM'),
    freeze: () => {
      child.kill('SIGSTOP');
      return () => void child.kill('SIGCONT');
    },
    tell: (message) => {
      if (isAlive() && child.connected) child.send(message);
    },
  };
}
