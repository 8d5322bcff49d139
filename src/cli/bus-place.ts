import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import {
  type Bus,
  type BusIdentity,
  openBus,
  readBusIdentity,
  readBusOptions,
} from '../bus/index.ts';
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
import { type StoreOptions, storeOptionsOf } from '../store/index.ts';
import {
  type Logger,
  startTelemetry,
  type Telemetry,
  telemetryOptionsOf,
} from '../telemetry/index.ts';
import type { BusPlaceOptions } from './commands/options.ts';
import { namedStore } from './stores.ts';
import { readNamedFile, usage } from './usage.ts';

/** The settings for the bus, the store and telemetry, from endpoints.yml and the command line. */
export interface BusPlace {
  readonly directory: string;
  /** The section `bus`, with the address filled in; undefined when no bus is configured. */
  readonly bus: JsonObject | undefined;
  /** The section `store`. */
  readonly store: StoreSettings | undefined;
  /** The section `telemetry`. */
  readonly telemetry: TelemetrySettings | undefined;
}

/** Reads the endpoints.yml of a folder, or the given file. Ignores other sections. */
export async function readBusPlace(
  directory: string,
  { endpoints, busUrl }: BusPlaceOptions,
): Promise<BusPlace> {
  const usual = join(directory, 'endpoints.yml');
  const file = endpoints ?? (existsSync(usual) ? usual : undefined);
  const { bus, store, telemetry } = file === undefined ? {} : await readSections(file);
  const url = busUrl ?? (bus === undefined ? process.env['AMQP_URL'] : undefined);
  const isGiven = url !== undefined && url !== '';
  return { directory, store, telemetry, bus: isGiven ? { ...bus, type: 'rabbitmq', url } : bus };
}

/** Opens the bus. A bus in memory is allowed only when no other process has to reach it. */
export async function openBusAt(
  { bus }: BusPlace,
  { logger, allowsMemory = false }: { readonly logger: Logger; readonly allowsMemory?: boolean },
): Promise<Bus> {
  if (bus === undefined) {
    throw usage(
      'which bus? Set --bus-url amqp://host, or AMQP_URL, or in endpoints.yml ' +
        'bus: {type: rabbitmq, url: ${AMQP_URL}}',
    );
  }
  const options = readBusOptions(bus);
  if (options.type === 'memory' && !allowsMemory) {
    throw usage(
      'bus.type: a bus in memory works only within one process; use rabbitmq here, or ' +
        '"legate gateway --work", which hosts agents in one process',
    );
  }
  return openBus({ ...options, logger });
}

export function identityAt({ bus, directory }: BusPlace, issuer: string): Promise<BusIdentity> {
  return readBusIdentity(bus ?? {}, { directory, issuer });
}

/** Turns on the configured `telemetry:` until the process ends. */
export async function telemetryAt(
  { telemetry }: BusPlace,
  serviceName: string,
  logger: Logger,
): Promise<Telemetry | undefined> {
  if (telemetry === undefined) return undefined;
  return startTelemetry({ serviceName, logger, ...telemetryOptionsOf(telemetry) });
}

/** The store of the command line, else of endpoints.yml, else the default beside the project. */
export function storeAt(
  { store, directory }: BusPlace,
  given: string | undefined,
  /** The default file of the store. */
  usual?: string,
): StoreOptions {
  if (given !== undefined) return namedStore(given);
  if (store === undefined && usual !== undefined) {
    return { type: 'sqlite', path: resolve(directory, usual) };
  }
  return storeOptionsOf(store, directory);
}

/** Reads `store` and `telemetry` for agents that are not on the bus, and ignores the section `bus`. */
export async function readStoreAndTelemetry(
  file: string,
): Promise<Pick<BusPlace, 'store' | 'telemetry'>> {
  const { store, telemetry } = await readFileFor(file, /^(?:$|store\b|telemetry\b)/);
  return { store, telemetry };
}

async function readSections(file: string): Promise<Pick<BusPlace, 'bus' | 'store' | 'telemetry'>> {
  const read = await readFileFor(file, /^(?:$|bus\b|store\b|telemetry\b)/);
  const { bus } = (read.yaml.value ?? {}) as { bus?: unknown };
  refuseWrittenPassword(read.yaml, bus);
  return { bus: isJsonObject(bus) ? bus : undefined, store: read.store, telemetry: read.telemetry };
}

/** Reports only the mistakes whose path matches the pattern. */
async function readFileFor(
  file: string,
  concern: RegExp,
): Promise<Pick<BusPlace, 'store' | 'telemetry'> & { readonly yaml: YamlFile }> {
  const text = await readNamedFile(file);
  const problems = new Problems();
  const yaml = YamlFile.parse({ file, text }, problems, { environment: process.env });
  const root = yaml.value === null ? undefined : Field.root(yaml, problems).section();
  const asked = { store: root?.section('store'), telemetry: root?.section('telemetry') };
  const store = asked.store && readStore(asked.store);
  const telemetry = asked.telemetry && readTelemetry(asked.telemetry);
  const ours = problems.errors.filter(({ path }) => concern.test(path));
  if (ours.length > 0) throw usage(ours.map(formatProblem).join('\n'));
  return { store, telemetry, yaml };
}

/** Refuses an address with a password: secrets belong in the environment. */
function refuseWrittenPassword(yaml: YamlFile, bus: unknown): void {
  const url = isJsonObject(bus) ? bus['url'] : undefined;
  const path = ['bus', 'url'];
  const isSecret = typeof url === 'string' && /:\/\/[^/@]*:[^/@]+@/.test(url);
  if (!isSecret || yaml.isInterpolated(path)) return;
  const { file, line, column } = yaml.at(path);
  throw usage(
    `${file}:${line}:${column} bus.url: don't write secrets into files; write "\${AMQP_URL}"`,
  );
}
