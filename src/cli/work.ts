import { join } from 'node:path';
import type { Agent } from '../agents/index.ts';
import {
  type Bus,
  type BusIdentity,
  type Hosting as BusHosting,
  type HostOutcome,
  hostOnBus,
  topics,
} from '../bus/index.ts';
import { present } from '../config/index.ts';
import { LegateError } from '../protocol/index.ts';
import type { ReadyReport } from '../service/index.ts';
import { openStore, type Store } from '../store/index.ts';
import { retentionOf } from '../tasks/index.ts';
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
import { type CommandPeers, openCommandPeers } from './peers.ts';
import { openPage } from './open-page.ts';
import { checkListenFlags } from './serving.ts';
import { ignoreHangup, untilSignal } from './signals.ts';
import { openWorkerInspector } from './worker-inspector.ts';
import { openWorkerPort, type WorkerPort } from './worker-port.ts';

/** Grace period for turns in flight on shutdown, in milliseconds. */
const graceMs = 10_000;

/** Hosts an agent on the bus until the process is stopped or, with `--once`, for one task. */
export async function work(source: string, options: WorkCommandOptions): Promise<void> {
  ignoreHangup();
  const logger = createLogger(options.logLevel);
  const { agent, directory, storeFile, files, usePeers } = await loadAgent(source, {
    ...options,
    logger,
  });
  const endpoints = await readEndpoints(directory, options);
  const { trust = endpoints.peers?.trust } = options;
  const name = options.name ?? agent.name;
  const identity = await busIdentity(endpoints, name);
  await using telemetry = await startConfiguredTelemetry(endpoints, name, logger);
  let hosting: BusHosting | undefined;
  const starting: ReadyReport = { isReady: false, reason: 'the worker is starting' };
  await using port = await openPort(endpoints, options, {
    telemetry,
    logger,
    ready: async () => hosting?.ready() ?? starting,
  });
  await using bus = await openConfiguredBus(endpoints, {
    logger,
    connectionName: `${name} worker`,
    connectTimeout: options.connectTimeout,
  });
  const storage = configuredStore(endpoints, options.store, storeFile);
  const store = await openStore(storage);
  try {
    await using peers = await openCommandPeers({
      endpoints,
      name,
      agentName: agent.name,
      store,
      storage,
      logger,
      bus,
      identity,
      ...present({ trust }),
    });
    if (peers.network !== undefined) usePeers?.(peers.network);
    const outcome = await host(agent, {
      ...options,
      name,
      bus,
      store,
      peers,
      retention: retentionOf(endpoints.store),
      identity,
      logger,
      port,
      onStarted: (started) => {
        hosting = started;
      },
      configuration: [...files, endpoints.file ?? join(directory, 'endpoints.yml')],
    });
    process.exitCode = report(outcome, options);
  } finally {
    await store.close();
  }
}

/**
 * Opens the port for probes, metrics and the inspector if a flag or the metrics of `telemetry:` need it. A
 * worker with `--once` usually ends before a scrape, and several of them can run on one machine, so it opens
 * a port only if `--port` is given.
 */
async function openPort(
  { telemetry: settings }: Endpoints,
  options: WorkCommandOptions,
  about: {
    readonly telemetry: Telemetry | null;
    readonly logger: Logger;
    readonly ready: () => Promise<ReadyReport>;
  },
): Promise<WorkerPort | null> {
  const { port, once = false, inspect = false } = options;
  const { telemetry, logger, ready } = about;
  const prometheus = settings?.prometheus;
  const metrics =
    telemetry === null || prometheus === undefined
      ? undefined
      : { telemetry, settings: prometheus };
  if (port === undefined && !inspect && (metrics === undefined || once)) return null;
  const host =
    options.interface ?? (metrics?.settings.access === 'public' ? '0.0.0.0' : '127.0.0.1');
  // The token of the inspector would cross the network unencrypted.
  if (inspect) checkListenFlags({ ...options, interface: host }, false, '');
  return openWorkerPort({ ready, metrics, port, host, logger });
}

interface Hosting extends Omit<WorkCommandOptions, 'store' | 'port'> {
  readonly name: string;
  readonly bus: Bus;
  readonly store: Store;
  readonly peers: CommandPeers;
  readonly retention: ReturnType<typeof retentionOf>;
  readonly identity: BusIdentity;
  readonly logger: Logger;
  /** Files whose changes need a restart. */
  readonly configuration: readonly string[];
  readonly port: WorkerPort | null;
  readonly onStarted: (hosting: BusHosting) => void;
}

async function host(agent: Agent, options: Hosting): Promise<HostOutcome> {
  const { bus, store, name, peers, identity, logger, once = false, idleTimeout } = options;
  const { port } = options;
  await using hosting = await hostOnBus(peers.wrap(agent), {
    bus,
    store,
    name,
    once,
    logger,
    ...options.retention,
    ...identity,
    // A worker with `--once` ends after one task, so it does not announce itself.
    announces: options.announce && !once,
    ...present({ concurrency: options.concurrency, prefetch: options.prefetch }),
    ...(idleTimeout !== undefined && { idleTimeoutMs: idleTimeout * 1000 }),
  });
  await peers.start(hosting.engine);
  await using inspected =
    port !== null && options.inspect === true
      ? await openWorkerInspector(agent, { hosting, store, peers, port }, options.inspectToken)
      : undefined;
  options.onStarted(hosting);
  const topic = topics.task(hosting.name);
  const urls = urlsOf(port, inspected?.link);
  if (once) console.error(`Waiting for one task of "${hosting.name}" on ${topic}${urls}`);
  else console.log(`Working as "${hosting.name}" on ${topic}${urls}\nStop:   Ctrl+C`);
  if (options.open && inspected !== undefined) openPage(inspected.link);
  const isStopped = await Promise.race([
    untilSignal(options.configuration).then(() => true),
    hosting.finished.then(() => false),
  ]);
  if (isStopped) {
    console.error('Stopping: waiting for running turns.');
    await inspected?.[Symbol.asyncDispose]();
    await hosting.close({ graceMs });
  }
  return await hosting.finished;
}

/** The lines of the greeting with the URLs of the port. */
function urlsOf(port: WorkerPort | null, inspector: string | undefined): string {
  if (port === null) return '';
  return [
    `\nProbes: ${port.url}/health, /ready`,
    ...(port.metricsPath === undefined ? [] : [`Metrics: ${port.url}${port.metricsPath}`]),
    ...(inspector === undefined ? [] : [`Inspector: ${inspector}`]),
  ].join('\n');
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
