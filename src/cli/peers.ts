import { resolve } from 'node:path';
import type { Agent } from '../agents/index.ts';
import { cardVerifier } from '../auth/index.ts';
import type { Bus, BusIdentity } from '../bus/index.ts';
import { present } from '../config/index.ts';
import type { NetworkProvider } from '../http/index.ts';
import { clientTls } from '../net/index.ts';
import {
  engineConversations,
  type InboundNote,
  inspectedNetwork,
  type OpenedPeers,
  openPeers,
  Proposals,
  readWellKnownAgents,
  TrustLedger,
  trustGate,
  trustName,
  type WellKnownPeer,
  withPeers,
  WorkingMemory,
} from '../peers/index.ts';
import { ownerKey, type Store, type StoreOptions } from '../store/index.ts';
import { type Engine, storeScheduler } from '../tasks/index.ts';
import type { Logger } from '../telemetry/index.ts';
import { type Endpoints, openConfiguredBus, busIdentity, storeFlag } from './endpoints.ts';
import { oneLine } from './print.ts';
import { readNamedFile, usage } from './usage.ts';

export interface PeersOptions {
  readonly endpoints: Endpoints;
  /** The name of the agent. */
  readonly name: string;
  /** The agent's own name, which the inspector uses, if it differs from the name on the bus. @default name */
  readonly agentName?: string;
  /** The command opens the store, and closes it after the peers. */
  readonly store: Store;
  readonly logger: Logger;
  /** The bus of the command and its identity there. @default opened if a peer needs it */
  readonly bus?: Bus;
  readonly identity?: BusIdentity;
  /** Limits callers by their trust level. @default peers.trust */
  readonly trust?: boolean;
  /** The options of the store, for printed commands. */
  readonly storage: StoreOptions;
}

/**
 * The peers of a command, from `peers:` of endpoints.yml. The order is the same for all commands: open the
 * peers, start the engine with the wrapped agent (`wrap`), then call `start`, which processes waiting
 * answers. Close the peers after the turns have ended and before the store.
 */
export interface CommandPeers extends AsyncDisposable {
  readonly network: OpenedPeers | undefined;
  wrap(agent: Agent): Agent;
  start(engine: Engine): Promise<void>;
  /** For the inspector. */
  readonly inspected: NetworkProvider;
}

export async function openCommandPeers(options: PeersOptions): Promise<CommandPeers> {
  const { endpoints, name, agentName = name, store } = options;
  const { peers: settings } = endpoints;
  const { trust = settings?.trust ?? false } = options;
  const gate = (agent: Agent): Agent => (trust ? gated(agent, options) : agent);
  if (settings === undefined) {
    // Not started: only the inspector uses it, to show callers and their trust.
    const stored = await openPeers({ name, store, turnTools: 'none' });
    return {
      network: undefined,
      inspected: inspectedNetwork(stored, { name: agentName }),
      wrap: gate,
      start: async () => undefined,
      [Symbol.asyncDispose]: async () => undefined,
    };
  }
  const wellKnown = await wellKnownPeers(endpoints, options.logger);
  const own = options.bus === undefined ? await openOwnBus(options, wellKnown) : undefined;
  const bus = options.bus ?? own;
  const { questions } = settings;
  let engine: Engine | undefined;
  const conversations = engineConversations({
    answers: questions.answeredBy === 'trusted_agent',
    engine: () => {
      if (engine === undefined) throw new TypeError('the engine is not up yet');
      return engine;
    },
  });
  const network = await openPeers({
    name,
    store,
    wellKnown,
    logger: options.logger,
    discovers: settings.discovery ?? true,
    links: bus === undefined ? [] : [await linkTo(bus, options)],
    conversations,
    ...(settings.tls !== undefined && {
      tls: clientTls(settings.tls, {
        what: 'peers',
        directory: endpoints.directory,
        logger: options.logger,
      }),
    }),
    ...present({
      embeddingModel: endpoints.embeddings,
      turnTools: settings.tools,
      timeoutMs: milliseconds(settings.timeoutSeconds),
      maxInFlight: settings.maxInFlight,
      resultTtlMs: milliseconds(settings.resultTtlSeconds),
      askTimeoutMs: milliseconds(questions.timeoutSeconds),
      maxInputRequiredRounds: questions.maxRounds,
      repetitionThreshold: questions.maxRepetitions,
    }),
  });
  return {
    network,
    inspected: inspectedNetwork(network, { name: agentName }),
    wrap: (agent) => withPeers(gate(agent), network),
    async start(started) {
      engine = started;
      await network.start();
    },
    async [Symbol.asyncDispose]() {
      await network.close();
      await own?.[Symbol.asyncDispose]();
    },
  };
}

function milliseconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1000;
}

/** Opens the bus for a command without one, if `bus:` is configured or a peer has no URL. */
async function openOwnBus(
  { endpoints, name, logger }: PeersOptions,
  wellKnown: readonly WellKnownPeer[],
): Promise<Bus | undefined> {
  const onBus = wellKnown.filter(({ url }) => url === undefined).map(({ name }) => name);
  if (endpoints.bus === undefined && onBus.length > 0) {
    throw usage(
      `peers.well_known: ${onBus.join(', ')} has no url, and there is no bus; add a url, or configure ` +
        'bus: {type: rabbitmq, url: "${AMQP_URL}"} in endpoints.yml',
    );
  }
  const isNeeded = onBus.length > 0 || endpoints.isBusWritten === true;
  const connectionName = `${name} caller`;
  return isNeeded ? openConfiguredBus(endpoints, { logger, connectionName }) : undefined;
}

async function linkTo(bus: Bus, { endpoints, name, identity }: PeersOptions) {
  const { busLink } = await import('../bus/index.ts');
  return busLink({ bus, ...(identity ?? (await busIdentity(endpoints, name))) });
}

async function wellKnownPeers(
  { peers, directory }: Endpoints,
  logger: Logger,
): Promise<readonly WellKnownPeer[]> {
  const { wellKnown = [], wellKnownFile } = peers ?? {};
  const file =
    wellKnownFile === undefined
      ? []
      : readWellKnownAgents(
          await readNamedFile(resolve(directory, wellKnownFile), 'peers.well_known_file'),
        );
  const own = wellKnown.map(({ name, url, auth, verifyCard }) => ({
    name,
    ...present({ url }),
    ...(auth !== undefined && {
      credential: { headerName: auth.header, headerValue: auth.value },
    }),
    ...(verifyCard !== undefined && {
      verifyCard: cardVerifier(verifyCard, { what: `peer ${name}`, directory, logger }),
    }),
  }));
  const names = new Set(own.map(({ name }) => name.toLowerCase()));
  return [...own, ...file.filter(({ name }) => !names.has(name.toLowerCase()))];
}

/** Restricts the agent by the trust in its callers. Requests of callers can need the user's approval. */
function gated(agent: Agent, { name, store, storage }: PeersOptions): Agent {
  const { records } = store;
  const scheduler = storeScheduler(store);
  return trustGate(agent, {
    ledger: new TrustLedger({ records, scheduler }),
    proposals: new Proposals({ records, scheduler }),
    memory: new WorkingMemory({
      records,
      owner: ownerKey({ agent: name, tenant: '', subject: 'user' }),
      clock: store.clock,
    }),
    notify: (note) => console.error(noteLine(note, storeFlag(storage))),
  });
}

/** The notice for the user about a request. Removes control sequences of the sender. */
function noteLine(
  { kind, caller, skill, summary, taskId }: InboundNote,
  storeFlag: string,
): string {
  const who = trustName(caller);
  const suffix = skill === undefined ? '' : ` (${skill})`;
  const text = oneLine(`${who}${suffix}: ${summary}`).slice(0, 300);
  if (kind === 'proposal')
    return `Waiting for your approval: ${text}\n  legate trust approve ${taskId}${storeFlag}`;
  return kind === 'fact' ? `Stored as a fact: ${text}` : `Recorded, not executed: ${text}`;
}
