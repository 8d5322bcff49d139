import { type Agent, canceled } from '../../agents/index.ts';
import { wrapAgent } from '../../peers/index.ts';
import { type AgentCard, type LegateError, type TaskState } from '../../protocol/index.ts';
import type { SigningKey } from '../../push/index.ts';
import { openStore, type Store, type StoreOptions } from '../../store/index.ts';
import { Engine, type EngineOptions, type Scheduler, storeScheduler } from '../../tasks/index.ts';
import { defaultLogger, type Logger } from '../../telemetry/index.ts';
import { busCard, type BusCardOptions, type Identification, Sender } from '../exchange/index.ts';
import type { MessageSigner } from '../identity/index.ts';
import {
  type AgentQueueOptions,
  type Bus,
  cancelQueue,
  checkBusName,
  type Consumption,
  ownCancelQueue,
  taskQueue,
} from '../transport/index.ts';
import { Announcer } from './announcer.ts';
import { CancelDoor } from './cancel-door.ts';
import { CancelWishes } from './cancel-wishes.ts';
import { Jobs } from './job.ts';
import { Onlookers } from './onlookers.ts';
import { Replies } from './replies.ts';
import { TaskDoor } from './task-door.ts';

type EngineTuning = Partial<
  Omit<EngineOptions, 'agent' | 'store' | 'logger' | 'push' | 'streaming'>
>;

/**
 * How an agent is hosted on the bus.
 * @example
 * const options: HostOptions = {
 *   bus,
 *   store: { type: 'postgres', url: 'postgres://db/agents' },
 *   concurrency: 4,
 *   queue: { maxMessages: 1_000 },
 * };
 */
export interface HostOptions extends EngineTuning, Identification {
  /** Stays open when the host closes: it is not ours. */
  readonly bus: Bus;
  /** A store, or which one to open. Processes of one agent share one. @default { type: 'memory' } */
  readonly store?: Store | StoreOptions;
  /** The agent's name on the bus. @default the agent's own name */
  readonly name?: string;
  /** Turns that run at one time in this process. @default 10 */
  readonly concurrency?: number;
  /** Messages in hand at one time, those that wait included. @default concurrency */
  readonly prefetch?: number;
  readonly queue?: AgentQueueOptions;
  /** Signs what is sent. */
  readonly signer?: MessageSigner;
  /** Parts of the card beside what the agent says. */
  readonly card?: Omit<BusCardOptions, 'name'>;
  readonly cardKeys?: readonly [SigningKey, ...SigningKey[]];
  /** Makes the agent known to others. @default true, but not with `once` */
  readonly announces?: boolean;
  /** Milliseconds between announcements. @default 120_000 */
  readonly announceIntervalMs?: number;
  /** Tells onlookers the states of tasks, without contents, on `agent.task.status`. @default true */
  readonly tellsStates?: boolean;
  /**
   * How long updates are held back, in milliseconds: a task that is over by then is told by its
   * result alone. @default 25
   */
  readonly updateGraceMs?: number;
  /** Takes one task, and closes when it is answered. @default false */
  readonly once?: boolean;
  /** With `once`: how long to wait for that task, in milliseconds. @default for ever */
  readonly idleTimeoutMs?: number;
  readonly logger?: Logger;
}

/**
 * Why a host came to its end.
 * @example
 * function exitCode(outcome: HostOutcome): number {
 *   return outcome.kind === 'answered' && !outcome.isSuccess ? 1 : 0;
 * }
 */
export type HostOutcome =
  /** It was closed. */
  | { readonly kind: 'closed' }
  /** With `once`: the task was answered; `isSuccess` unless it failed. */
  | {
      readonly kind: 'answered';
      readonly isSuccess: boolean;
      readonly answer: TaskState | LegateError;
    }
  /** With `once`: no task came. */
  | { readonly kind: 'idle' };

/**
 * An agent at work on the bus.
 * @example
 * const hosting: Hosting = await hostOnBus(agent, { bus });
 * process.once('SIGTERM', () => void hosting.close({ graceMs: 20_000 }));
 * await hosting.finished;
 */
export interface Hosting extends AsyncDisposable {
  readonly name: string;
  readonly engine: Engine;
  readonly card: AgentCard;
  /** Resolves when the host has come to its end, by itself or by `close`. */
  readonly finished: Promise<HostOutcome>;
  /** Takes no more tasks, lets turns end for `graceMs`, and leaves the others to be taken again. */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

const sevenDays = 7 * 24 * 60 * 60 * 1000;

/**
 * Puts an agent to work on the bus.
 * @example
 * await using bus = await openBus({ type: 'rabbitmq', url });
 * await using host = await hostOnBus(agent, { bus, store: { type: 'sqlite', path: 'agent.db' } });
 */
export async function hostOnBus(agent: Agent, options: HostOptions): Promise<Hosting> {
  const {
    bus,
    store: storeOption = { type: 'memory' },
    name: givenName,
    concurrency: givenConcurrency,
    prefetch: givenPrefetch,
    queue,
    signer,
    card: cardOptions,
    cardKeys,
    once = false,
    announces = !once,
    announceIntervalMs = 120_000,
    tellsStates = true,
    updateGraceMs = 25,
    idleTimeoutMs,
    verifier,
    requireSigned,
    logger = defaultLogger,
    scheduler: givenScheduler,
    replica: givenReplica,
    ...tuning
  } = options;
  const name = checkBusName(givenName ?? agent.name, 'the agent');
  const concurrency = once ? 1 : (givenConcurrency ?? 10);
  const prefetch = once ? 1 : (givenPrefetch ?? concurrency);
  const isOwnStore = 'type' in storeOption;
  const store = isOwnStore ? await openStore(storeOption, givenScheduler) : storeOption;
  const scheduler = givenScheduler ?? storeScheduler(store);
  const replica = givenReplica ?? scheduler.uuid();
  const unwanted = new Set<string>();
  const engine = await Engine.start({
    // The broker may repeat a message long after its turn has ended.
    messageCacheTtlMs: sevenDays,
    ...tuning,
    agent: obeying(agent, unwanted),
    store,
    logger,
    scheduler,
    replica,
  });
  const sender = new Sender({ bus, name, signer });
  const replies = new Replies({ sender, logger });
  const onlookers = new Onlookers({ sender, scheduler, logger });
  const wishes = new CancelWishes({ store, scheduler, agent: name });
  await wishes.start();
  const jobs = new Jobs();
  const identification = {
    ...(verifier !== undefined && { verifier }),
    ...(requireSigned !== undefined && { requireSigned }),
  };
  const closing = new AbortController();
  const finished = Promise.withResolvers<HostOutcome>();
  let outcome: HostOutcome = { kind: 'closed' };
  const door = new TaskDoor({
    engine,
    jobs,
    replies,
    wishes,
    identification,
    logger,
    scheduler,
    updateGraceMs,
    repliesWithMessage: agent.replies === 'message',
    closing: closing.signal,
    unwanted,
    onAnswered(answer) {
      if (!once) return;
      outcome = { kind: 'answered', isSuccess: isSuccess(answer), answer };
      // The delivery is settled right after this; closing waits for that.
      scheduler.soon(() => void close());
    },
    onState(job, state) {
      if (!tellsStates || job.ids === undefined) return;
      onlookers.tell(job.ids, state, job.delivery.correlationId);
    },
  });
  const cancels = new CancelDoor({
    engine,
    bus,
    jobs,
    replies,
    wishes,
    identification,
    closing: closing.signal,
  });
  const card = busCard(agent, { name, ...cardOptions });
  const announcer = new Announcer({
    sender,
    card,
    cardKeys,
    intervalMs: announceIntervalMs,
    scheduler,
    logger,
  });
  const consumptions: Consumption[] = [];
  let closed: Promise<void> | undefined;
  const close = (settings: { readonly graceMs?: number } = {}): Promise<void> =>
    (closed ??= shutDown(settings.graceMs ?? 0));

  async function shutDown(graceMs: number): Promise<void> {
    idle?.cancel();
    const stopped = Promise.all(consumptions.map((consumption) => consumption.close()));
    if (announces) {
      await announcer.stop().catch((error: unknown) => {
        logger.warn({ error }, 'bus.announce.failed');
      });
    }
    // Turns that end in their time are answered; those that are cut off are given back.
    await engine.drain({ graceMs });
    closing.abort();
    door.stop();
    await stopped;
    await engine.stop();
    if (isOwnStore) await store.close();
    finished.resolve(outcome);
  }

  const idle =
    once && idleTimeoutMs !== undefined
      ? scheduler.after(idleTimeoutMs, () => {
          outcome = { kind: 'idle' };
          void close();
        })
      : undefined;
  try {
    const overheard = ownCancelQueue(name, replica);
    consumptions.push(await bus.consume(overheard, (delivery) => cancels.overhear(delivery)));
    consumptions.push(await hearWishes(bus, name, cancels, scheduler));
    consumptions.push(
      await bus.consume(
        taskQueue(name, queue),
        (delivery) => {
          idle?.cancel();
          return door.handle(delivery);
        },
        {
          prefetch,
          concurrency,
          ...(once && { limit: 1 }),
          onRefused: (message, reason) => door.refused(message, reason),
        },
      ),
    );
    if (announces) await announcer.start();
  } catch (error) {
    await close();
    throw error;
  }
  return {
    name,
    engine,
    card,
    finished: finished.promise,
    close,
    [Symbol.asyncDispose]: () => close(),
  };
}

/**
 * Declares the queues of an agent that is not running yet, so that its tasks wait.
 * @example await declareAgentQueue(bus, 'researcher')
 */
export async function declareAgentQueue(
  bus: Bus,
  name: string,
  options: AgentQueueOptions = {},
): Promise<void> {
  await bus.declare(taskQueue(name, options));
  await bus.declare(cancelQueue(name));
}

/**
 * Takes the wishes to cancel; those that waited are heard before any task is begun, as far as that
 * can be told.
 */
async function hearWishes(
  bus: Bus,
  name: string,
  door: CancelDoor,
  scheduler: Scheduler,
): Promise<Consumption> {
  const queue = cancelQueue(name);
  const waiting = (await bus.inspect(queue.name))?.messages ?? 0;
  const consumption = await bus.consume(queue, (delivery) => door.handle(delivery));
  for (let look = 0; look < 40 && door.progress.settled < waiting; look += 1) {
    // Another process may have taken them.
    const isEmpty = (await bus.inspect(queue.name))?.messages === 0 && !door.progress.isBusy;
    if (isEmpty && look > 3) break;
    await new Promise<void>((resolve) => void scheduler.after(25, resolve));
  }
  return consumption;
}

/** The agent, save that it does not begin what was cancelled before it came. */
function obeying(agent: Agent, unwanted: ReadonlySet<string>): Agent {
  return wrapAgent(agent, {
    take: (turn) =>
      unwanted.has(turn.message.messageId)
        ? once(canceled('The task was cancelled before it began.'))
        : agent.take(turn),
  });
}

async function* once<T>(value: T): AsyncGenerator<T> {
  yield value;
}

/** A task that was cancelled, or that waits for its caller, went as it should. */
function isSuccess(answer: TaskState | LegateError): boolean {
  return (
    typeof answer === 'string' && answer !== 'TASK_STATE_FAILED' && answer !== 'TASK_STATE_REJECTED'
  );
}
