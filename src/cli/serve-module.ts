import { basename, join } from 'node:path';
import type { Agent } from '../agents/index.ts';
import { Authenticator, bearerTokenVerifier } from '../auth/index.ts';
import {
  inspectorDoor,
  type InspectorOptions,
  serve,
  type ServeOptions,
  type Serving,
} from '../http/index.ts';
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
  readonly logLevel: LogLevel;
}

/** A served agent, with the place where its tasks are kept. */
export interface ServedModule extends AsyncDisposable {
  readonly agent: Agent;
  readonly serving: Serving;
  /** The file of its store; undefined where it is kept in memory. */
  readonly file?: string;
}

/** Serves the agent that a module exports; its tasks are kept beside it. */
export async function serveModule(
  place: string,
  options: ServeModuleOptions,
): Promise<ServedModule> {
  const logger = createLogger(options.logLevel);
  const { agent, directory } = await loadAgent(place, { logger });
  const file = join(directory, '.legate', `${basename(agent.name)}.db`);
  const served = await serveAgent(agent, {
    ...options,
    logger,
    store: { type: 'sqlite', path: file },
  });
  return { ...served, file };
}

/** Serves an agent, and the inspector beside it where that is wanted. */
export async function serveAgent(
  agent: Agent,
  options: Omit<ServeModuleOptions, 'logLevel'> & Pick<ServeOptions, 'logger' | 'store'>,
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
