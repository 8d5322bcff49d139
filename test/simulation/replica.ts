import { type Bus, hostOnBus, type Hosting } from '../../src/bus/index.ts';
import { PushDispatcher, publicPolicy } from '../../src/push/index.ts';
import type { Store } from '../../src/store/index.ts';
import { Engine, readTaskAt } from '../../src/tasks/index.ts';
import type { BusConditions, StoreConditions } from './conditions.ts';
import { FaultyBus } from './faulty-bus.ts';
import { FaultyStore } from './faulty-store.ts';
import type { Ledger } from './ledger/ledger.ts';
import type { History } from './history.ts';
import type { AgentTraits } from './plan.ts';
import type { Random } from './random.ts';
import { agentName, scriptedAgent } from './scripted-agent.ts';
import { logTo } from './history-logger.ts';
import type { Lane, VirtualTime } from './virtual-time.ts';
import type { Webhooks } from './webhooks.ts';

/** Times of a simulated process, in milliseconds: short, so that much happens in little time. */
const tuning = {
  leaseMs: 1_000,
  pollIntervalMs: 200,
  taskTimeoutMs: 5_000,
  cancelGraceMs: 100,
  // Repeats must find their first for as long as any client keeps trying.
  messageCacheTtlMs: 3_600_000,
  pageTokenKey: 'simulation',
} as const;

export interface ReplicaOptions {
  readonly index: number;
  readonly time: VirtualTime;
  readonly inner: Store;
  readonly database: Lane;
  readonly conditions: StoreConditions;
  readonly ledger: Ledger;
  readonly history: History;
  readonly random: Random;
  readonly traits: AgentTraits;
  readonly webhooks: Webhooks;
  /** The broker, in worlds that have one. */
  readonly broker: Bus | undefined;
  readonly busConditions: BusConditions;
}

/** A process that takes part in serving the agent: its engine, and its outbox or its place on the bus. */
export interface Life {
  readonly name: string;
  readonly lane: Lane;
  readonly engine: Engine;
  readonly store: FaultyStore;
  /** Ends its work; rejects when it could not say goodbye. */
  readonly stop: (graceMs: number) => Promise<void>;
  /** Told when the process is gone, or lets nobody in any more. */
  readonly connections: Set<Connection>;
}

export interface Connection {
  /** The other side went away without a word. */
  cut(): void;
  /** The process wants to stop: streams end now, answers may still come. */
  closing(): void;
}

interface Present {
  readonly name: string;
  readonly lane: Lane;
  readonly store: FaultyStore;
  readonly bus: FaultyBus | undefined;
  life: Life | undefined;
}

/**
 * One place for a process. A process *starts*, *serves* (has a `life`), may *drain*, and is gone;
 * then another one starts in its place under a new name.
 */
export class Replica {
  readonly index: number;
  /** The process that serves clients here, if one does. */
  life: Life | undefined;
  readonly #options: ReplicaOptions;
  #generation = 0;
  /** The process in this place, serving or not. */
  #present: Present | undefined;
  /** No process may start before this time. */
  #downUntil = 0;
  #skew = 0;

  constructor(options: ReplicaOptions) {
    this.index = options.index;
    this.#options = options;
  }

  get lane(): Lane | undefined {
    return this.#present?.lane;
  }

  /** The name of the process in this place, whether it serves, starts or drains. */
  get present(): string | undefined {
    return this.#present?.name;
  }

  /** Starts processes until one serves. */
  start(): void {
    const { time, history, index, broker, busConditions, database, random } = this.#options;
    this.#generation += 1;
    const name = `r${index + 1}-${this.#generation}`;
    const lane = time.lane();
    lane.skew = this.#skew;
    const store = new FaultyStore({ ...this.#options, replica: name, lane });
    const bus =
      broker &&
      new FaultyBus({
        inner: broker,
        replica: name,
        lane,
        broker: database,
        conditions: busConditions,
        history,
        random,
        now: () => time.now,
      });
    const present: Present = { name, lane, store, bus, life: undefined };
    this.#present = present;
    history.note(name, () => 'starts');
    this.#serve(name, lane, store, bus).then(
      (life) => {
        if (lane.isDead) return;
        present.life = life;
        this.life = life;
        history.note(name, () => 'serves');
      },
      (error: Error) => {
        history.note(name, () => `did not start: ${error.message}`);
        this.crash(100);
      },
    );
  }

  /** The process vanishes; another starts after so many milliseconds. */
  crash(downFor: number): void {
    const present = this.#present;
    if (present === undefined) return;
    present.lane.kill();
    void present.store.close();
    void present.bus?.close();
    this.#vacate(present.life);
    this.#startIn(downFor);
  }

  pause(duration: number): void {
    this.#present?.lane.pause(duration);
  }

  /** The connection to the broker breaks; another is made at once. */
  cutBus(): void {
    this.#present?.bus?.cut();
  }

  setSkew(skew: number): void {
    this.#skew = skew;
    if (this.#present !== undefined) this.#present.lane.skew = skew;
  }

  /** The process drains, stops and goes; another starts after so many milliseconds. */
  async restart(graceMs: number, downFor: number): Promise<void> {
    const { life } = this;
    if (life === undefined || this.#present?.life !== life) return;
    await this.#stop(life, graceMs);
    // It may have died while it stopped.
    if (!life.lane.isDead) this.crash(downFor);
  }

  /** Stops for good; what is left in its lane was leaked. */
  async finish(): Promise<{ readonly name: string; readonly leaked: number } | undefined> {
    const { life } = this;
    if (life === undefined) return undefined;
    this.#downUntil = Infinity;
    await this.#stop(life, 100);
    return { name: life.name, leaked: life.lane.pending };
  }

  async #serve(
    name: string,
    lane: Lane,
    store: FaultyStore,
    bus: FaultyBus | undefined,
  ): Promise<Life> {
    const { ledger, traits, history } = this.#options;
    const agent = scriptedAgent({ replica: name, lane, ledger, traits });
    const common = {
      ...tuning,
      store,
      replica: name,
      scheduler: lane,
      logger: logTo(history, name),
    };
    const life = { name, lane, store, connections: new Set<Connection>() };
    if (bus !== undefined) {
      const host: Hosting = await hostOnBus(agent, {
        ...common,
        bus,
        name: agentName,
        announces: false,
        broadcastsStates: false,
        queue: { retryDelaysMs: [50, 200, 500] },
      });
      return { ...life, engine: host.engine, stop: (graceMs) => host.close({ graceMs }) };
    }
    const dispatcher = this.#dispatcher(name, lane, store);
    const engine = await Engine.start({ ...common, agent, push: dispatcher });
    dispatcher.start();
    const stop = async (graceMs: number): Promise<void> => {
      await engine.drain({ graceMs });
      await dispatcher.stop({ drainTimeout: 200 });
      await engine.stop();
    };
    return { ...life, engine, stop };
  }

  #dispatcher(name: string, lane: Lane, store: FaultyStore): PushDispatcher {
    const { webhooks, random, history } = this.#options;
    return new PushDispatcher({
      store,
      replica: name,
      scheduler: lane,
      random: () => random.next(),
      logger: logTo(history, name),
      policy: publicPolicy,
      taskAt: (taskId, sequence) => readTaskAt(store, taskId, sequence),
      transport: webhooks.from(lane),
      timeout: 500,
      pollInterval: 1_000,
      // A receiver that was away is owed everything when it is back.
      maxAttempts: 1_000,
      backoff: { initialDelay: 50, factor: 2, maxDelay: 500 },
    });
  }

  async #stop(life: Life, graceMs: number): Promise<void> {
    this.#options.history.note(life.name, () => `drains for ${graceMs} ms`);
    if (this.life === life) this.life = undefined;
    for (const connection of life.connections) connection.closing();
    // A process that cannot say goodbye goes nevertheless.
    await life.stop(graceMs).catch((error: Error) => {
      this.#options.history.note(life.name, () => `did not retire: ${error.message}`);
    });
    // Answers that were on their way get through.
    await life.lane.sleep(10);
    for (const connection of life.connections) connection.cut();
  }

  #vacate(life: Life | undefined): void {
    this.#present = undefined;
    if (this.life === life) this.life = undefined;
    for (const connection of life?.connections ?? []) connection.cut();
  }

  #startIn(delay: number): void {
    const { time, database } = this.#options;
    this.#downUntil = Math.max(this.#downUntil, time.now + delay);
    database.after(this.#downUntil - time.now, () => {
      if (this.#present === undefined && time.now >= this.#downUntil) this.start();
    });
  }
}
