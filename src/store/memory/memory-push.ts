import { taskNotFound } from '../../protocol/index.ts';
import type {
  Delivery,
  DeliveryOutcome,
  DeliveryRecord,
  DeliveryState,
  PushRegistration,
  PushStore,
  StoreClock,
} from '../contract.ts';
import type { TaskRow } from '../tables.ts';

/** A push configuration and its deliveries. */
interface PushConfig {
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
  /** When it can be claimed. A claim sets it to the end of the lease. */
  dueAt: number;
  claimedBy: string | undefined;
  lastError: string | undefined;
}

/**
 * Push configurations and the outbox. A delivery is pending, then deleted or dead. A dead delivery can
 * be revived.
 */
export class MemoryPush implements PushStore {
  readonly #tasks: { find(id: string): TaskRow | undefined };
  /** By task number, then by configuration id. */
  readonly #configs = new Map<number, Map<string, PushConfig>>();
  readonly #clock: StoreClock;
  readonly #deliveries = new Map<number, DeliveryEntry>();
  /** Configurations with pending deliveries. */
  readonly #configsWithPending = new Set<PushConfig>();
  #lastId = 0;

  constructor(tasks: { find(id: string): TaskRow | undefined }, clock: StoreClock) {
    this.#tasks = tasks;
    this.#clock = clock;
  }

  queueDeliveries(task: TaskRow, sequence: number, now: number): void {
    for (const config of this.#configs.get(task.number)?.values() ?? []) {
      this.#lastId += 1;
      const delivery: DeliveryEntry = {
        id: this.#lastId,
        taskId: task.id,
        config,
        sequence,
        attempts: 0,
        state: 'pending',
        dueAt: now,
        claimedBy: undefined,
        lastError: undefined,
      };
      this.#deliveries.set(delivery.id, delivery);
      config.pending.push(delivery);
      config.all.add(delivery);
      this.#configsWithPending.add(config);
    }
  }

  register(task: TaskRow, registration: PushRegistration): void {
    const configs = this.#configs.get(task.number) ?? new Map<string, PushConfig>();
    this.#configs.set(task.number, configs);
    const existing = configs.get(registration.config.id);
    if (existing !== undefined) existing.registration = registration;
    else configs.set(registration.config.id, { registration, pending: [], all: new Set() });
    task.pushConfigs = configs.size;
  }

  hasPending({ number }: TaskRow): boolean {
    const configs = this.#configs.get(number);
    return configs !== undefined && configs.values().some(({ pending }) => pending.length > 0);
  }

  /** Deletes the configurations and deliveries of a task. */
  forget({ number }: TaskRow): void {
    for (const config of this.#configs.get(number)?.values() ?? []) this.#drop(config);
    this.#configs.delete(number);
  }

  unclaim(replica: string): void {
    for (const { pending } of this.#configsWithPending) {
      const head = pending[0];
      if (head?.claimedBy === replica) {
        head.claimedBy = undefined;
        head.dueAt = 0;
      }
    }
  }

  async put(taskId: string, registration: PushRegistration): Promise<void> {
    const task = this.#tasks.find(taskId);
    if (task === undefined) throw taskNotFound(taskId);
    this.register(task, registration);
  }

  async get(taskId: string, configId: string): Promise<PushRegistration | undefined> {
    return this.#of(taskId)?.get(configId)?.registration;
  }

  async list(taskId: string): Promise<readonly PushRegistration[]> {
    return Array.from(this.#of(taskId)?.values() ?? [], ({ registration }) => registration);
  }

  async delete(taskId: string, configId: string): Promise<boolean> {
    const task = this.#tasks.find(taskId);
    const configs = this.#of(taskId);
    const config = configs?.get(configId);
    if (task === undefined || configs === undefined || config === undefined) return false;
    configs.delete(configId);
    task.pushConfigs = configs.size;
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
    for (const { pending } of this.#configsWithPending) {
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
    for (const { pending } of this.#configsWithPending) {
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

  async counts(): Promise<Record<DeliveryState, number>> {
    const counts = { pending: 0, dead: 0 };
    for (const { state } of this.#deliveries.values()) counts[state] += 1;
    return counts;
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
    this.#configsWithPending.add(delivery.config);
    return true;
  }

  #of(taskId: string): Map<string, PushConfig> | undefined {
    const task = this.#tasks.find(taskId);
    return task && this.#configs.get(task.number);
  }

  #unqueue(delivery: DeliveryEntry): void {
    const { pending } = delivery.config;
    const index = pending.indexOf(delivery);
    if (index !== -1) pending.splice(index, 1);
    if (pending.length === 0) this.#configsWithPending.delete(delivery.config);
  }

  #drop(config: PushConfig): void {
    this.#configsWithPending.delete(config);
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
