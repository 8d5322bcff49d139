import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Agent } from '../agents/index.ts';
import { Authenticator, bearerTokenVerifier } from '../auth/index.ts';
import { serve, type ServeOptions, type Serving, telemetryOf } from '../http/index.ts';
import { type StoreOptions, storeOptionsOf } from '../store/index.ts';
import { retentionOf } from '../tasks/index.ts';
import { loadAgent } from './load-agent.ts';
import { createLogger } from './logger.ts';
import type { LogLevel } from './commands/options.ts';

export interface ServeModuleOptions extends Pick<
  ServeOptions,
  | 'port'
  | 'host'
  | 'tls'
  | 'cors'
  | 'inspect'
  | 'noticeMs'
  | 'drainMs'
  | 'dangerouslyAllowUnauthenticatedRemote'
> {
  /** Bearer token that callers must show. @default nobody is asked */
  readonly token?: string;
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

/** Serves an agent; where there is a token, to those who have it. */
export async function serveAgent(
  agent: Agent,
  options: Omit<ServeModuleOptions, 'logLevel' | 'endpoints'> & ServeOptions,
): Promise<ServedModule> {
  const { token, ...listening } = options;
  const serving = await serve(agent, {
    ...listening,
    ...(token !== undefined && { auth: bearerAuth(token) }),
  });
  return { agent, serving, [Symbol.asyncDispose]: () => serving.close() };
}

function bearerAuth(token: string): Authenticator {
  const tokens = [{ token, subject: 'operator', scopes: ['inspect'] }];
  return new Authenticator({ verifiers: [bearerTokenVerifier({ tokens })] });
}
