import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Bus, BusIdentity } from '../bus/index.ts';
import {
  Field,
  formatProblem,
  Problems,
  readStore,
  readTelemetry,
  type StoreSettings,
  type TelemetrySettings,
  YamlFile,
} from '../config/index.ts';
import { isJsonObject, type JsonObject } from '../protocol/index.ts';
import { openStore, type Store, type StoreOptions, storeOptionsOf } from '../store/index.ts';
import {
  type Logger,
  startTelemetry,
  type Telemetry,
  telemetryOptionsOf,
} from '../telemetry/index.ts';
import type { BusOptions } from './commands/options.ts';
import { Progress } from './progress.ts';
import { readNamedFile, usage } from './usage.ts';

/** The settings for the bus, the store and telemetry, from endpoints.yml and the command line. */
export interface Endpoints extends Sections {
  readonly directory: string;
}

interface Sections {
  /** The section `bus`, with the URL filled in; undefined when no bus is configured. */
  readonly bus?: JsonObject | undefined;
  readonly store?: StoreSettings | undefined;
  readonly telemetry?: TelemetrySettings | undefined;
}

/** Reads the endpoints.yml of a folder, or the given file. Ignores other sections. */
export async function readEndpoints(
  directory: string,
  /** `ignoresBus`: for agents that are not on the bus. */
  { endpoints, busUrl, ignoresBus = false }: BusOptions & { readonly ignoresBus?: boolean },
): Promise<Endpoints> {
  const standard = join(directory, 'endpoints.yml');
  const file = endpoints ?? (existsSync(standard) ? standard : undefined);
  const { bus, ...sections } = file === undefined ? {} : await readSections(file, ignoresBus);
  const url = busUrl ?? (bus === undefined ? process.env['AMQP_URL'] : undefined);
  const isGiven = url !== undefined && url !== '';
  return { directory, ...sections, bus: isGiven ? { ...bus, type: 'rabbitmq', url } : bus };
}

async function readSections(file: string, ignoresBus: boolean): Promise<Sections> {
  const text = await readNamedFile(file);
  const problems = new Problems();
  const yaml = YamlFile.parse({ file, text }, problems, { environment: process.env });
  const root = yaml.value === null ? undefined : Field.root(yaml, problems).section();
  const given = { store: root?.section('store'), telemetry: root?.section('telemetry') };
  const store = given.store && readStore(given.store);
  const telemetry = given.telemetry && readTelemetry(given.telemetry);
  const url = ignoresBus ? undefined : root?.section('bus')?.get('url');
  const hasPassword = typeof url?.value === 'string' && /:\/\/[^/@]*:[^/@]+@/.test(url.value);
  if (hasPassword && !yaml.isInterpolated(['bus', 'url'])) {
    url?.error("don't write secrets into files", 'write "${AMQP_URL}"');
  }
  const read = ignoresBus ? /^(?:$|store\b|telemetry\b)/ : /^(?:$|bus\b|store\b|telemetry\b)/;
  const errors = problems.errors.filter(({ path }) => read.test(path));
  if (errors.length > 0) throw usage(errors.map(formatProblem).join('\n'));
  const bus = isJsonObject(yaml.value) ? yaml.value['bus'] : undefined;
  return { bus: isJsonObject(bus) ? bus : undefined, store, telemetry };
}

/** Opens the bus. A bus in memory is allowed only when no other process has to reach it. */
export async function openConfiguredBus(
  { bus }: Endpoints,
  { logger, allowsMemory = false }: { readonly logger: Logger; readonly allowsMemory?: boolean },
): Promise<Bus> {
  if (bus === undefined) {
    throw usage(
      'which bus? Set --bus-url amqp://host, or AMQP_URL, or in endpoints.yml ' +
        'bus: {type: rabbitmq, url: ${AMQP_URL}}',
    );
  }
  // Loaded on demand: agents that are not on the bus do not need it.
  const { openBus, readBusOptions } = await import('../bus/index.ts');
  const options = readBusOptions(bus);
  if (options.type === 'memory' && !allowsMemory) {
    throw usage(
      'bus.type: a bus in memory works only within one process; use rabbitmq here, or ' +
        '"legate gateway --work", which hosts agents in one process',
    );
  }
  return openBus({ ...options, logger });
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

/** A file, or the URL of a database. */
function namedStore(name: string): Exclude<StoreOptions, { type: 'memory' }> {
  return /^postgres(?:ql)?:\/\//.test(name)
    ? { type: 'postgres', url: name }
    : { type: 'sqlite', path: resolve(name) };
}

/** Opens a store that an agent may have open, too. */
export async function inStore(
  name: string,
  action: (store: Store) => Promise<void>,
): Promise<void> {
  const named = namedStore(name);
  if (named.type === 'sqlite' && !existsSync(named.path)) {
    throw usage(`there is no store ${name}; set --store or LEGATE_STORE to the store of the agent`);
  }
  using progress = new Progress('Opening the store');
  const store = await openStore(
    named.type === 'sqlite' ? { ...named, guest: true } : { ...named, migrates: false },
  );
  progress.clear();
  try {
    await action(store);
  } finally {
    await store.close();
  }
}
