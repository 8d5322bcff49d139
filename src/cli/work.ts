import type { Agent } from '../agents/index.ts';
import { type Bus, type BusIdentity, type HostOutcome, hostOnBus, topics } from '../bus/index.ts';
import { present } from '../config/index.ts';
import {
  type InboundNote,
  Proposals,
  TrustLedger,
  trustGate,
  trustName,
  WorkingMemory,
} from '../peers/index.ts';
import { LegateError } from '../protocol/index.ts';
import { openStore, ownerKey, type Store } from '../store/index.ts';
import { retentionOf, storeScheduler } from '../tasks/index.ts';
import type { Logger, Telemetry } from '../telemetry/index.ts';
import {
  type Endpoints,
  busIdentity,
  openConfiguredBus,
  readEndpoints,
  configuredStore,
  startConfiguredTelemetry,
} from './endpoints.ts';
import type { WorkCommandOptions } from './commands/workers.ts';
import { loadAgent } from './load-agent.ts';
import { createLogger } from './logger.ts';
import { openMetricsPort } from './metrics-port.ts';
import { untilSignal } from './signals.ts';
import { usage } from './usage.ts';

/** Grace period for turns in flight on shutdown. */
const graceMs = 10_000;

/** Hosts an agent on the bus until the process is stopped or, with `--once`, for one task. */
export async function work(source: string, options: WorkCommandOptions): Promise<void> {
  const logger = createLogger(options.logLevel);
  const { agent, directory } = await loadAgent(source, { ...options, logger });
  const endpoints = await readEndpoints(directory, options);
  const name = options.name ?? agent.name;
  const identity = await busIdentity(endpoints, name);
  await using telemetry = await startConfiguredTelemetry(endpoints, name, logger);
  await using metrics = await openMetrics(endpoints, telemetry, options, logger);
  await using bus = await openConfiguredBus(endpoints, { logger });
  const store = await openStore(configuredStore(endpoints, options.store));
  try {
    const outcome = await host(agent, {
      ...options,
      name,
      bus,
      store,
      retention: retentionOf(endpoints.store),
      identity,
      logger,
      metricsUrl: metrics?.url,
    });
    process.exitCode = report(outcome, options);
  } finally {
    await store.close();
  }
}

/**
 * Opens a port for Prometheus, if `telemetry:` configures one. A worker with `--once` ends before a
 * scrape, and several of them may run on one machine: it opens a port only when one is given.
 */
async function openMetrics(
  { telemetry: settings }: Endpoints,
  telemetry: Telemetry | null,
  { metricsPort: port, once = false }: WorkCommandOptions,
  logger: Logger,
): Promise<Awaited<ReturnType<typeof openMetricsPort>> | null> {
  const prometheus = settings?.prometheus;
  if (telemetry !== null && prometheus !== undefined) {
    if (once && port === undefined) return null;
    return openMetricsPort({ telemetry, settings: prometheus, port, logger });
  }
  if (port === undefined) return null;
  throw usage(
    '--metrics-port: metrics are off; set telemetry: {prometheus: true} in endpoints.yml',
  );
}

interface Hosting extends Omit<WorkCommandOptions, 'store'> {
  readonly name: string;
  readonly bus: Bus;
  readonly store: Store;
  readonly retention: ReturnType<typeof retentionOf>;
  readonly identity: BusIdentity;
  readonly logger: Logger;
  readonly metricsUrl: string | undefined;
}

async function host(agent: Agent, options: Hosting): Promise<HostOutcome> {
  const { bus, store, name, identity, logger, once = false, idleTimeout } = options;
  const hosting = await hostOnBus(options.trust === true ? gated(agent, name, store) : agent, {
    bus,
    store,
    name,
    once,
    logger,
    ...options.retention,
    ...identity,
    // A worker with `--once` announces itself only on request: it ends soon.
    announces: options.announce && !once,
    ...present({ concurrency: options.concurrency, prefetch: options.prefetch }),
    ...(idleTimeout !== undefined && { idleTimeoutMs: idleTimeout * 1000 }),
  });
  const topic = topics.task(hosting.name);
  const metrics = options.metricsUrl === undefined ? '' : `\nMetrics: ${options.metricsUrl}`;
  if (once) console.error(`Waiting for one task of "${hosting.name}" on ${topic}${metrics}`);
  else console.log(`Working as "${hosting.name}" on ${topic}${metrics}\nStop:   Ctrl+C`);
  const isStopped = await Promise.race([
    untilSignal().then(() => true),
    hosting.finished.then(() => false),
  ]);
  if (isStopped) {
    console.error('Stopping: waiting for running turns.');
    await hosting.close({ graceMs });
  }
  return hosting.finished;
}

/** The agent, restricted by the trust in its callers; their requests wait for the user's approval. */
export function gated(agent: Agent, name: string, store: Store): Agent {
  const { records } = store;
  const scheduler = storeScheduler(store);
  return trustGate(agent, {
    ledger: new TrustLedger({ records, scheduler }),
    proposals: new Proposals({ records, scheduler }),
    memory: new WorkingMemory({
      records,
      owner: ownerKey({ agent: name, tenant: '', subject: 'user' }),
      clock: store.clock,
    }),
    notify: (note) => console.error(noteLine(note)),
  });
}

/** The notice for the user about a request for approval. Escapes control sequences of the sender. */
function noteLine({ kind, caller, skill, summary, taskId }: InboundNote): string {
  const who = trustName(caller);
  const suffix = skill === undefined ? '' : ` (${skill})`;
  const text = `${who}${suffix}: ${summary}`.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ').slice(0, 300);
  if (kind === 'proposal')
    return `Waiting for your approval: ${text}\n  legate trust approve ${taskId}`;
  return kind === 'fact' ? `Stored as a fact: ${text}` : `Recorded, not executed: ${text}`;
}

/** Prints the result of one task and returns the exit code. */
function report(outcome: HostOutcome, { once = false, json = false }: WorkCommandOptions): number {
  if (!once) return 0;
  const isSuccess = outcome.kind === 'idle' || (outcome.kind === 'answered' && outcome.isSuccess);
  const answer = outcome.kind === 'answered' ? outcome.answer : undefined;
  const state = typeof answer === 'string' ? answer : undefined;
  const error = answer instanceof LegateError ? answer : undefined;
  if (json) {
    console.log(
      JSON.stringify({
        outcome: outcome.kind,
        isSuccess,
        ...(state !== undefined && { state }),
        ...(error !== undefined && { error: { code: error.code, message: error.message } }),
      }),
    );
  } else {
    console.log(state ?? error?.message ?? outcome.kind);
  }
  return isSuccess ? 0 : 1;
}
