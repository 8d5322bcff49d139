import type { Agent } from '../agents/index.ts';
import { allowedSkills, Authenticator, declareSkillScopes, signCard } from '../auth/index.ts';
import type { AgentCard } from '../protocol/index.ts';
import { Engine } from '../tasks/index.ts';
import { AuditLog } from './audit.ts';
import { refuseForeignNames, refuseForeignPages } from './browser-guard.ts';
import { cardOf, Cards } from './cards.ts';
import { type Channel, type ChannelHost, ChannelRoutes, type MountedChannel } from './channel.ts';
import { createHandler, type Handler, type HandlerOptions } from './handler.ts';
import type { AgentOptions } from './router-options.ts';
import { defaultLimits, type Service } from './service.ts';
import type { Shared } from './shared.ts';

/** The doors of one agent, and the engine behind them. */
export interface AgentDoors {
  readonly handler: Handler;
  readonly engine: Engine;
  readonly cards: Cards;
  readonly auth: Authenticator;
  readonly service: Service;
  /**
   * Lets turns end by themselves for `graceMs`, then hands them over. Streams end with their turns;
   * those that are left get a last comment.
   */
  drain(options: { readonly graceMs: number }): Promise<void>;
}

/** Opens the doors of an agent on what it shares with others. Close them with `drain`. */
export async function openDoors(
  agent: Agent,
  options: AgentOptions & {
    readonly before?: HandlerOptions['before'];
    readonly channels?: readonly Channel[];
  },
  shared: Shared,
  replica: string,
): Promise<AgentDoors> {
  const {
    url = 'http://localhost',
    card: cardOptions,
    staticCard,
    unversionedCard = 'superset',
    extendedCard,
    cardKeys,
    auth = new Authenticator({ verifiers: [] }),
    skillScopes = {},
    protectsCard = false,
    cors = [],
    isLenient = false,
    errorProfile = '1.0.1',
    setsContextHints = false,
    limits,
    a2a = true,
    channels = [],
    before,
    ...tuning
  } = options;
  const { store, push, logger, scheduler, callerLimits, readiness, load } = shared;
  const { capabilities, ...cardRest } = cardOptions ?? {};
  const declared = staticCard?.capabilities.extensions ?? capabilities?.extensions ?? [];
  const plain = declareSecurity(
    staticCard ??
      cardOf(
        { ...agent, skills: declareSkillScopes(agent.skills, skillScopes, auth) },
        {
          url,
          ...cardRest,
          capabilities: {
            streaming: tuning.streaming ?? true,
            pushNotifications: push !== undefined,
            ...capabilities,
            ...(extendedCard !== undefined && { extendedAgentCard: true }),
          },
        },
      ),
    auth,
  );
  const sign =
    cardKeys === undefined
      ? undefined
      : (card: AgentCard): Promise<AgentCard> => signCard(card, { keys: cardKeys });
  const cards = new Cards(sign === undefined ? plain : await sign(plain), {
    ...(sign !== undefined && { sign }),
    unversioned: unversionedCard,
    ...(extendedCard !== undefined && {
      extended: async (caller, card) => {
        const made = extendedCard === true ? card : await extendedCard(caller, card);
        return { ...made, skills: allowedSkills(made.skills, skillScopes, caller) };
      },
    }),
  });
  const engine = await Engine.start({
    agent,
    store,
    logger,
    scheduler,
    replica,
    extensions: declared.map(({ uri }) => uri),
    requiredExtensions: declared.filter(({ required }) => required).map(({ uri }) => uri),
    duplicateStreams: 'attach',
    ...(push !== undefined && { push }),
    ...tuning,
  });
  const closing = new AbortController();
  const service: Service = {
    engine,
    cards,
    limits: { ...defaultLimits, ...limits },
    logger,
    audit: new AuditLog(logger),
    metricsDoor: shared.metricsDoor,
    isLenient,
    errorProfile,
    setsContextHints,
    auth,
    skillScopes,
    protectsCard,
    callerLimits,
    load,
    corsOrigins: cors,
    reach: shared.reach,
    jwks: push?.jwks,
  };
  const routes = new ChannelRoutes();
  const mounted: MountedChannel[] = [];
  const unmount = async (): Promise<void> => {
    for (const channel of mounted.splice(0).toReversed()) await dispose(channel);
  };
  const host: Omit<ChannelHost, 'route'> = {
    agent,
    engine,
    store,
    cards,
    push,
    service,
    url,
    closing: closing.signal,
    guard(request, response) {
      refuseForeignPages(request, response, cors);
      if (shared.hostNames !== undefined) refuseForeignNames(request, shared.hostNames);
    },
  };
  try {
    for (const channel of channels) {
      const route: ChannelHost['route'] = (...how) => routes.add(channel, ...how);
      mounted.push(await channel.mount({ ...host, route }));
    }
  } catch (error) {
    await unmount();
    await engine.stop();
    throw error;
  }
  return {
    handler: createHandler(service, {
      closing: closing.signal,
      isReady: () => readiness.check(),
      channels: routes,
      hasA2a: a2a,
      ...(before !== undefined && { before }),
    }),
    engine,
    cards,
    auth,
    service,
    async drain(grace) {
      await unmount();
      await engine.drain(grace);
      closing.abort();
    },
  };
}

async function dispose(mounted: MountedChannel): Promise<void> {
  if (mounted === undefined) return;
  if (Symbol.asyncDispose in mounted) await mounted[Symbol.asyncDispose]();
  else mounted[Symbol.dispose]();
}

/** What is verified is what the card declares, whatever else its author wrote. */
function declareSecurity(card: AgentCard, auth: Authenticator): AgentCard {
  const { securitySchemes: _schemes, securityRequirements: _requirements, ...rest } = card;
  const securitySchemes = auth.securitySchemes();
  const securityRequirements = auth.securityRequirements();
  return {
    ...rest,
    ...(securitySchemes !== undefined && { securitySchemes }),
    ...(securityRequirements !== undefined && { securityRequirements }),
  };
}
