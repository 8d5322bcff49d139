import type { Agent, Caller } from '../agents/index.ts';
import {
  Authenticator,
  CallerLimits,
  type CallerLimitsOptions,
  declareSkillScopes,
  signCard,
  type SkillScopes,
} from '../auth/index.ts';
import type { AgentCapabilities, AgentCard } from '../protocol/index.ts';
import type { SigningKey } from '../push/index.ts';
import { openStore, type Store, type StoreOptions } from '../store/index.ts';
import { Engine, type EngineOptions, systemScheduler } from '../tasks/index.ts';
import { type Logger, silentLogger } from '../telemetry/index.ts';
import { type CardOptions, cardOf, Cards } from './cards.ts';
import { createHandler, type Handler, type HandlerOptions } from './handler.ts';
import { type PushOptions, PushService } from './push-service.ts';
import { defaultLimits, type HttpLimits, type Service } from './service.ts';

type EngineTuning = Partial<
  Omit<
    EngineOptions,
    'agent' | 'store' | 'logger' | 'push' | 'replica' | 'extensions' | 'requiredExtensions'
  >
>;

export interface RouterOptions extends EngineTuning {
  /** A store, or which one to open. @default { type: 'memory' } */
  store?: Store | StoreOptions;
  /** Where callers reach this server, without a slash at the end. @default 'http://localhost' */
  url?: string;
  /** Parts of the card beside what the agent says. */
  card?: Partial<Omit<CardOptions, 'url' | 'capabilities'>> & {
    capabilities?: Omit<AgentCapabilities, 'streaming' | 'pushNotifications'>;
  };
  /** A card served as it is, instead of one made from the agent. */
  staticCard?: AgentCard;
  /**
   * The card of callers who name no version: one that 0.3 readers understand too, or pure 1.0.
   * @default 'superset'
   */
  unversionedCard?: 'superset' | '1.0';
  /** The extended card, for those who may see it. */
  extendedCard?: (caller: Caller) => AgentCard | Promise<AgentCard>;
  /** Signs the card once for each of its versions. */
  cardKeys?: readonly [SigningKey, ...SigningKey[]];
  /** Who may call. The card declares what it verifies. @default everybody */
  auth?: Authenticator;
  /** Scopes that skills need, by skill id. */
  skillScopes?: SkillScopes;
  /** Whether the card is for authenticated callers only. @default false */
  protectsCard?: boolean;
  /** What one caller may ask for at a time. */
  callerLimits?: CallerLimitsOptions;
  /** Webhooks; without it the capability is off. */
  push?: PushOptions;
  /** Takes 1.0 requests that do not state their version. @default false */
  isLenient?: boolean;
  /** @default '1.0.1' */
  errorProfile?: '1.0.1' | '1.0.0';
  /** Names the context of an answer in a header and a cookie, for ingress rules. @default false */
  setsContextHints?: boolean;
  limits?: Partial<HttpLimits>;
  before?: HandlerOptions['before'];
  logger?: Logger;
}

/** An agent's doors without a server of their own. */
export interface Router extends AsyncDisposable {
  readonly handler: Handler;
  readonly engine: Engine;
  readonly store: Store;
  readonly cards: Cards;
  readonly push: PushService | undefined;
  /** What callers must prove, if anything. */
  readonly auth: Authenticator;
  /** What doors of other kinds need to serve the same agent beside this one. */
  readonly service: Service;
  /** Closes streams with a last comment and lets turns end, or hands them over. */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/**
 * The doors of an agent as a `(req, res)` handler, for a server you have already.
 * @example
 * const { handler } = await router(agent, { url: 'https://example.com/agent' });
 * express().use('/agent', handler);
 */
export async function router(agent: Agent, options: RouterOptions = {}): Promise<Router> {
  const {
    store: storeOption = { type: 'memory' },
    url = 'http://localhost',
    card: cardOptions,
    staticCard,
    unversionedCard = 'superset',
    extendedCard,
    cardKeys,
    auth = new Authenticator({ verifiers: [] }),
    skillScopes = {},
    protectsCard = false,
    callerLimits,
    push: pushOptions,
    isLenient = false,
    errorProfile = '1.0.1',
    setsContextHints = false,
    limits,
    before,
    logger = silentLogger,
    scheduler = systemScheduler,
    ...tuning
  } = options;
  const isOwnStore = 'type' in storeOption;
  const store = isOwnStore ? await openStore(storeOption) : storeOption;
  const replica = scheduler.uuid();
  const { capabilities, ...cardRest } = cardOptions ?? {};
  const declared = staticCard?.capabilities.extensions ?? capabilities?.extensions ?? [];
  const push =
    pushOptions === undefined
      ? undefined
      : new PushService({ ...pushOptions, store, replica, scheduler, logger });
  const engine = await Engine.start({
    agent,
    store,
    logger,
    scheduler,
    replica,
    extensions: declared.map(({ uri }) => uri),
    requiredExtensions: declared.filter(({ required }) => required).map(({ uri }) => uri),
    ...(push !== undefined && { push }),
    ...tuning,
  });
  push?.start();
  const securitySchemes = auth.securitySchemes() ?? {};
  const securityRequirements = auth.securityRequirements() ?? [];
  const isSecured = Object.keys(securitySchemes).length > 0;
  const plain =
    staticCard ??
    cardOf(
      { ...agent, skills: declareSkillScopes(agent.skills, skillScopes, auth) },
      {
        url,
        ...cardRest,
        ...(isSecured && { securitySchemes, securityRequirements }),
        capabilities: {
          streaming: tuning.streaming ?? true,
          pushNotifications: push !== undefined,
          ...capabilities,
          ...(extendedCard !== undefined && { extendedAgentCard: true }),
        },
      },
    );
  const sign = async (card: AgentCard): Promise<AgentCard> =>
    cardKeys === undefined ? card : signCard(card, { keys: cardKeys });
  const cards = new Cards(await sign(plain), {
    sign,
    unversioned: unversionedCard,
    ...(extendedCard !== undefined && { extended: extendedCard }),
  });
  const closing = new AbortController();
  const service: Service = {
    engine,
    cards,
    limits: { ...defaultLimits, ...limits },
    logger,
    isLenient,
    errorProfile,
    setsContextHints,
    auth,
    skillScopes,
    protectsCard,
    callerLimits: new CallerLimits({ openStreams: 1_000, ...callerLimits }),
    jwks: push?.jwks,
  };
  const handler = createHandler(service, {
    closing: closing.signal,
    isReady: () => !closing.signal.aborted,
    ...(before !== undefined && { before }),
  });
  const close: Router['close'] = async ({ graceMs = 0 } = {}) => {
    if (closing.signal.aborted) return;
    closing.abort();
    await engine.drain({ graceMs });
    // The claims of webhooks end with the replica, so they are settled before it retires.
    await push?.stop();
    await engine.stop();
    if (isOwnStore) await store.close();
  };
  return {
    handler,
    engine,
    store,
    cards,
    push,
    auth,
    service,
    close,
    [Symbol.asyncDispose]: () => close(),
  };
}
