import { dirname, join } from 'node:path';
import {
  apiKeyVerifier,
  bearerTokenVerifier,
  jwtVerifier,
  openAuth,
  type Verifier,
} from '../auth/index.ts';
import { type Bus, gateway, hostOnBus } from '../bus/index.ts';
import { present } from '../config/index.ts';
import { telemetryOf } from '../http/index.ts';
import { type UrlPolicy, publicPolicy } from '../push/index.ts';
import { Opened } from '../service/index.ts';
import { openStore, type StoreOptions } from '../store/index.ts';
import { retentionOf } from '../tasks/index.ts';
import type { Logger } from '../telemetry/index.ts';
import {
  type Endpoints,
  busIdentity,
  openConfiguredBusLater,
  readEndpoints,
  configuredServer,
  configuredStore,
  startConfiguredTelemetry,
} from './endpoints.ts';
import type { GatewayCommandOptions } from './commands/workers.ts';
import { loadAgent, type LoadedAgent } from './load-agent.ts';
import { createLogger } from './logger.ts';
import { type CallerAccess, exampleRequests } from './example-requests.ts';
import { openCommandPeers } from './peers.ts';
import { privateAuthority } from './private-ca.ts';
import { openPage } from './open-page.ts';
import { checkListenFlags, inspectorOptions, listenOptions } from './serving.ts';
import { ignoreHangup, untilSignal } from './signals.ts';
import { usage } from './usage.ts';

/** Serves agents of the bus over HTTP until the process is stopped. */
export async function serveGateway(
  agents: readonly string[],
  options: GatewayCommandOptions,
): Promise<void> {
  ignoreHangup();
  const logger = createLogger(options.logLevel);
  const [first = '', ...others] = agents;
  const endpoints = await readEndpoints('.', { ...options, serves: true });
  const auth = await openAuth(endpoints.server?.auth, {
    directory: endpoints.directory,
    hasClientCertificates: options.sslCaFile !== undefined,
    more: await verifiersOf(options, logger),
    logger,
  });
  checkListenFlags(options, auth !== undefined);
  const store = configuredStore(endpoints, options.store, join('.legate', 'gateway.db'));
  const identity = await busIdentity(endpoints, options.name);
  // Starts before other components record metrics.
  await using _telemetry = await startConfiguredTelemetry(endpoints, options.name, logger);
  const { work: hosted = [], requestsPerSecond, concurrentRequests, openStreams } = options;
  const policy = options.pushHosts && pushPolicy(options.pushHosts);
  const configured = configuredServer(endpoints, logger);
  const push =
    policy === undefined
      ? configured.push
      : { ...configured.push, policy, resolveAtRegistration: true };
  const hosts = push?.policy?.allowedNames ?? [];
  if (hosts.length > 0) logger.info({ audit: 'action', hosts }, 'audit.push.hosts_opened');
  await using bus = await openConfiguredBusLater(endpoints, {
    logger,
    allowsMemory: hosted.length > 0,
    connectionName: `${options.name} gateway`,
    connectTimeout: options.connectTimeout,
  });
  const workers = await loadAll(hosted, logger);
  if (workers.length > 0) await bus.opened;
  await using _workers = await hostAll(workers, { bus, endpoints, store, logger });
  await using serving = await gateway({
    bus,
    agents: [first, ...others],
    name: options.name,
    ...identity,
    store,
    ...retentionOf(endpoints.store),
    logger,
    ...telemetryOf(endpoints.telemetry, options.name),
    ...configured,
    ...listenOptions(options),
    ...present({ url: options.url }),
    // Only authenticated callers can ask for their extended card.
    ...(auth !== undefined && { auth, extendedCard: true as const }),
    protectsCard: options.protectCard === true,
    ...(options.inspect === true && { inspect: inspectorOptions(options) }),
    ...present({ compatibility: options.compatibility }),
    callerLimits: {
      // Limits guesses of tokens from the start.
      failuresPerMinute: 60,
      ...present({ requestsPerSecond, concurrentRequests, openStreams }),
    },
    ...present({ push }),
  });
  const lines = agents.map((name) => `  ${name}  ${serving.url}/agents/${name}`);
  const [{ command }] = exampleRequests(`${serving.url}/agents/${first}`, {
    text: 'hello',
    hasCard: true,
    hasChannel: false,
    access: accessOf(options, endpoints),
  });
  console.log(
    [
      `Serving agents on RabbitMQ at ${serving.url}`,
      ...lines,
      ...(serving.inspectorUrl === undefined ? [] : [`Inspector: ${serving.inspectorUrl}`]),
      `Try it: ${command}`,
      'Stop: Ctrl+C',
    ].join('\n'),
  );
  if (options.open && serving.inspectorUrl !== undefined) openPage(serving.inspectorUrl);
  const stopped = untilSignal([
    endpoints.file ?? 'endpoints.yml',
    ...workers.flatMap(({ files, directory }) => [...files, join(directory, 'endpoints.yml')]),
  ]);
  // A broker that refuses the connection ends the process; a broker that is not up yet does not.
  await Promise.race([stopped, bus.opened.then(() => stopped)]);
  console.error('Stopping: waiting for running turns.');
}

interface HostContext {
  readonly bus: Bus;
  readonly endpoints: Endpoints;
  readonly store: StoreOptions;
  readonly logger: Logger;
}

async function loadAll(
  sources: readonly string[],
  logger: Logger,
): Promise<readonly LoadedAgent[]> {
  const loaded: LoadedAgent[] = [];
  for (const source of sources) loaded.push(await loadAgent(source, { logger }));
  return loaded;
}

/** Starts the workers in order; disposing stops them in reverse order. */
async function hostAll(
  workers: readonly LoadedAgent[],
  from: HostContext,
): Promise<AsyncDisposable> {
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

async function hostHere(
  { agent, directory, usePeers }: LoadedAgent,
  from: HostContext,
): Promise<AsyncDisposable> {
  const { bus, logger } = from;
  const { name } = agent;
  const endpoints = await workerEndpoints(directory, from.endpoints);
  const identity = await busIdentity(from.endpoints, name);
  // Only one process can own a SQLite file; databases can be shared.
  const storage: StoreOptions =
    from.store.type === 'sqlite'
      ? { type: 'sqlite', path: join(dirname(from.store.path), `work-${name}.db`) }
      : from.store;
  await using opened = new Opened();
  const store = await openStore(storage);
  opened.defer(() => store.close());
  const peers = opened.use(
    await openCommandPeers({ endpoints, name, store, storage, logger, bus, identity }),
  );
  if (peers.network !== undefined) usePeers?.(peers.network);
  const host = opened.use(
    await hostOnBus(peers.wrap(agent), {
      bus,
      logger,
      ...retentionOf(from.endpoints.store),
      ...identity,
      store,
    }),
  );
  await peers.start(host.engine);
  return opened.move();
}

/** The peers of a worker come from the endpoints.yml in its folder, else from the gateway's endpoints.yml. */
async function workerEndpoints(directory: string, gateway: Endpoints): Promise<Endpoints> {
  const { peers } = await readEndpoints(directory, { ignoresBus: true });
  return peers === undefined ? gateway : { ...gateway, directory, peers };
}

/** The credentials of callers, for the example request. */
function accessOf(options: GatewayCommandOptions, { server }: Endpoints): CallerAccess {
  const { authToken, jwtSecret, jwksUrl, apiKeys, sslCaFile, sslCertificate } = options;
  const auth = server?.auth;
  return {
    token: authToken ?? jwtSecret ?? jwksUrl,
    auth: apiKeys === undefined ? auth : { ...auth, apiKeysPath: apiKeys },
    hasClientCertificates: sslCaFile !== undefined,
    ca: privateAuthority(sslCertificate),
  };
}

async function verifiersOf(
  options: GatewayCommandOptions,
  logger: Logger,
): Promise<readonly Verifier[]> {
  const { authToken, apiKeys, jwtSecret, jwksUrl, jwtIssuer, jwtAudience } = options;
  const verifiers: Verifier[] = [];
  if (authToken !== undefined) {
    verifiers.push(bearerTokenVerifier({ tokens: [{ token: authToken, subject: 'token' }] }));
  }
  if (apiKeys !== undefined) verifiers.push(apiKeyVerifier({ file: apiKeys, logger }));
  if (jwtSecret !== undefined || jwksUrl !== undefined) {
    verifiers.push(
      await jwtVerifier({
        keys: jwtSecret === undefined ? { jwksUrl: jwksUrl ?? '' } : { secret: jwtSecret },
        algorithms: [options.jwtMethod ?? (jwtSecret === undefined ? 'RS256' : 'HS256')],
        ...present({ issuer: jwtIssuer, audience: jwtAudience }),
        logger,
      }),
    );
  }
  return verifiers;
}

/** A host name or a bracketed IPv6 address. */
const hostPattern = /^(?:[\w-]+(?:\.[\w-]+)*|\[[\da-f:.]+\])$/i;

/**
 * Allows the hosts that the operator lists, by exact name and regardless of their addresses, because webhooks
 * in a cluster have private addresses. `*` adds all public hosts.
 */
export function pushPolicy(hosts: readonly string[]): UrlPolicy {
  const allowedNames = hosts
    .filter((host) => host !== '*')
    .map((host) => {
      if (hostPattern.test(host)) return new URL(`http://${host}`).hostname;
      throw usage(`--push-hosts ${host}: write host names, without scheme, port or path`);
    });
  const isPublic = hosts.includes('*');
  return { ...publicPolicy, allowedNames, ...(!isPublic && { allowedHosts: [] }) };
}
