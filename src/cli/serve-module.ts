import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Agent } from '../agents/index.ts';
import { Authenticator, bearerTokenVerifier } from '../auth/index.ts';
import {
  inspectorDoor,
  type InspectorOptions,
  serve,
  type ServeOptions,
  type Serving,
  telemetryOf,
} from '../http/index.ts';
import { type StoreOptions, storeOptionsOf } from '../store/index.ts';
import { retentionOf } from '../tasks/index.ts';
import { loadAgent } from './load-agent.ts';
import { createLogger } from './logger.ts';
import type { LogLevel } from './commands/options.ts';

export interface ServeModuleOptions extends Pick<
  ServeOptions,
  'port' | 'host' | 'tls' | 'cors' | 'dangerouslyAllowUnauthenticatedRemote'
> {
  /** Bearer token that callers must show. @default nobody is asked */
  readonly token?: string;
  /** Shows what goes on, below `/inspect`. @default no */
  readonly inspector?: InspectorOptions;
  /** A file with `store:` and `telemetry:`. @default endpoints.yml beside the module, if there is one */
  readonly endpoints?: string;
  readonly logLevel: LogLevel;
}

/** A served agent, with the place where its tasks are kept. */
export interface ServedModule extends AsyncDisposable {
  readonly agent: Agent;
  readonly serving: Serving;
  /** The file of its store, or the kind of its database; undefined where it is kept in memory. */
  readonly file?: string;
}

/** Serves the agent that a module exports; its tasks are kept beside it, unless endpoints.yml says more. */
export async function serveModule(
  place: string,
  { endpoints, logLevel, ...options }: ServeModuleOptions,
): Promise<ServedModule> {
  const logger = createLogger(logLevel);
  const { agent, directory } = await loadAgent(place, { logger });
  const usual = join(directory, '.legate', `${basename(agent.name)}.db`);
  const said = await readEndpoints(agent.name, directory, endpoints);
  const store = said?.store ?? { type: 'sqlite', path: usual };
  const served = await serveAgent(agent, { ...options, ...said, logger, store });
  if (store.type === 'memory') return served;
  return { ...served, file: store.type === 'sqlite' ? store.path : 'PostgreSQL' };
}

interface SaidByEndpoints extends Omit<ServeOptions, 'store'> {
  readonly store?: StoreOptions;
}

/** What is said beside a module; the rest of the file is for others. */
async function readEndpoints(
  name: string,
  directory: string,
  named: string | undefined,
): Promise<SaidByEndpoints | undefined> {
  const file = named ?? join(directory, 'endpoints.yml');
  if (named === undefined && !existsSync(file)) return undefined;
  const { readStoreAndTelemetry } = await import('./bus-place.ts');
  const { store, telemetry } = await readStoreAndTelemetry(file);
  return {
    ...(store !== undefined && { store: storeOptionsOf(store, directory) }),
    ...retentionOf(store),
    ...telemetryOf(telemetry, name),
  };
}

/** Serves an agent, and the inspector beside it where that is wanted. */
export async function serveAgent(
  agent: Agent,
  options: Omit<ServeModuleOptions, 'logLevel' | 'endpoints'> & ServeOptions,
): Promise<ServedModule> {
  const { token, inspector, ...listening } = options;
  const door = inspector === undefined ? undefined : inspectorDoor(inspector);
  const serving = await serve(agent, {
    ...listening,
    ...(door !== undefined && { before: door.handle }),
    ...(token !== undefined && { auth: bearerAuth(token) }),
  });
  const { service, store, push } = serving.router;
  door?.open({ agents: [{ name: agent.name, service }], store, push });
  return {
    agent,
    serving,
    async [Symbol.asyncDispose]() {
      door?.close();
      await serving.close();
    },
  };
}

function bearerAuth(token: string): Authenticator {
  const tokens = [{ token, subject: 'operator', scopes: ['inspect'] }];
  return new Authenticator({ verifiers: [bearerTokenVerifier({ tokens })] });
}
