import { dirname, join } from 'node:path';
import { z } from 'zod';
import {
  apiKeyVerifier,
  Authenticator,
  bearerTokenVerifier,
  jwtVerifier,
  type Verifier,
} from '../auth/index.ts';
import { type Bus, gateway, hostOnBus } from '../bus/index.ts';
import { present } from '../config/index.ts';
import { telemetryOf } from '../http/index.ts';
import { parseJson } from '../protocol/index.ts';
import { type UrlPolicy, sealedPolicy } from '../push/index.ts';
import type { StoreOptions } from '../store/index.ts';
import { retentionOf } from '../tasks/index.ts';
import type { Logger } from '../telemetry/index.ts';
import {
  type Endpoints,
  busIdentity,
  openConfiguredBus,
  readEndpoints,
  configuredStore,
  startConfiguredTelemetry,
} from './endpoints.ts';
import type { GatewayCommandOptions } from './commands/workers.ts';
import { loadAgent } from './load-agent.ts';
import { createLogger } from './logger.ts';
import { checkListenFlags, listenOptions } from './serving.ts';
import { untilSignal } from './signals.ts';
import { readNamedFile, usage } from './usage.ts';

/** Serves agents of the bus over HTTP until the process is stopped. */
export async function serveGateway(
  agents: readonly string[],
  options: GatewayCommandOptions,
): Promise<void> {
  const logger = createLogger(options.logLevel);
  const [first = '', ...others] = agents;
  const verifiers = await verifiersOf(options);
  checkListenFlags(options, verifiers.length > 0);
  const endpoints = await readEndpoints('.', options);
  const store = configuredStore(endpoints, options.store, join('.legate', 'gateway.db'));
  const identity = await busIdentity(endpoints, options.name);
  // Before anything records metrics.
  await using _telemetry = await startConfiguredTelemetry(endpoints, options.name, logger);
  const { work: hosted = [], requestsPerSecond, concurrentRequests, openStreams } = options;
  const policy = options.pushHosts && pushPolicy(options.pushHosts);
  const hosts = policy?.allowedNames ?? [];
  if (hosts.length > 0) logger.info({ audit: 'action', hosts }, 'audit.push.hosts_opened');
  await using bus = await openConfiguredBus(endpoints, { logger, allowsMemory: hosted.length > 0 });
  await using _workers = await hostAll(hosted, { bus, endpoints, store, logger });
  await using serving = await gateway({
    bus,
    agents: [first, ...others],
    name: options.name,
    ...identity,
    store,
    ...retentionOf(endpoints.store),
    logger,
    ...telemetryOf(endpoints.telemetry, options.name),
    ...listenOptions(options),
    ...(options.url !== undefined && { url: options.url.replace(/\/+$/, '') }),
    // Only authenticated callers can ask for their extended card.
    ...(verifiers.length > 0 && {
      auth: new Authenticator({ verifiers, logger }),
      extendedCard: true as const,
    }),
    protectsCard: options.protectCard === true,
    callerLimits: {
      // Limits guesses of tokens from the start.
      failuresPerMinute: 60,
      ...present({ requestsPerSecond, concurrentRequests, openStreams }),
    },
    ...(policy !== undefined && { push: { policy, resolveAtRegistration: true } }),
  });
  const lines = agents.map((name) => `  ${name}  ${serving.url}/agents/${name}`);
  console.log(
    [`Serving agents on RabbitMQ at ${serving.url}`, ...lines, 'Stop: Ctrl+C'].join('\n'),
  );
  await untilSignal();
  console.error('Stopping: waiting for running turns.');
}

interface HostContext {
  readonly bus: Bus;
  readonly endpoints: Endpoints;
  readonly store: StoreOptions;
  readonly logger: Logger;
}

/** Starts the workers in order; disposing stops them in reverse order. */
async function hostAll(workers: readonly string[], from: HostContext): Promise<AsyncDisposable> {
  const hosts: AsyncDisposable[] = [];
  const stop = async (): Promise<void> => {
    for (const host of hosts.toReversed()) await host[Symbol.asyncDispose]();
  };
  try {
    for (const worker of workers) hosts.push(await hostHere(worker, from));
  } catch (error) {
    await stop();
    throw error;
  }
  return { [Symbol.asyncDispose]: stop };
}

async function hostHere(worker: string, from: HostContext): Promise<AsyncDisposable> {
  const { bus, endpoints, store, logger } = from;
  const { agent } = await loadAgent(worker, { logger });
  return hostOnBus(agent, {
    bus,
    logger,
    ...retentionOf(endpoints.store),
    ...(await busIdentity(endpoints, agent.name)),
    // Only one process can own a SQLite file; databases can be shared.
    store:
      store.type === 'sqlite'
        ? { type: 'sqlite', path: join(dirname(store.path), `work-${agent.name}.db`) }
        : store,
  });
}

async function verifiersOf(options: GatewayCommandOptions): Promise<readonly Verifier[]> {
  const { authToken, apiKeys, jwtSecret, jwksUrl, jwtIssuer, jwtAudience } = options;
  const verifiers: Verifier[] = [];
  if (authToken !== undefined) {
    verifiers.push(bearerTokenVerifier({ tokens: [{ token: authToken, subject: 'token' }] }));
  }
  if (apiKeys !== undefined) verifiers.push(apiKeyVerifier({ keys: await readKeys(apiKeys) }));
  if (jwtSecret !== undefined || jwksUrl !== undefined) {
    verifiers.push(
      await jwtVerifier({
        keys: jwtSecret === undefined ? { jwksUrl: jwksUrl ?? '' } : { secret: jwtSecret },
        algorithms: [options.jwtMethod ?? (jwtSecret === undefined ? 'RS256' : 'HS256')],
        ...present({ issuer: jwtIssuer, audience: jwtAudience }),
      }),
    );
  }
  return verifiers;
}

const keyFile = z
  .array(z.strictObject({ subject: z.string(), key: z.string(), tenant: z.string().optional() }))
  .min(1)
  .max(10_000);

/** Reports the path of the mistake, and never the content of the file. */
async function readKeys(file: string) {
  const text = await readNamedFile(file, '--api-keys');
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    throw usage(`--api-keys: ${file} is not JSON`);
  }
  const parsed = keyFile.safeParse(value);
  if (!parsed.success) {
    const where = parsed.error.issues[0]?.path.join('.') ?? '';
    throw usage(`--api-keys: ${file} ${where}: write [{"subject": "bob", "key": "..."}]`);
  }
  return parsed.data.map((key) => present(key));
}

/** A host as URLs name it. */
const hostPattern = /^(?:[\w-]+(?:\.[\w-]+)*|\[[\da-f:.]+\])$/i;

/**
 * The hosts that the operator lists, by exact name and regardless of their addresses: in a cluster,
 * webhooks have private addresses. `*` adds every public host.
 */
export function pushPolicy(hosts: readonly string[]): UrlPolicy {
  const allowedNames = hosts
    .filter((host) => host !== '*')
    .map((host) => {
      if (hostPattern.test(host)) return new URL(`http://${host}`).hostname;
      throw usage(`--push-hosts ${host}: write host names, without scheme, port or path`);
    });
  const isPublic = hosts.includes('*');
  return { ...sealedPolicy, allowedNames, ...(!isPublic && { allowedHosts: [] }) };
}
