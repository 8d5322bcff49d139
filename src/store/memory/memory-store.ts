import type { Json, JsonValue } from '../../protocol/index.ts';
import type {
  Admission,
  AdmitOutcome,
  Append,
  AppendOutcome,
  CommandStore,
  ContextRecord,
  ContextWrite,
  LogEvent,
  PushStore,
  RecordStore,
  Store,
  StoreClock,
  TaskPage,
  TaskQuery,
  TaskRecord,
  TurnRecord,
} from '../contract.ts';
import { processClock } from '../process-clock.ts';
import { scoped } from '../scoped.ts';
import { neverOut } from '../store-health.ts';
import { MemoryState } from './memory-state.ts';
import { toRecord } from './task-entry.ts';

type Listener = Parameters<Store['watch']>[0];

/** The listeners of all the stores that share one state. */
type Watchers = Map<Listener, MemoryStore>;

/** Keeps everything in this process; nothing survives it. */
class MemoryStore implements Store {
  readonly driver = 'memory';
  readonly shared: boolean;
  readonly clock: StoreClock;
  readonly health = neverOut();
  readonly commands: CommandStore;
  readonly push: PushStore;
  readonly records: RecordStore;
  readonly #state: MemoryState;
  readonly #watchers: Watchers;

  constructor(state: MemoryState, watchers: Watchers, shared: boolean) {
    this.shared = shared;
    this.clock = state.clock;
    this.push = state.push;
    this.records = state.records;
    this.commands = {
      queue: async (command) => state.queueCommand(command),
      end: async (end) => {
        const outcome = state.endCommand(end);
        if (outcome.kind === 'ended') this.#notify(end.turn.taskId, 0);
        return outcome;
      },
      drop: async (key, replica) => {
        const dropped = state.dropCommands(key, replica);
        for (const id of dropped.ids) this.#notify(id, 0);
        return dropped;
      },
    };
    this.#state = state;
    this.#watchers = watchers;
  }

  async admit(admission: Admission): Promise<AdmitOutcome> {
    return this.#state.admit(admission);
  }

  async append(append: Append): Promise<AppendOutcome> {
    const outcome = this.#state.append(append);
    if (outcome.kind === 'appended') {
      this.#notify(append.taskId, append.version + append.events.length);
    }
    return outcome;
  }

  async load(taskId: string, owner?: string): Promise<TaskRecord | undefined> {
    const task = this.#state.tasks.get(taskId);
    if (task === undefined || (owner !== undefined && task.owner !== owner)) return undefined;
    return toRecord(task);
  }

  async readEvents(taskId: string, after: number, limit: number): Promise<readonly LogEvent[]> {
    const task = this.#state.tasks.get(taskId);
    const from = Math.max(0, after);
    return task?.log.slice(from, from + limit) ?? [];
  }

  async list(query: TaskQuery): Promise<TaskPage> {
    return this.#state.list(query);
  }

  async requestCancel(taskId: string): ReturnType<Store['requestCancel']> {
    const task = this.#state.requestCancel(taskId);
    if (task === undefined) return undefined;
    this.#notify(taskId, task.version);
    const turns = this.#state.turns.ofTask(taskId);
    return {
      running: turns.some(({ replica }) => replica !== undefined),
      queued: turns.some(({ replica }) => replica === undefined),
    };
  }

  async cancelRequests(replica: string): Promise<readonly string[]> {
    return this.#state.cancelRequests(replica);
  }

  async loadTurn(turnId: number): ReturnType<Store['loadTurn']> {
    return this.#state.loadTurn(turnId);
  }

  async loadContext(owner: string, contextId: string): Promise<ContextRecord | undefined> {
    const entry = this.#state.contexts.get(scoped(owner, contextId));
    return entry && { value: entry.value, logLength: entry.log.length };
  }

  async readContextLog(
    owner: string,
    contextId: string,
    last?: number,
  ): Promise<readonly Json<JsonValue>[]> {
    const log = this.#state.contexts.get(scoped(owner, contextId))?.log ?? [];
    return log.slice(last === undefined ? 0 : Math.max(0, log.length - last));
  }

  async writeContext(write: ContextWrite): Promise<void> {
    this.#state.writeContext(write);
  }

  async deleteContext(owner: string, contextId: string): Promise<boolean> {
    return this.#state.contexts.delete(scoped(owner, contextId));
  }

  async heartbeat(replica: string, leaseMs: number): Promise<void> {
    this.#state.leases.renew(replica, leaseMs);
  }

  async retire(replica: string): Promise<void> {
    this.#state.leases.retire(replica);
    this.#state.push.unclaim(replica);
  }

  async deadReplicas(...[replicas, { sparesExpired } = {}]: Parameters<Store['deadReplicas']>) {
    return replicas.filter((each) => !this.#state.leases.isAlive(each, sparesExpired));
  }

  async takeOver(query: Parameters<Store['takeOver']>[0]): Promise<readonly TurnRecord[]> {
    return this.#state.takeOver(query);
  }

  async release(turn: {
    readonly id: number;
    readonly replica: string;
    readonly started?: boolean;
  }): Promise<void> {
    const open = this.#state.turns.get(turn.id);
    if (open?.replica !== turn.replica) return;
    open.replica = undefined;
    if (turn.started === true) open.attempt += 1;
  }

  async sweep(query: Parameters<Store['sweep']>[0]): ReturnType<Store['sweep']> {
    return this.#state.sweep(query);
  }

  watch(listener: Listener): () => void {
    this.#watchers.set(listener, this);
    return () => void this.#watchers.delete(listener);
  }

  async close(): Promise<void> {
    for (const [listener, store] of this.#watchers) {
      if (store === this) this.#watchers.delete(listener);
    }
  }

  #notify(taskId: string, version: number): void {
    if (!this.shared) return;
    for (const [listener, store] of this.#watchers) {
      if (store !== this) listener({ taskId, version });
    }
  }
}

/**
 * What a store in memory goes by.
 * @example const store = openMemory({ clock: { now: () => Date.UTC(2026, 0, 1) } });
 */
export interface MemoryOptions {
  /** Milliseconds since 1970. @default the system's clock */
  readonly clock?: { now(): number };
}

/** A store in this process's memory, for tests, examples and services that may forget. */
export function openMemory({ clock }: MemoryOptions = {}): Store {
  return new MemoryStore(new MemoryState(processClock(clock)), new Map(), false);
}

/**
 * Several stores over one memory, each for one replica, which see each other's writes as replicas
 * on one database do.
 * @example const [first, second] = openMemoryReplicas(2);
 */
export function openMemoryReplicas(count: number, { clock }: MemoryOptions = {}): Store[] {
  const state = new MemoryState(processClock(clock));
  const watchers: Watchers = new Map();
  return Array.from({ length: count }, () => new MemoryStore(state, watchers, true));
}
