import { type Agent, canceled, checkAgent } from '../../agents/index.ts';
import { wrapAgent } from '../../peers/index.ts';
import {
  type AgentCard,
  checkOptions,
  type LegateError,
  type OptionNames,
  type TaskState,
} from '../../protocol/index.ts';
import {
  type AgentOptions,
  agentOptionNames,
  type EngineTuning,
  openServices,
  type ReadyReport,
  type Service,
  type SharedOptions,
  sharedOptionNames,
  tuningNames,
} from '../../service/index.ts';
import type { Engine } from '../../tasks/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { waitAtMost } from '../../time/index.ts';
import { busCard, type BusCardOptions, type Identification, Sender } from '../exchange.ts';
import type { MessageSigner } from '../identity/signer.ts';
import {
  type AgentQueueOptions,
  type Bus,
  type Consumption,
  type DeclaredObject,
  done,
} from '../transport/bus.ts';
import { brokerRequirement, checkBusName, ownName } from '../transport/checks.ts';
import { Slots } from '../transport/slots.ts';
import { cancelQueue, queryQueue, taskQueue } from '../transport/topics.ts';
import { AcceptedTasks } from './accepted-tasks.ts';
import { keepAnnouncing } from './announcer.ts';
import { CancelConsumer, PendingCancellations } from './cancellations.ts';
import { keyOf, TaskConsumer } from './task-consumer.ts';
import { Replies } from './replies.ts';

/**
 * How long a shutdown waits for its announcement, in milliseconds. Turns must still end and be stored before
 * SIGKILL.
 */
const farewellMs = 2_000;

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
export interface HostOptions
  extends
    Omit<EngineTuning, 'streaming' | 'duplicateStreams'>,
    Identification,
    Pick<SharedOptions, 'callerLimits' | 'clusterRate' | 'logger'>,
    Pick<AgentOptions, 'skillScopes' | 'cardKeys'> {
  /** Stays open when the host closes. */
  readonly bus: Bus;
  /** A store, or the options to open one. Processes of one agent share one. @default { type: 'memory' } */
  readonly store?: NonNullable<SharedOptions['store']>;
  /** The name under which this process runs turns; unique for each process. @default random */
  readonly replica?: string;
  /** The agent's name on the bus. @default the agent's own name */
  readonly name?: string;
  /**
   * The maximum number of concurrent turns in this process, including tasks taken over from dead processes.
   * Those get the next free slot if new tasks occupy all slots. @default 10
   */
  readonly concurrency?: number;
  /** The maximum number of unsettled messages, including waiting ones. @default concurrency */
  readonly prefetch?: number;
  readonly queue?: AgentQueueOptions;
  /**
   * With a shared store, acknowledges a task that runs longer than this, in milliseconds: the broker
   * redelivers messages that stay unacknowledged for too long. Other tasks, and those of `once`, are
   * acknowledged when they end. @default 10_000
   */
  readonly acknowledgeAfterMs?: number;
  /** Signs all messages. */
  readonly signer?: MessageSigner;
  /** Parts of the card that the agent doesn't define. */
  readonly card?: Omit<BusCardOptions, 'name'>;
  /** Announces the agent to others. @default true, but not with `once` */
  readonly announces?: boolean;
  /** Milliseconds between announcements. @default 120_000 */
  readonly announceIntervalMs?: number;
  /** Broadcasts the states of tasks, without contents, on `agent.task.status`. @default true */
  readonly broadcastsStates?: boolean;
  /** Handles one task, and closes once it is answered. @default false */
  readonly once?: boolean;
  /** With `once`: how long to wait for that task, in milliseconds. @default no limit */
  readonly idleTimeoutMs?: number;
}

const { streaming: _, duplicateStreams: __, ...tuning } = tuningNames;
const { callerLimits, clusterRate, logger, scheduler } = sharedOptionNames;
const { skillScopes, cardKeys: ofCards } = agentOptionNames;
const optionNames: OptionNames<HostOptions> = {
  ...tuning,
  callerLimits,
  clusterRate,
  logger,
  scheduler,
  skillScopes,
  cardKeys: ofCards,
  verifier: 'object',
  requireSigned: 'boolean',
  unsigned: 'list',
  bus: 'object',
  store: 'object',
  replica: 'string',
  name: 'string',
  concurrency: 'number',
  prefetch: 'number',
  queue: 'object',
  acknowledgeAfterMs: 'number',
  signer: 'object',
  card: 'object',
  announces: 'boolean',
  announceIntervalMs: 'number',
  broadcastsStates: 'boolean',
  once: 'boolean',
  idleTimeoutMs: 'number',
};

/**
 * Why a host closed.
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
  /** With `once`: no task arrived. */
  | { readonly kind: 'idle' };

/**
 * An agent that runs on the bus.
 * @example
 * const hosting: Hosting = await hostOnBus(agent, { bus });
 * process.once('SIGTERM', () => void hosting.close({ graceMs: 20_000 }));
 * await hosting.finished;
 */
export interface Hosting extends AsyncDisposable {
  readonly name: string;
  readonly engine: Engine;
  /** What other transports need to serve the same agent beside the bus. */
  readonly service: Service;
  readonly card: AgentCard;
  /** Whether the host can accept tasks: the broker and the store are available. */
  readonly ready: () => Promise<ReadyReport>;
  /** Resolves when the host has closed, by itself or by `close`. */
  readonly finished: Promise<HostOutcome>;
  /** Stops consuming, waits up to `graceMs` for turns to end, and requeues the others. */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

const sevenDays = 7 * 24 * 60 * 60 * 1000;

/**
 * Runs an agent on the bus.
 * @example
 * await using bus = await openBus({ type: 'rabbitmq', url });
 * await using host = await hostOnBus(agent, { bus, store: { type: 'sqlite', path: 'agent.db' } });
 */
export async function hostOnBus(agent: Agent, options: HostOptions): Promise<Hosting> {
  checkAgent('hostOnBus', agent);
  checkOptions('hostOnBus', options, optionNames, ['bus']);
  const { bus, queue, signer, cardKeys, once = false, idleTimeoutMs, ...tuning } = options;
  const { announces = !once, announceIntervalMs = 120_000, broadcastsStates = true } = options;
  const { verifier, requireSigned = false, unsigned } = options;
  const name = checkBusName(options.name ?? agent.name, 'the agent');
  const card = busCard(agent, { name, ...options.card });
  const concurrency = once ? 1 : (options.concurrency ?? 10);
  const prefetch = once ? 1 : (options.prefetch ?? concurrency);
  const unwanted = new Set<string>();
  const { card: _card, ...shared } = tuning;
  const services = await openServices(
    [
      {
        agent: skippingCancelled(agent, unwanted),
        // The broker may redeliver a message long after its turn has ended.
        options: {
          messageCacheTtlMs: sevenDays,
          duplicateStreams: 'attach',
          ...shared,
          staticCard: card,
        },
      },
    ],
    { ...shared, requirements: [brokerRequirement(bus)] },
  );
  const { store, scheduler, logger, replica } = services;
  const [service] = services.services;
  if (service === undefined) throw new TypeError(`agent ${name} has no service`);
  const { engine } = service;
  const sender = new Sender({ bus, name, signer });
  const replies = new Replies({ sender, logger });
  const cancellations = new PendingCancellations({ store, scheduler, agent: name });
  const identification = {
    ...(verifier !== undefined && { verifier }),
    ...(unsigned !== undefined && { unsigned }),
    requireSigned,
  };
  const closing = new AbortController();
  const finished = Promise.withResolvers<HostOutcome>();
  let outcome: HostOutcome = { kind: 'closed' };
  const tasksOf = taskQueue(name, { ...bus.queues, ...queue });
  const common = { service, replies, cancellations, identification, scheduler };
  const slots = new Slots(concurrency);
  // The task of a killed job must stay in the queue, whose length starts the next job.
  const accepted =
    store.shared && !once
      ? new AcceptedTasks({
          store,
          bus,
          agent: name,
          queue: tasksOf,
          slots,
          scheduler,
          logger,
          afterMs: options.acknowledgeAfterMs ?? 10_000,
          leaseMs: options.leaseMs,
          handle: (delivery) => tasks.handle(delivery),
        })
      : undefined;
  const warning = accepted === undefined ? timeoutWarning(bus, logger) : undefined;
  warning?.atStart();
  const tasks: TaskConsumer = new TaskConsumer({
    ...common,
    accepted,
    unwanted,
    broadcastsStates,
    onAnswered(answer) {
      if (!once) return;
      outcome = { kind: 'answered', isSuccess: isSuccess(answer), answer };
      // The delivery is settled right after this; closing waits for that.
      scheduler.defer(() => void close());
    },
  });
  const cancels = new CancelConsumer({ ...common, tasks, bus, closing: closing.signal });
  let announcing: Awaited<ReturnType<typeof keepAnnouncing>> | undefined;
  const consumptions: Consumption[] = [];
  let closed: Promise<void> | undefined;
  const close = (settings: { readonly graceMs?: number } = {}): Promise<void> =>
    (closed ??= shutDown(settings.graceMs ?? 0));

  async function shutDown(graceMs: number): Promise<void> {
    services.readiness.leave();
    idle?.cancel();
    const stopped = Promise.all(consumptions.map((consumption) => consumption.close()));
    // Announces the departure before the turns end, if the broker accepts the announcement.
    const farewell = announcing?.stop().catch((error: unknown) => {
      logger.warn({ error }, 'bus.announce.failed');
    });
    if (farewell !== undefined) await waitAtMost(farewellMs, farewell);
    // Turns that end in time are answered; the messages of the others are requeued.
    await services.drain({ graceMs });
    closing.abort();
    tasks.stop();
    await stopped;
    await accepted?.stop();
    await services.close();
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
    consumptions.push(...(await cancels.start(name, replica)));
    await accepted?.start();
    consumptions.push(
      await bus.consume(
        tasksOf,
        (delivery) => {
          idle?.cancel();
          return tasks.take(delivery);
        },
        {
          prefetch,
          slots,
          ...(once && { limit: 1 }),
          acknowledgesEarly: accepted !== undefined,
          onDiffers: () => warning?.ofFormerArguments(),
          onRefused: (message, reason) => tasks.refused(message, reason),
        },
      ),
    );
    if (announces) {
      const announced = { sender, card, cardKeys, scheduler, logger };
      const made = await keepAnnouncing({ ...announced, intervalMs: announceIntervalMs });
      announcing = made;
      consumptions.push(
        await bus.consume(queryQueue(ownName(name, scheduler)), async () => {
          made.again();
          return done;
        }),
      );
    }
  } catch (error) {
    await close();
    throw error;
  }
  return {
    name,
    engine,
    service,
    card,
    ready: () => services.readiness.check(),
    finished: finished.promise,
    close,
    [Symbol.asyncDispose]: () => close(),
  };
}

/**
 * Declares the queues of an agent that is not running yet, so that its tasks wait. Returns the
 * created and the existing objects; with `migrates`, replaces queues with different arguments.
 * @example await declareAgentQueue(bus, 'researcher')
 */
export async function declareAgentQueue(
  bus: Bus,
  name: string,
  { migrates = false, ...options }: AgentQueueOptions & { readonly migrates?: boolean } = {},
): Promise<readonly DeclaredObject[]> {
  const tasks = await bus.declare(taskQueue(name, { ...bus.queues, ...options }), { migrates });
  const cancels = await bus.declare(cancelQueue(name), { migrates });
  const isKnown = ({ name: each }: DeclaredObject) => tasks.some((other) => other.name === each);
  return [...tasks, ...cancels.filter((each) => !isKnown(each))];
}

/** The first version of RabbitMQ with a consumer timeout for each queue. */
const timeoutVersion = [3, 12];

/**
 * Warns that the broker's consumer timeout applies to tasks that are acknowledged at their end, unless their
 * queue has its own.
 */
function timeoutWarning(
  { brokerVersion, dialect }: Bus,
  logger: Logger,
): { atStart(): void; ofFormerArguments(): void } {
  let isWarned = false;
  const warn = (reason: string): void => {
    if (isWarned) return;
    isWarned = true;
    const fix =
      'set consumer_timeout in rabbitmq.conf above the longest task (30 minutes by default), or use a PostgreSQL store';
    logger.warn({ broker: brokerVersion, reason, fix }, 'bus.consumer_timeout.unknown');
  };
  return {
    atStart() {
      if (brokerVersion === undefined) return;
      const [major = 0, minor = 0] = brokerVersion.split('.').map(Number);
      const [knownMajor = 0, knownMinor = 0] = timeoutVersion;
      const isKnown = major > knownMajor || (major === knownMajor && minor >= knownMinor);
      if (!isKnown) warn(`RabbitMQ before ${timeoutVersion.join('.')} has no limit for each queue`);
      else if (dialect === 'rockbot')
        warn("a queue with RockBot's arguments has no limit of its own");
    },
    ofFormerArguments() {
      warn('the queue exists with other arguments, and is used as it is');
    },
  };
}

/** The agent, except that it doesn't start tasks that were cancelled while queued. */
function skippingCancelled(agent: Agent, unwanted: ReadonlySet<string>): Agent {
  return wrapAgent(agent, {
    take: (turn) =>
      unwanted.has(keyOf(turn.message.messageId, turn.caller))
        ? once(canceled('The task was cancelled before it started.'))
        : agent.take(turn),
  });
}

async function* once<T>(value: T): AsyncGenerator<T> {
  yield value;
}

/** Cancelled tasks, and tasks that wait for their caller, are successes. */
function isSuccess(answer: TaskState | LegateError): boolean {
  return (
    typeof answer === 'string' && answer !== 'TASK_STATE_FAILED' && answer !== 'TASK_STATE_REJECTED'
  );
}
