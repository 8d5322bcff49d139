import { taskNotFound } from '../../protocol/index.ts';
import type {
  Delivery,
  DeliveryOutcome,
  DeliveryRecord,
  DeliveryState,
  LogEvent,
  PushRegistration,
  PushStore,
  StoreClock,
} from '../contract.ts';
import type { TaskEntry } from './task-entry.ts';

/** A push configuration and what is owed to it. */
export interface PushConfig {
  registration: PushRegistration;
  /** Oldest first; only the first can be claimed. */
  readonly pending: DeliveryEntry[];
  /** Pending and dead ones. */
  readonly all: Set<DeliveryEntry>;
}

interface DeliveryEntry {
  readonly id: number;
  readonly taskId: string;
  readonly config: PushConfig;
  readonly sequence: number;
  attempts: number;
  state: DeliveryState;
  /** When it can be claimed: moved behind the lease by a claim. */
  dueAt: number;
  claimedBy: string | undefined;
  lastError: string | undefined;
}

/** Push configurations and the outbox. A delivery is pending, then gone or dead, and may be revived. */
export class MemoryPush implements PushStore {
  readonly #tasks: ReadonlyMap<string, TaskEntry>;
  readonly #clock: StoreClock;
  readonly #deliveries = new Map<number, DeliveryEntry>();
  /** Configurations with pending deliveries. */
  readonly #owing = new Set<PushConfig>();
  #lastId = 0;

  constructor(tasks: ReadonlyMap<string, TaskEntry>, clock: StoreClock) {
    this.#tasks = tasks;
    this.#clock = clock;
  }

  /** Writes down what is owed for one event. True when anything is. */
  owe(task: TaskEntry, event: LogEvent, now: number): boolean {
    if (task.push === undefined || task.push.size === 0 || 'message' in event.body.value) {
      return false;
    }
    for (const config of task.push.values()) {
      this.#lastId += 1;
      const delivery: DeliveryEntry = {
        id: this.#lastId,
        taskId: task.id,
        config,
        sequence: event.sequence,
        attempts: 0,
        state: 'pending',
        dueAt: now,
        claimedBy: undefined,
        lastError: undefined,
      };
      this.#deliveries.set(delivery.id, delivery);
      config.pending.push(delivery);
      config.all.add(delivery);
      this.#owing.add(config);
    }
    return true;
  }

  register(task: TaskEntry, registration: PushRegistration): void {
    task.push ??= new Map();
    const existing = task.push.get(registration.config.id);
    if (existing === undefined) {
      task.push.set(registration.config.id, { registration, pending: [], all: new Set() });
    } else {
      existing.registration = registration;
    }
  }

  hasPending(task: TaskEntry): boolean {
    for (const config of task.push?.values() ?? []) if (config.pending.length > 0) return true;
    return false;
  }

  /** Drops all that hangs on a task. */
  forget(task: TaskEntry): void {
    for (const config of task.push?.values() ?? []) this.#drop(config);
  }

  /** Ends the claims of a replica. */
  unclaim(replica: string): void {
    for (const { pending } of this.#owing) {
      const head = pending[0];
      if (head?.claimedBy === replica) {
        head.claimedBy = undefined;
        head.dueAt = 0;
      }
    }
  }

  async put(taskId: string, registration: PushRegistration): Promise<void> {
    const task = this.#tasks.get(taskId);
    if (task === undefined) throw taskNotFound(taskId);
    this.register(task, registration);
  }

  async get(taskId: string, configId: string): Promise<PushRegistration | undefined> {
    return this.#tasks.get(taskId)?.push?.get(configId)?.registration;
  }

  async list(taskId: string): Promise<readonly PushRegistration[]> {
    const configs = this.#tasks.get(taskId)?.push?.values() ?? [];
    return Array.from(configs, ({ registration }) => registration);
  }

  async delete(taskId: string, configId: string): Promise<boolean> {
    const configs = this.#tasks.get(taskId)?.push;
    const config = configs?.get(configId);
    if (configs === undefined || config === undefined) return false;
    configs.delete(configId);
    this.#drop(config);
    return true;
  }

  async claim(query: {
    readonly replica: string;
    readonly leaseMs: number;
    readonly limit: number;
  }): Promise<readonly Delivery[]> {
    const now = this.#clock.now();
    const due: DeliveryEntry[] = [];
    for (const { pending } of this.#owing) {
      const head = pending[0];
      if (head !== undefined && head.dueAt <= now) due.push(head);
    }
    const claimed = due.sort((a, b) => a.dueAt - b.dueAt || a.id - b.id).slice(0, query.limit);
    return claimed.map((delivery) => {
      delivery.dueAt = now + query.leaseMs;
      delivery.claimedBy = query.replica;
      return toDelivery(delivery);
    });
  }

  async settle(deliveryId: number, outcome: DeliveryOutcome): Promise<void> {
    const delivery = this.#deliveries.get(deliveryId);
    if (delivery === undefined) return;
    if (outcome.kind === 'delivered') {
      this.#deliveries.delete(deliveryId);
      delivery.config.all.delete(delivery);
      this.#unqueue(delivery);
      return;
    }
    if (delivery.state === 'dead') return;
    delivery.attempts += 1;
    delivery.lastError = outcome.error;
    delivery.claimedBy = undefined;
    if (outcome.kind === 'retry') {
      delivery.dueAt = this.#clock.now() + outcome.afterMs;
    } else {
      delivery.state = 'dead';
      this.#unqueue(delivery);
    }
  }

  async nextDueMs(): Promise<number | undefined> {
    let due: number | undefined;
    for (const { pending } of this.#owing) {
      const head = pending[0];
      if (head !== undefined && (due === undefined || head.dueAt < due)) due = head.dueAt;
    }
    return due === undefined ? undefined : Math.max(0, due - this.#clock.now());
  }

  async deliveries(query: {
    readonly state?: DeliveryState;
    readonly taskId?: string;
    readonly after?: number;
    readonly limit: number;
  }): Promise<readonly DeliveryRecord[]> {
    const found: DeliveryRecord[] = [];
    for (const delivery of this.#deliveries.values()) {
      if (found.length >= query.limit) break;
      if (delivery.id <= (query.after ?? 0)) continue;
      if (query.state !== undefined && delivery.state !== query.state) continue;
      if (query.taskId !== undefined && delivery.taskId !== query.taskId) continue;
      found.push({
        ...toDelivery(delivery),
        state: delivery.state,
        nextAttemptAt: delivery.dueAt,
        ...(delivery.lastError !== undefined && { lastError: delivery.lastError }),
      });
    }
    return found;
  }

  async revive(deliveryId: number): Promise<boolean> {
    const delivery = this.#deliveries.get(deliveryId);
    if (delivery?.state !== 'dead') return false;
    delivery.state = 'pending';
    delivery.attempts = 0;
    delivery.dueAt = this.#clock.now();
    const { pending } = delivery.config;
    const behind = pending.findIndex(({ id }) => id > deliveryId);
    pending.splice(behind === -1 ? pending.length : behind, 0, delivery);
    this.#owing.add(delivery.config);
    return true;
  }

  #unqueue(delivery: DeliveryEntry): void {
    const { pending } = delivery.config;
    const index = pending.indexOf(delivery);
    if (index !== -1) pending.splice(index, 1);
    if (pending.length === 0) this.#owing.delete(delivery.config);
  }

  #drop(config: PushConfig): void {
    this.#owing.delete(config);
    for (const delivery of config.all) this.#deliveries.delete(delivery.id);
  }
}

function toDelivery(delivery: DeliveryEntry): Delivery {
  return {
    id: delivery.id,
    taskId: delivery.taskId,
    sequence: delivery.sequence,
    attempts: delivery.attempts,
    push: delivery.config.registration,
  };
}
