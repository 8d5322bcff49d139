import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Authenticator, jwtVerifier, mtlsVerifier, type Verifier } from '../../auth/index.ts';
import type { ServeOptions } from '../../http/index.ts';
import {
  type AgentCard,
  type AgentSkill,
  LegateError,
  readAgentCard,
} from '../../protocol/index.ts';
import { sealedPolicy } from '../../push/index.ts';
import type { TlsFiles } from '../../service/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { Flow } from '../model.ts';
import type { A2aServer } from '../project/a2a-server.ts';
import { type LoadedModel, versionOf } from './model-holder.ts';

/** Translates `a2a_server:` of endpoints.yml to options of the A2A server. */
export async function a2aOptions(
  server: A2aServer,
  {
    directory,
    tls,
    logger,
  }: { readonly directory: string; readonly tls: TlsFiles | undefined; readonly logger: Logger },
): Promise<ServeOptions> {
  const { auth, pushNotificationAllowedHosts: allowedHosts } = server;
  // Configured certificate authorities mean that client certificates are required.
  const verifiers = [
    ...(auth === undefined ? [] : [await tokenVerifier(auth, directory)]),
    ...(tls?.ca === undefined ? [] : [mtlsVerifier()]),
  ];
  return {
    ...(server.url !== undefined && { url: server.url.replace(/\/+$/, '') }),
    taskTimeoutMs: server.taskTimeoutSeconds * 1000,
    messageCacheTtlMs: server.messageCacheTtlSeconds * 1000,
    maxContexts: server.maxContexts,
    // Orchestrators expect 409 for a message that is in flight, whether it streams or not.
    duplicateStreams: 'refuse',
    setsContextHints: true,
    ...(server.pushNotificationsEnabled && {
      push: {
        policy: allowedHosts === undefined ? sealedPolicy : { ...sealedPolicy, allowedHosts },
        resolveAtRegistration: true,
      },
    }),
    ...(verifiers.length > 0 && { auth: new Authenticator({ logger, verifiers }) }),
    ...(auth !== undefined && { protectsCard: true }),
  };
}

function tokenVerifier(auth: NonNullable<A2aServer['auth']>, directory: string): Promise<Verifier> {
  const { secret, publicKeyPath = '', algorithm, issuer, audience } = auth.jwt;
  return jwtVerifier({
    keys: secret === undefined ? { publicKeyFile: resolve(directory, publicKeyPath) } : { secret },
    algorithms: [algorithm],
    // The token identifies the orchestrator, also when it has no subject claim.
    defaultSubject: 'orchestrator',
    requireExpiry: false,
    ...(issuer !== undefined && { issuer }),
    ...(audience !== undefined && { audience }),
  });
}

/** Reads `agent_card_path` once at startup: the server must not start with an invalid card. */
export async function readStaticCard(
  server: A2aServer | undefined,
  directory: string,
): Promise<AgentCard | undefined> {
  if (server?.agentCardPath === undefined) return undefined;
  const path = resolve(directory, server.agentCardPath);
  try {
    return readAgentCard(JSON.parse(await readFile(path, 'utf8')));
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'it cannot be read';
    throw new LegateError(
      'CONFIGURATION_INVALID',
      `a2a_server.agent_card_path: ${path} is not a valid agent card: ${reason}`,
      { cause: error },
    );
  }
}

/**
 * The card of each model: the file's, or one made of its flows; and a placeholder without skills
 * while there is no model. The server adds its own URL.
 */
export function cardMaker(
  served: AgentCard,
  server: A2aServer | undefined,
  fixed: AgentCard | undefined,
): (model: LoadedModel | undefined) => AgentCard {
  const includeConversationRepair = server?.includeConversationRepair ?? true;
  return (model) => {
    if (model !== undefined && fixed !== undefined) return asServed(fixed, served);
    return {
      ...served,
      name: model?.project.config.assistantId ?? 'Rasa Agent',
      description: server?.description ?? model?.project.name ?? '',
      version: model === undefined ? '1.0.0' : versionOf(model),
      skills:
        model === undefined ? [] : skillsOf(model.project.flows, { includeConversationRepair }),
    };
  };
}

/** The file's card, with the URL, security schemes and capabilities of the server. */
function asServed(fixed: AgentCard, served: AgentCard): AgentCard {
  const { securitySchemes: _schemes, securityRequirements: _requirements, ...rest } = fixed;
  const { supportedInterfaces, capabilities, securitySchemes, securityRequirements } = served;
  const { streaming, pushNotifications } = capabilities;
  return {
    ...rest,
    supportedInterfaces,
    capabilities: {
      ...fixed.capabilities,
      // A card may promise less than there is, but not more.
      streaming: streaming === true && fixed.capabilities.streaming !== false,
      pushNotifications:
        pushNotifications === true && fixed.capabilities.pushNotifications !== false,
    },
    ...(securitySchemes !== undefined && { securitySchemes }),
    ...(securityRequirements !== undefined && { securityRequirements }),
  };
}

/**
 * What the card promises: each flow that a user can start, and the patterns of conversation repair
 * when they are offered. A flow whose guard is `false` is only reached through others.
 * @example const skills = skillsOf(assistant.flows, { includeConversationRepair: false });
 */
export function skillsOf(
  flows: ReadonlyMap<string, Flow>,
  options: { readonly includeConversationRepair: boolean },
): readonly AgentSkill[] {
  const all = [...flows.values()];
  const own = all.filter((flow) => !flow.isPattern && !isHidden(flow));
  const patterns = options.includeConversationRepair ? all.filter((flow) => flow.isPattern) : [];
  return [...own, ...patterns].map((flow) => ({
    id: flow.id,
    name: flow.name,
    description: flow.description || flow.name,
    tags: [flow.isPattern ? 'conversation-repair' : 'flow'],
    ...(flow.examples.length > 0 && { examples: flow.examples }),
  }));
}

function isHidden(flow: Flow): boolean {
  return flow.if !== undefined && /^\s*false\s*$/i.test(flow.if);
}
