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
  /** Ignores the bus unless the agent has peers. @default false */
  readonly ignoresBus?: boolean;
  /**
   * Whether the file configures a server of an agent in code, or a gateway. All its keys are then checked.
   * @default false: checks only the sections that are read
   */
  readonly serves?: boolean;
}

/** Reads the endpoints.yml of a folder, or the given file. Ignores other sections. Throws for errors. */
export async function readEndpoints(directory: string, options: ReadOptions): Promise<Endpoints> {
  const { errors, ...endpoints } = await examineEndpoints(directory, options);
  if (errors.length > 0) throw usage(errors.map(formatProblem).join('\n'));
  return endpoints;
}

/** Like `readEndpoints`, but returns the valid sections and the errors. */
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
  /** Allows a bus in memory, which only this process can use. @default false */
  readonly allowsMemory?: boolean;
  /** The name and the role of this process, as the broker lists the connection. */
  readonly connectionName?: string | undefined;
  /** How long to wait for a broker that is not up yet, in seconds. @default the value of the file, or 10 */
  readonly connectTimeout?: number | undefined;
}

/** Opens the bus. A bus in memory is refused unless `allowsMemory` is set. */
export async function openConfiguredBus(
  endpoints: Endpoints,
  options: OpenBusOptions,
): Promise<Bus> {
  // Loaded on demand: agents that are not on the bus do not need it.
  const { openBus } = await import('../bus/index.ts');
  using progress = new Progress('Connecting to the message broker');
  const bus = await configuredBus(endpoints, options, { progress });
  return await openBus(bus);
}

/** How long to wait for a broker that is up, in milliseconds. */
const headStartMs = 2_000;

/**
 * Like `openConfiguredBus`, without waiting for a broker that is not up yet. Connection attempts continue
 * until the bus is closed, unless a time limit is configured.
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
      // On a terminal, the progress line shows later attempts.
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

/** Starts the configured `telemetry:`; null if none is configured. */
export async function startConfiguredTelemetry(
  { telemetry }: Endpoints,
  serviceName: string,
  logger: Logger,
): Promise<Telemetry | null> {
  if (telemetry === undefined) return null;
  return startTelemetry({ serviceName, logger, ...telemetryOptionsOf(telemetry) });
}

/**
 * The server options of agents in code and gateways, from `a2a_server:` and `push:` of endpoints.yml. Logs
 * keys without effect.
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

/** Parses the path of a SQLite file, or a PostgreSQL URL. */
function namedStore(name: string): DurableStore {
  return /^postgres(?:ql)?:\/\//.test(name)
    ? { type: 'postgres', url: name }
    : { type: 'sqlite', path: resolve(name) };
}

/** The `--store` flag for commands such as `legate trust`; empty for the default store. */
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

/** A path in the current folder becomes relative; other paths stay unchanged. */
function shortPath(path: string): string {
  const near = relative('', path);
  return near.startsWith('..') ? path : near;
}

function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/**
 * The existing store that a command opens: from the command line, else from endpoints.yml in this folder,
 * else `.legate/store.db`, else the only other store in `.legate`, which has the name of its agent.
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

/** Opens an existing store that a running agent can have open at the same time, without migrating it. */
export function openAsGuest(storage: DurableStore): Promise<Store> {
  return openStore(
    storage.type === 'sqlite' ? { ...storage, guest: true } : { ...storage, migrates: false },
  );
}

/** Runs an action on an existing store, see `openAsGuest`. */
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
  const store = await openAsGuest(named);
  try {
    await action(store);
  } finally {
    await store.close();
  }
}
