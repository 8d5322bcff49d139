import { existsSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import type { Bus, BusIdentity, LateBus, BusOptions as TransportOptions } from '../bus/index.ts';
import { formatProblem, present, type Problem } from '../config/index.ts';
import { serverOptionsOf } from '../http/index.ts';
import { openStore, type Store, type StoreOptions, storeOptionsOf } from '../store/index.ts';
import {
  type Logger,
  startTelemetry,
  type Telemetry,
  telemetryOptionsOf,
} from '../telemetry/index.ts';
import { waitAtMost } from '../time/index.ts';
import { type BusOptions, defaultStore } from './commands/options.ts';
import { readSections, type Sections } from './endpoints-file.ts';
import { Progress } from './progress.ts';
import { usage } from './usage.ts';

/** The settings for the bus, peers, the store and telemetry, from endpoints.yml and the command line. */
export interface Endpoints extends Sections {
  readonly directory: string;
}

interface ReadOptions extends BusOptions {
  /** For agents that are not on the bus, unless they have peers. @default false */
  readonly ignoresBus?: boolean;
  /**
   * Whether an agent in code, or a gateway, is served by this file: all its keys are checked.
   * @default false: only the sections that are read are
   */
  readonly serves?: boolean;
}

/** Reads the endpoints.yml of a folder, or the given file. Ignores other sections. Throws for errors. */
export async function readEndpoints(directory: string, options: ReadOptions): Promise<Endpoints> {
  const { errors, ...endpoints } = await examineEndpoints(directory, options);
  if (errors.length > 0) throw usage(errors.map(formatProblem).join('\n'));
  return endpoints;
}

/** As `readEndpoints`: what could be read, and the errors. */
export async function examineEndpoints(
  directory: string,
  { endpoints, busUrl, ignoresBus = false, serves = false }: ReadOptions,
): Promise<Endpoints & { readonly errors: readonly Problem[] }> {
  const standard = join(directory, 'endpoints.yml');
  const file = endpoints ?? (existsSync(standard) ? standard : undefined);
  const { bus, ...sections } =
    file === undefined ? { errors: [] } : await readSections(file, { ignoresBus, serves });
  const url = busUrl ?? (bus === undefined ? process.env['AMQP_URL'] : undefined);
  const isGiven = url !== undefined && url !== '';
  return {
    directory,
    ...present({ file }),
    ...sections,
    bus: isGiven ? { ...bus, type: 'rabbitmq', url } : bus,
  };
}

interface OpenBusOptions {
  readonly logger: Logger;
  /** No other process has to reach the bus. @default false */
  readonly allowsMemory?: boolean;
  /** Who connects, for the listings of the broker: name and role. */
  readonly connectionName?: string | undefined;
  /** How long to wait for a broker that is not up yet, in seconds. @default 10, or that of the file */
  readonly connectTimeout?: number | undefined;
}

/** Opens the bus. A bus in memory is allowed only when no other process has to reach it. */
export async function openConfiguredBus(
  endpoints: Endpoints,
  options: OpenBusOptions,
): Promise<Bus> {
  // Loaded on demand: agents that are not on the bus do not need it.
  const { openBus } = await import('../bus/index.ts');
  using progress = new Progress('Connecting to the message broker');
  const bus = await configuredBus(endpoints, options, { progress });
  return openBus(bus);
}

/** A broker that is up is waited for this long, in milliseconds. */
const headStartMs = 2_000;

/**
 * As `openConfiguredBus`, without waiting for a broker that is not up yet. Attempts to connect continue until the
 * bus is closed, unless a time limit is configured.
 */
export async function openConfiguredBusLater(
  endpoints: Endpoints,
  options: OpenBusOptions,
): Promise<LateBus> {
  const { LateBus } = await import('../bus/index.ts');
  const waiting = Promise.withResolvers<void>();
  const bus = await configuredBus(endpoints, options, { onWait: waiting.resolve });
  const late = new LateBus(bus.type === 'memory' ? bus : { connectTimeoutMs: Infinity, ...bus });
  await waitAtMost(headStartMs, Promise.race([late.opened, waiting.promise]));
  return late;
}

async function configuredBus(
  { bus, directory }: Endpoints,
  { logger, allowsMemory = false, connectionName, connectTimeout }: OpenBusOptions,
  { progress, onWait }: { readonly progress?: Progress; readonly onWait?: () => void },
): Promise<TransportOptions> {
  if (bus === undefined) {
    throw usage(
      'which bus? Set --bus-url amqp://host, or AMQP_URL, or in endpoints.yml ' +
        'bus: {type: rabbitmq, url: ${AMQP_URL}}',
    );
  }
  const { readBusOptions } = await import('../bus/index.ts');
  const options = readBusOptions(bus, { directory, logger });
  if (options.type === 'memory') {
    if (allowsMemory) return { ...options, logger };
    throw usage(
      'bus.type: a bus in memory works only within one process; use rabbitmq here, or ' +
        '"legate gateway --work", which hosts agents in one process',
    );
  }
  let waits = 0;
  return {
    ...present({ connectionName }),
    ...options,
    ...(connectTimeout !== undefined && { connectTimeoutMs: connectTimeout * 1000 }),
    logger,
    onWait({ message: reason }) {
      onWait?.();
      // On a terminal the line of the progress says the rest.
      if (waits === 0 || progress === undefined || !process.stderr.isTTY) {
        logger.warn({ reason }, 'bus.connection.waiting');
      }
      waits += 1;
      progress?.say(`Waiting for the message broker (${reason})`);
    },
  };
}

export async function busIdentity(
  { bus, directory }: Endpoints,
  issuer: string,
): Promise<BusIdentity> {
  const { readBusIdentity } = await import('../bus/index.ts');
  return readBusIdentity(bus ?? {}, { directory, issuer });
}

/** Turns on the configured `telemetry:` until the process ends. */
export async function startConfiguredTelemetry(
  { telemetry }: Endpoints,
  serviceName: string,
  logger: Logger,
): Promise<Telemetry | null> {
  if (telemetry === undefined) return null;
  return startTelemetry({ serviceName, logger, ...telemetryOptionsOf(telemetry) });
}

/**
 * How agents in code and gateways are served: `a2a_server:` and `push:` of endpoints.yml. Logs keys
 * without effect.
 */
export function configuredServer(
  { server, push, directory, warnings = [] }: Endpoints,
  logger: Logger,
): ReturnType<typeof serverOptionsOf> {
  for (const problem of warnings) logger.warn({ problem }, 'project.warning');
  return serverOptionsOf(server, { push, directory, logger });
}

/** The store of the command line, else of endpoints.yml, else `standard` beside the project. */
export function configuredStore(
  { store, directory }: Endpoints,
  given?: string,
  standard = join('.legate', 'store.db'),
): StoreOptions {
  if (given !== undefined) return namedStore(given);
  if (store !== undefined) return storeOptionsOf(store, directory);
  return { type: 'sqlite', path: resolve(directory, standard) };
}

type DurableStore = Exclude<StoreOptions, { type: 'memory' }>;

/** A file, or the URL of a database. */
function namedStore(name: string): DurableStore {
  return /^postgres(?:ql)?:\/\//.test(name)
    ? { type: 'postgres', url: name }
    : { type: 'sqlite', path: resolve(name) };
}

/** The flag with which commands such as `legate trust` open a store; empty where they need none. */
export function storeFlag(storage: StoreOptions): string {
  if (storage.type === 'memory') return '';
  const standard = namedStore(process.env['LEGATE_STORE'] ?? defaultStore);
  if (storage.type === 'sqlite') {
    const path = resolve(storage.path);
    if (standard.type === 'sqlite' && standard.path === path) return '';
    return ` --store ${shellWord(shortPath(path))}`;
  }
  const { url } = storage;
  if (standard.type === 'postgres' && standard.url === url) return '';
  const shown = new URL(url);
  if (shown.password === '') return ` --store ${shellWord(url)}`;
  shown.password = '';
  return ` --store ${shellWord(shown.href)}   (with its password in PGPASSWORD)`;
}

/** Relative to the current folder, for files in it. */
function shortPath(path: string): string {
  const near = relative('', path);
  return near.startsWith('..') ? path : near;
}

function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/**
 * The store that commands on an existing one open: of the command line, else of the endpoints.yml in this
 * folder, else `.legate/store.db`, or the only one beside it, which has the name of its agent.
 */
export async function storeHere(given?: string): Promise<DurableStore> {
  if (given !== undefined) return namedStore(given);
  const endpoints = await examineEndpoints('.', { ignoresBus: true });
  const errors = endpoints.errors.filter(({ path }) => /^(?:$|store\b)/.test(path));
  if (errors.length > 0) throw usage(errors.map(formatProblem).join('\n'));
  const configured = configuredStore(endpoints, undefined, defaultStore);
  if (configured.type === 'memory') {
    throw usage('store.type: a store in memory ends with its server; set --store or LEGATE_STORE');
  }
  if (endpoints.store !== undefined || configured.type !== 'sqlite') return configured;
  if (existsSync(configured.path)) return configured;
  const found = await Array.fromAsync(glob('.legate/*.db'));
  const [only] = found;
  return only !== undefined && found.length === 1 ? namedStore(only) : configured;
}

/** Opens a store that an agent may have open, too. */
export async function inStore(
  given: string | undefined,
  action: (store: Store) => Promise<void>,
): Promise<void> {
  const named = await storeHere(given);
  if (named.type === 'sqlite' && !existsSync(named.path)) {
    const found = await Array.fromAsync(glob('.legate/*.db'));
    const known = found.length === 0 ? 'the store of the agent' : found.toSorted().join(' or ');
    const name = shortPath(named.path);
    throw usage(`there is no store ${name}; set --store or LEGATE_STORE to ${known}`);
  }
  using _progress = new Progress('Opening the store');
  const store = await openStore(
    named.type === 'sqlite' ? { ...named, guest: true } : { ...named, migrates: false },
  );
  try {
    await action(store);
  } finally {
    await store.close();
  }
}
