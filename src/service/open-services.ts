import { type Agent, stepsExtension } from '../agents/index.ts';
import {
  allowedSkills,
  Authenticator,
  CallerLimits,
  ClusterRate,
  type ClusterRateOptions,
  declareSkillScopes,
  overReplicas,
} from '../auth/index.ts';
import { type AgentCard, type AgentExtension, invalidConfiguration } from '../protocol/index.ts';
import { isStore, openStore, type Store } from '../store/index.ts';
import { Engine, type Scheduler, storeScheduler } from '../tasks/index.ts';
import { defaultLogger, type Logger, startTelemetry, type Telemetry } from '../telemetry/index.ts';
import { AuditLog } from './audit.ts';
import { cardOf, Cards } from './cards.ts';
import { Load } from './load.ts';
import { Opened } from './opened.ts';
import type { AgentOptions, SharedOptions } from './options.ts';
import { PushService } from './push-service.ts';
import { Readiness } from './readiness.ts';
import { defaultLimits, NetworkExposure, type Service } from './service.ts';
import { observeStore } from './service-meter.ts';

/** An agent to serve, with its own options. */
export interface AgentToServe {
  readonly agent: Agent;
  readonly options: AgentOptions;
}

/** The agents of one process, on one store. */
export interface Services {
  /** In the order of the agents. */
  readonly services: readonly Service[];
  readonly store: Store;
  readonly push: PushService | undefined;
  readonly readiness: Readiness;
  readonly exposure: NetworkExposure;
  readonly logger: Logger;
  readonly scheduler: Scheduler;
  /** The telemetry that was started here, if the options configure it. */
  readonly telemetry: Telemetry | undefined;
  /** The replica id of this process, which its first engine uses. */
  readonly replica: string;
  /** Waits up to `graceMs` for running turns to end, then stops them and hands them over. */
  drain(options: { readonly graceMs: number }): Promise<void>;
  /** Drains without a grace period, and releases all resources. */
  close(): Promise<void>;
}

/** Starts the engines of agents, and the resources that they share. */
export async function openServices(
  agents: readonly AgentToServe[],
  options: SharedOptions & { readonly replica?: string },
): Promise<Services> {
  const { store: storeOption = { type: 'memory' }, logger = defaultLogger } = options;
  const exposure = new NetworkExposure(options.isLocalOnly ?? false);
  const isOwnStore = !isStore(storeOption);
  const store = isOwnStore ? await openStore(storeOption, options.scheduler) : storeOption;
  const scheduler = options.scheduler ?? storeScheduler(store);
  const replica = options.replica ?? scheduler.uuid();
  const services: Service[] = [];
  let telemetry: Telemetry | undefined;
  let push: PushService | undefined;
  const drain: Services['drain'] = async (grace) => {
    await Promise.all(services.map(({ engine }) => engine.drain(grace)));
  };
  let unobserve = (): void => {};
  const close = async (): Promise<void> => {
    unobserve();
    // Closed in reverse order, even if one fails: without its store, no engine can retire its replica.
    await using opened = new Opened();
    if (isOwnStore) opened.defer(() => store.close());
    if (telemetry !== undefined) opened.use(telemetry);
    for (const { engine } of services.toReversed()) opened.defer(() => engine.stop());
    // The claims of webhooks end with the replica, so they are settled before it retires.
    opened.defer(async () => push?.stop());
    opened.defer(() => drain({ graceMs: 0 }));
  };
  try {
    if (options.telemetry !== undefined) {
      telemetry = await startTelemetry({ logger, ...options.telemetry });
    }
    const load = new Load();
    if (options.push !== undefined) {
      push = new PushService({
        // A simulation has its own clock, by which this process is never busy.
        ...(options.scheduler === undefined && { allowance: () => load.allowance() }),
        ...options.push,
        store,
        replica,
        exposure,
        scheduler,
        logger,
      });
    }
    const shared = {
      store,
      push,
      logger,
      scheduler,
      load,
      exposure,
      callerLimits: callerLimitsOf(options, store, scheduler),
    };
    for (const each of agents) {
      const name = services.length === 0 ? replica : scheduler.uuid();
      services.push(await openService(each, shared, name));
    }
  } catch (error) {
    // The error of the start is the cause of errors while closing.
    await close().catch(() => undefined);
    throw error;
  }
  push?.start();
  unobserve = observeStore(
    store,
    services.map(({ engine }) => engine),
  );
  const readiness = new Readiness(store, scheduler, options.requirements);
  let closed: Promise<void> | undefined;
  return {
    services,
    store,
    push,
    readiness,
    exposure,
    logger,
    scheduler,
    telemetry,
    replica,
    drain,
    close: () => (closed ??= close()),
  };
}

async function openService(
  { agent, options }: AgentToServe,
  shared: Pick<Services, 'store' | 'push' | 'scheduler'> &
    Pick<Service, 'logger' | 'load' | 'exposure' | 'callerLimits'>,
  replica: string,
): Promise<Service> {
  const { store, push, scheduler, ...common } = shared;
  const { auth = new Authenticator({ verifiers: [] }), skillScopes = {}, limits } = options;
  await agent.prepare?.();
  const cards = await openCards(agent, options, { auth, hasPush: push !== undefined });
  const extensions = cards.current.capabilities.extensions ?? [];
  const engine = await Engine.start({
    ...options,
    agent,
    store,
    logger: common.logger,
    scheduler,
    replica,
    extensions: extensions.map(({ uri }) => uri),
    inputModes: () => inputModesOf(cards.current),
    requiredExtensions: extensions.filter(({ required }) => required).map(({ uri }) => uri),
    ...(push !== undefined && { push }),
  });
  return {
    ...common,
    engine,
    cards,
    auth,
    skillScopes,
    limits: { ...defaultLimits, ...limits },
    audit: new AuditLog(common.logger),
    isLenient: options.isLenient ?? false,
    errorProfile: options.errorProfile ?? '1.0.1',
    legacyFileBytes: options.legacyFileBytes ?? 'once',
    protectsCard: options.protectsCard ?? false,
    jwks: push?.jwks,
  };
}

const stepsDeclaration: AgentExtension = {
  uri: stepsExtension,
  description:
    'Sends the steps of the agent, its prompts and calls of tools, as metadata of its status.',
  required: false,
};

async function openCards(
  agent: Agent,
  options: AgentOptions,
  { auth, hasPush }: { readonly auth: Authenticator; readonly hasPush: boolean },
): Promise<Cards> {
  const {
    url = 'http://localhost',
    rpcPath = '/',
    staticCard,
    extendedCard,
    cardKeys: keys,
  } = options;
  const { skillScopes = {}, unversionedCard: unversioned = 'superset' } = options;
  const { capabilities, ...rest } = options.card ?? {};
  if (extendedCard !== undefined && Object.keys(auth.securitySchemes() ?? {}).length === 0) {
    throw invalidConfiguration(
      `the agent ${agent.name} has an extended card, which only authenticated callers may see, and its ` +
        'card declares no security scheme; set auth with a verifier, or remove extendedCard',
    );
  }
  const made =
    staticCard ??
    cardOf(
      { ...agent, skills: declareSkillScopes(agent.skills, skillScopes, auth) },
      {
        url,
        rpcPath,
        ...rest,
        capabilities: {
          streaming: options.streaming ?? true,
          pushNotifications: hasPush,
          ...capabilities,
          ...(options.steps === 'share' && {
            extensions: [...(capabilities?.extensions ?? []), stepsDeclaration],
          }),
          ...(extendedCard !== undefined && { extendedAgentCard: true }),
        },
      },
    );
  return Cards.open(declareSecurity(made, auth), {
    ...(keys !== undefined && { keys }),
    unversioned,
    ...(extendedCard !== undefined && {
      extended: async (caller, card) => {
        const extended = extendedCard === true ? card : await extendedCard(caller, card);
        return { ...extended, skills: allowedSkills(extended.skills, skillScopes, caller) };
      },
    }),
  });
}

/** Media types that the card declares for messages: the agent's own, and those of its skills. */
function inputModesOf({ defaultInputModes, skills }: AgentCard): readonly string[] {
  return [...new Set([...defaultInputModes, ...skills.flatMap((skill) => skill.inputModes ?? [])])];
}

/** Replaces the security declared by the author with the one that the authenticator verifies. */
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

function callerLimitsOf(
  { callerLimits = {}, clusterRate, scheduler: given }: SharedOptions,
  { records, shared }: Store,
  scheduler: Scheduler,
): CallerLimits {
  const { requestsPerSecond = 0, burst } = callerLimits;
  // If replicas share a store, the requests of a caller are counted over all replicas.
  const rate: Omit<ClusterRateOptions, 'records'> | undefined =
    clusterRate ??
    (shared && requestsPerSecond > 0 ? overReplicas(requestsPerSecond, burst) : undefined);
  return new CallerLimits(
    // Limits inside this process use its monotonic clock.
    { ...(given !== undefined && { clock: given }), ...callerLimits },
    rate && new ClusterRate({ clock: scheduler, ...rate, records }),
  );
}
