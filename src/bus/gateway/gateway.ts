import {
  type Channel,
  openRouter,
  type Router,
  serve,
  type ServeOptions,
  type Serving,
} from '../../http/index.ts';
import { type AgentCard, invalidConfiguration, LegateError } from '../../protocol/index.ts';
import { openStore } from '../../store/index.ts';
import { storeScheduler } from '../../tasks/index.ts';
import { defaultLogger } from '../../telemetry/index.ts';
import {
  type Identification,
  identify,
  readCard,
  readPresence,
  Sender,
  sendQuery,
} from '../exchange.ts';
import type { MessageSigner } from '../identity/signer.ts';
import {
  type Bus,
  type Consumption,
  type Delivery,
  done,
  type AckDecision,
} from '../transport/bus.ts';
import { brokerRequirement, checkBusName, ownName } from '../transport/checks.ts';
import { discoveryQueue } from '../transport/topics.ts';
import { AnnouncedCards } from './announced-cards.ts';
import { busAgent, type GatewayAgent } from './bus-agent.ts';
import { inspectedAgents } from './inspected-agents.ts';
import { ReplyBox } from './queue-transport.ts';

/**
 * The agents that a gateway serves, and how.
 * @example
 * const options: GatewayOptions = {
 *   bus,
 *   agents: ['desk', { name: 'oracle', replies: 'message' }],
 *   port: 8080,
 *   store: { type: 'postgres', url: 'postgres://db/gateway' },
 * };
 */
export interface GatewayOptions extends ServeOptions, Identification {
  /** Stays open when the gateway closes. */
  readonly bus: Bus;
  /**
   * The agents behind the gateway. The first is served at the root, each at `/agents/{name}`; `/agents`
   * lists them.
   */
  readonly agents: readonly [GatewayAgent | string, ...(GatewayAgent | string)[]];
  /** The gateway's name on the bus, shared by all its processes. @default 'gateway' */
  readonly name?: string;
  /** Signs messages on behalf of the gateway's callers, so that agents can trust them. */
  readonly signer?: MessageSigner;
  /** Updates cards from the announcements of the agents. @default true */
  readonly follows?: boolean;
}

/**
 * A running gateway.
 * @example
 * await using running: Gateway = await gateway({ bus, agents: ['desk', 'oracle'] });
 * for (const name of running.routers.keys()) console.log(`${running.url}/agents/${name}`);
 */
export interface Gateway extends Serving {
  /** Keyed by agent name. */
  readonly routers: ReadonlyMap<string, Router>;
}

const prefix = '/agents/';
/** How long the gateway waits for the cards of its agents before it opens the port, in milliseconds. */
const cardWaitMs = 1_500;

/**
 * How often gateways may take over a turn. The agent runs the turn in another process, and only once, so a
 * takeover does not mean that the task crashed the gateway.
 */
const maxTakeovers = 10_000;

/**
 * Serves agents of the bus over HTTP: every binding, streaming, webhooks, lists, authentication and
 * limits, as `serve` does. Any number of gateways may serve the same agents.
 * @example
 * await using server = await gateway({ bus, agents: ['researcher'], port: 8080, auth });
 */
export async function gateway(options: GatewayOptions): Promise<Gateway> {
  const {
    bus,
    agents: listed,
    name: givenName = 'gateway',
    signer,
    verifier,
    requireSigned,
    unsigned,
    follows = true,
    store: storeOption = { type: 'memory' },
    ...given
  } = options;
  const serving = {
    maxAttempts: maxTakeovers,
    ...given,
    requirements: [...(given.requirements ?? []), brokerRequirement(bus)],
  };
  const name = checkBusName(givenName, 'the gateway');
  const { logger = defaultLogger } = serving;
  const agents = listed.map((agent) => (typeof agent === 'string' ? { name: agent } : agent));
  const [first] = agents;
  if (first === undefined) {
    throw invalidConfiguration('a gateway needs at least one agent');
  }
  const isOwnStore = 'type' in storeOption;
  const store = isOwnStore ? await openStore(storeOption, serving.scheduler) : storeOption;
  const scheduler = serving.scheduler ?? storeScheduler(store);
  const identification = {
    ...(verifier !== undefined && { verifier }),
    ...(requireSigned !== undefined && { requireSigned }),
    ...(unsigned !== undefined && { unsigned }),
  };
  const replies = new ReplyBox({
    bus,
    name: ownName(name, scheduler),
    signer,
    logger,
    ...identification,
  });
  // Tasks in a memory store of our own end with the process.
  const isDurable = !isOwnStore || storeOption.type !== 'memory';
  const shared = { bus, replies, records: store.records, gateway: name, isDurable, signer };
  const toAgent = (agent: GatewayAgent) => {
    const announced = cards.known.get(agent.name);
    if (agent.card !== undefined || announced === undefined) return busAgent({ ...shared, agent });
    // The agent itself checks media types.
    const { description, skills } = announced;
    return busAgent({ ...shared, agent: { ...agent, card: { description, skills } } });
  };
  const routers = new Map<string, Router>();
  const toAgents: Channel = {
    name: 'gateway',
    mount({ route }) {
      if (serving.protectsCard !== true) {
        route('GET', '/agents', ({ response }) => {
          response.writeHead(200, { 'content-type': 'application/json' });
          response.end(JSON.stringify({ agents: [...routers].map(toListed) }));
        });
      }
      route('*', `${prefix}*`, ({ request, response, params, path }) => {
        const [agentName = ''] = (params['*'] ?? '').split('/', 1);
        const found = routers.get(agentName);
        if (found === undefined) {
          throw new LegateError('ROUTE_NOT_FOUND', `no such path: ${path.slice(0, 200)}`);
        }
        const rest = (request.url ?? '').slice(prefix.length + agentName.length);
        request.url = rest.startsWith('/') ? rest : `/${rest}`;
        found.handler(request, response);
      });
    },
  };
  let server: Serving | undefined;
  let discovery: Consumption | undefined;
  const close = async (): Promise<void> => {
    await discovery?.close();
    for (const made of routers.values()) if (made !== server?.router) await made.close();
    await server?.close();
    await replies.stop();
    if (isOwnStore) await store.close();
  };
  const cards = new AnnouncedCards(store.records, {
    names: agents.map((agent) => agent.name),
    scheduler,
  });
  const replaceCard = async (card: AgentCard): Promise<void> => {
    const made = routers.get(card.name);
    if (made === undefined) return;
    const before = made.cards.current;
    const after = withNews(before, card);
    if (JSON.stringify({ ...before, signatures: undefined }) === JSON.stringify(after)) return;
    await made.cards.replace(after);
  };
  try {
    await replies.start();
    if (follows) {
      await cards.load();
      const query = (): Promise<void> => sendQuery(new Sender({ bus, name, signer }));
      discovery = await followCards(bus, cards.take, {
        listener: ownName(name, scheduler),
        identification,
        // Announcements may have been lost.
        onReopened: () => {
          query().catch((error: unknown) => logger.warn({ error }, 'bus.query.failed'));
        },
      });
      if (bus.isConnected) {
        // Running agents answer at once, so that the first request sees their skills.
        await query();
        await cards.all(cardWaitMs);
      }
    }
    const cardOf = ({ name: shown }: GatewayAgent) => ({ ...serving.card, name: shown });
    server = await serve(toAgent(first), {
      ...serving,
      inspect: inspectedAgents(serving.inspect, {
        gateway: name,
        routers,
        isKnown: (agent) => cards.known.has(agent),
      }),
      card: cardOf(first),
      store,
      channels: [...(serving.channels ?? []), toAgents],
    });
    const { channels: _channels, ...tuning } = serving;
    for (const agent of agents) {
      const url = `${server.url}${prefix}${agent.name}`;
      const made =
        agent === first
          ? server.router
          : await openRouter(toAgent(agent), {
              isLocalOnly: server.router.service.exposure.isLocalOnly,
              ...tuning,
              card: cardOf(agent),
              store,
              url,
            });
      routers.set(agent.name, made);
    }
    // Cards that arrived while the routers were created.
    for (const card of cards.known.values()) await replaceCard(card);
    cards.onCard = replaceCard;
  } catch (error) {
    await close();
    throw error;
  }
  let closed: Promise<void> | undefined;
  const closeOnce = (): Promise<void> => (closed ??= close());
  return {
    ...server,
    routers,
    close: closeOnce,
    [Symbol.asyncDispose]: closeOnce,
  };
}

function toListed([name, { cards }]: readonly [string, Router]) {
  const { description, supportedInterfaces } = cards.current;
  return { name, description, url: supportedInterfaces[0]?.url };
}

/** The card with the content of an announcement, except the addresses. */
function withNews(before: AgentCard, announced: AgentCard): AgentCard {
  const { description, skills, version, defaultInputModes, defaultOutputModes } = announced;
  const news = { description, skills, version, defaultInputModes, defaultOutputModes };
  const { signatures: _signatures, ...after } = { ...before, ...news };
  return after;
}

/** Passes announced cards to `onCard`; with a verifier, only cards of verified senders. */
function followCards(
  bus: Bus,
  onCard: (card: AgentCard) => Promise<void>,
  {
    listener,
    identification,
    onReopened,
  }: {
    /** Unique for each process. */
    readonly listener: string;
    readonly identification: Identification;
    readonly onReopened: () => void;
  },
): Promise<Consumption> {
  /** The signed time of each agent's last announcement: older ones are ignored. */
  const latest = new Map<string, number>();
  const take = async (delivery: Delivery): Promise<AckDecision> => {
    const { isGone, at = 0 } = readPresence(delivery.correlationId, delivery.headers);
    if (isGone) return done;
    try {
      const { method, subject } = await identify(delivery, identification);
      const announced = readCard(delivery.body);
      const isProved = method === 'message-token' && subject === announced.name;
      if (identification.verifier !== undefined && !isProved) return done;
      if (isProved && at < (latest.get(subject) ?? 0)) return done;
      if (isProved) latest.set(subject, at);
      await onCard(announced);
    } catch (error) {
      // Invalid announcements are ignored.
      if (!(error instanceof LegateError)) throw error;
    }
    return done;
  };
  // In order, so that an older card never replaces a newer one.
  return bus.consume(discoveryQueue(listener), take, {
    prefetch: 20,
    concurrency: 1,
    onReopened,
  });
}
