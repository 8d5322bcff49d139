import type { Agent } from '../agents/index.ts';
import { present, type StoreSettings } from '../config/index.ts';
import type { TaskPushNotificationConfig } from '../protocol/index.ts';
import { Replica, type Store } from '../store/index.ts';
import { defaultLogger, type Logger } from '../telemetry/index.ts';
import type { Call } from './call.ts';
import { type Scheduler, storeScheduler } from './scheduler.ts';

/** Push notifications, as the engine uses them. Without them the capability is off. */
export interface PushHooks {
  /** Throws INVALID_PARAMS for a configuration that must not be stored. */
  validate(config: TaskPushNotificationConfig, call: Pick<Call, 'isLocal'>): void | Promise<void>;
  /** The configuration without its secrets, for reads. */
  redact(config: TaskPushNotificationConfig): TaskPushNotificationConfig;
  /** Deliveries were written. */
  wake(): void;
}

/**
 * The agent, the store and the limits of an engine.
 * @example
 * const options: EngineOptions = {
 *   agent,
 *   store,
 *   taskTimeoutMs: 120_000,
 *   inactivityTimeoutMs: 20_000, // a turn without an event for so long fails
 * };
 */
export interface EngineOptions {
  /** The agent that handles the messages. */
  agent: Agent;
  /** Stores tasks and conversations. */
  store: Store;
  /** Whether callers can stream answers and subscribe to tasks. @default true */
  streaming?: boolean;
  /**
   * The answer to a duplicate streaming message while the first one is in flight: the stream of the
   * running task, or the error `MESSAGE_IN_FLIGHT`. @default 'refuse'; 'attach' with `serve`, `serveAll`
   * and `router`
   */
  duplicateStreams?: 'attach' | 'refuse';
  /** Validates and redacts webhooks; without it the capability is off. */
  push?: PushHooks | undefined;
  /**
   * The replica whose lease turns use: shared with other parts of the process, or a new one with
   * this name.
   * @default a new one
   */
  replica?: Replica | string;
  /** Accepted media types of messages. @default those of the agent and its skills */
  inputModes?: () => readonly string[];
  /** URIs of the extensions the agent declares. @default [] */
  extensions?: readonly string[];
  /** URIs of extensions that every message must request. @default [] */
  requiredExtensions?: readonly string[];
  /** Longest time from the start of a turn to its end, in milliseconds; 0 for no limit. @default 600_000 */
  taskTimeoutMs?: number;
  /** Longest time between two events of a turn, in milliseconds; 0 for no limit. @default 0 */
  inactivityTimeoutMs?: number;
  /** Time in which a turn can end by itself after a cancellation, in milliseconds. @default 5_000 */
  cancelGraceMs?: number;
  /**
   * How long a duplicate message gets the first answer, in milliseconds; 0 for never.
   * @default taskTimeoutMs, or 600_000
   */
  messageCacheTtlMs?: number;
  /** Most contexts with unfinished tasks at one time; 0 for no limit. @default 10_000 */
  maxContexts?: number;
  /** How long ended tasks are kept, in milliseconds; 0 for no limit. @default 7 days */
  retentionMs?: number;
  /**
   * How long the state of a conversation is kept after its last turn, in milliseconds; 0 for no
   * limit. Conversations with an unfinished task are kept.
   * @default 0
   */
  contextRetentionMs?: number;
  /**
   * How often expired tasks, conversations, idempotency keys and records are deleted, in
   * milliseconds.
   * @default 60_000
   */
  sweepIntervalMs?: number;
  /** Maximum size of an event, in characters of its parts. @default 4 Mi */
  maxEventSize?: number;
  /** Most events of one task. @default 1_000_000 */
  maxEvents?: number;
  /** Most turns that run at one time in this process; further ones wait. @default 1_000 */
  maxRunningTurns?: number;
  /** How many times a turn can run again after its process died. @default 3 */
  maxAttempts?: number;
  /** How long a replica counts as alive after it last renewed its lease, in milliseconds. @default 15_000 */
  leaseMs?: number;
  /**
   * How often readers poll for events whose notification was lost, in milliseconds; shared stores only.
   * @default 1_000
   */
  pollIntervalMs?: number;
  /** Key that authenticates page tokens, the same for all replicas. @default random, kept in the store */
  pageTokenKey?: string;
  /**
   * Whether callers get the error of a failed agent: for development only, because errors may
   * contain secrets.
   * @default false; with `serve` and `serveAll`, whether only this machine can reach the server and
   * NODE_ENV is not production
   */
  showErrors?: boolean;
  /**
   * How to handle the steps of agents with models: prompts, answers, tool calls with arguments
   * and results. `record` stores them for the inspector, for `retentionMs` and at most 7 days.
   * `share` also sends them to callers that request the extension `stepsExtension`, which the
   * card then declares.
   * @default 'record'
   */
  steps?: 'off' | 'record' | 'share';
  /** Destination of log lines. @default warnings and errors on standard error */
  logger?: Logger;
  /**
   * Clock, timers, random numbers and ids, for simulations.
   * @default the store's clock, the system's timers and ids
   */
  scheduler?: Scheduler;
}

/** All options, with their defaults filled in. */
export type EngineSettings = Required<Omit<EngineOptions, 'push' | 'replica'>> & {
  readonly replica: Replica;
  readonly push: PushHooks | undefined;
};

const defaults = {
  streaming: true,
  duplicateStreams: 'refuse',
  push: undefined,
  extensions: [],
  requiredExtensions: [],
  taskTimeoutMs: 600_000,
  inactivityTimeoutMs: 0,
  cancelGraceMs: 5_000,
  maxContexts: 10_000,
  retentionMs: 7 * 24 * 60 * 60 * 1000,
  contextRetentionMs: 0,
  sweepIntervalMs: 60_000,
  maxEventSize: 4 * 1024 * 1024,
  maxEvents: 1_000_000,
  maxRunningTurns: 1_000,
  maxAttempts: 3,
  leaseMs: 15_000,
  pollIntervalMs: 1_000,
  showErrors: false,
  steps: 'record',
  logger: defaultLogger,
} as const satisfies Partial<EngineOptions>;

export function resolveOptions(options: EngineOptions): EngineSettings {
  const { replica, scheduler = storeScheduler(options.store), ...given } = options;
  const settings = { ...defaults, ...present(given) };
  const { agent, store, leaseMs, logger, taskTimeoutMs } = settings;
  return {
    messageCacheTtlMs: taskTimeoutMs > 0 ? taskTimeoutMs : defaults.taskTimeoutMs,
    pageTokenKey: crypto.randomUUID(),
    inputModes: () => inputModesOf(agent),
    ...settings,
    replica:
      replica instanceof Replica
        ? replica
        : new Replica({ store, id: replica ?? scheduler.uuid(), scheduler, leaseMs, logger }),
    scheduler,
  };
}

/** The retention options in `store:` of a project, without those that it does not set. */
export function retentionOf(
  settings: StoreSettings | undefined,
): Pick<EngineOptions, 'retentionMs' | 'contextRetentionMs'> {
  const { taskRetentionSeconds: tasks, contextRetentionSeconds: contexts } = settings ?? {};
  return {
    ...(tasks !== undefined && { retentionMs: tasks * 1000 }),
    ...(contexts !== undefined && { contextRetentionMs: contexts * 1000 }),
  };
}

function inputModesOf({ inputModes, skills }: Agent): readonly string[] {
  return [
    ...(inputModes ?? ['text/plain', 'application/json']),
    ...skills.flatMap((skill) => skill.inputModes ?? []),
  ];
}
