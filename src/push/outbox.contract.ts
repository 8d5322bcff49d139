import { Json, type Task, type TaskPushNotificationConfig } from '../protocol/index.ts';
import type { LogEvent, Store } from '../store/index.ts';
import { PushDispatcher, type PushDispatcherOptions } from './outbox.ts';
import { publicPolicy } from './policy.ts';
import { startReceiver } from './receiver.contract.ts';

/** A task in a store with push configurations, and a way to give it events: for tests and benchmarks. */
export class TaskWithPush {
  readonly id: string;
  readonly #store: Store;
  #version = 1;

  private constructor(store: Store, id: string) {
    this.#store = store;
    this.id = id;
  }

  static async create(
    store: Store,
    id: string,
    configs: readonly (TaskPushNotificationConfig & { readonly id: string })[],
    wireVersion: '0.3' | '1.0' = '1.0',
  ): Promise<TaskWithPush> {
    const task: Task = {
      id,
      contextId: `context-${id}`,
      status: { state: 'TASK_STATE_SUBMITTED' },
    };
    await store.admit({
      agent: 'test',
      owner: 'owner',
      key: id,
      taskId: id,
      contextId: task.contextId,
      replica: 'test',
      now: 0,
      request: Json.of({}),
      task: Json.of(task),
      maxContexts: 0,
    });
    for (const config of configs) await store.push.put(id, { config, wireVersion });
    return new TaskWithPush(store, id);
  }

  /** Appends status updates whose metadata says their number. */
  async append(count: number, now = 0): Promise<void> {
    const events: LogEvent[] = [];
    for (let index = 0; index < count; index += 1) {
      const sequence = this.#version + 1 + index;
      const statusUpdate = {
        taskId: this.id,
        contextId: `context-${this.id}`,
        status: { state: 'TASK_STATE_WORKING' as const },
        metadata: { sequence },
      };
      events.push({ sequence, body: Json.of({ statusUpdate }) });
    }
    const outcome = await this.#store.append({
      taskId: this.id,
      version: this.#version,
      events,
      state: 'TASK_STATE_WORKING',
      statusTime: now,
      replica: 'test',
      now,
    });
    if (outcome.kind !== 'appended') throw new Error(`append: ${outcome.kind}`);
    this.#version += count;
  }
}

export interface SustainedOptions {
  readonly deliveries: number;
  readonly configs: number;
  /** Of the calls, from 0 to 1. @default 0.1 */
  readonly failureRate?: number;
  readonly dispatcher?: Partial<PushDispatcherOptions>;
}

export interface SustainedResult {
  /** Different deliveries that the receiver answered with 2xx. */
  readonly delivered: number;
  /** Calls that came after a later event of the same configuration had been taken. */
  readonly outOfOrder: number;
  readonly calls: number;
  readonly failedCalls: number;
  /** Deliveries left in the store, pending or dead. */
  readonly left: number;
  readonly milliseconds: number;
}

/**
 * What the outbox owes its receivers, on any store: so many deliveries to a receiver that fails some
 * calls, one way or another; none may be lost and none out of order per configuration.
 * @example await sustainedDelivery(openMemory(), { deliveries: 10_000, configs: 40 })
 */
export async function sustainedDelivery(
  store: Store,
  options: SustainedOptions,
): Promise<SustainedResult> {
  const { deliveries, configs, failureRate = 0.1 } = options;
  const taken = new Map<string, number>();
  let delivered = 0;
  let outOfOrder = 0;
  let failedCalls = 0;
  const done = Promise.withResolvers<void>();
  // Every n-th call fails, in turn by an error status and by a broken connection.
  const period = failureRate === 0 ? Infinity : Math.round(1 / failureRate);
  await using receiver = await startReceiver((call, response, index) => {
    if (index % period === period - 1) {
      failedCalls += 1;
      if (failedCalls % 2 === 0) return void response.destroy();
      return void response.writeHead(503).end();
    }
    const sequence = sequenceOf(call.body);
    const last = taken.get(call.path) ?? 1;
    if (sequence <= last) outOfOrder += 1;
    taken.set(call.path, Math.max(sequence, last));
    delivered += 1;
    response.writeHead(204).end();
    if (delivered === deliveries) done.resolve();
  });
  const tasks: TaskWithPush[] = [];
  for (let index = 0; index < configs; index += 1) {
    const config = { id: 'hook', url: `${receiver.url}/${index}` };
    tasks.push(await TaskWithPush.create(store, `sustained-${index}`, [config]));
  }
  const dispatcher = new PushDispatcher({
    store,
    replica: 'sustained',
    policy: { ...publicPolicy, allowLoopback: true },
    taskAt: async () => undefined,
    backoff: { initialDelay: 1, factor: 2, maxDelay: 20 },
    maxAttempts: 10,
    ...options.dispatcher,
  });
  const started = performance.now();
  dispatcher.start();
  try {
    const perTask = Math.floor(deliveries / configs);
    for (const [index, task] of tasks.entries()) {
      // The remainder goes to the first.
      await task.append(index === 0 ? deliveries - perTask * (configs - 1) : perTask);
      dispatcher.wake();
    }
    await done.promise;
  } finally {
    await dispatcher.stop();
  }
  const milliseconds = performance.now() - started;
  const left = (await store.push.deliveries({ limit: deliveries })).length;
  return { delivered, outOfOrder, calls: receiver.calls.length, failedCalls, left, milliseconds };
}

function sequenceOf(body: string): number {
  const event = JSON.parse(body) as { statusUpdate: { metadata: { sequence: number } } };
  return event.statusUpdate.metadata.sequence;
}
