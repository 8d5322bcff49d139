import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Authenticator } from '../../auth/index.ts';
import { type ServeOptions, serverOptionsOf } from '../../http/index.ts';
import {
  type AgentCard,
  type AgentSkill,
  errorMessage,
  invalidConfiguration,
  readAgentCard,
} from '../../protocol/index.ts';
import type { PushSettings } from '../../push/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { Flow } from '../model.ts';
import type { A2aServer } from '../project/a2a-server.ts';
import { type LoadedModel, versionOf } from './model-holder.ts';

/** Translates `a2a_server:` of endpoints.yml to options of the A2A server. */
export function a2aOptions(
  server: A2aServer,
  {
    authenticator,
    push,
    directory,
    logger,
  }: {
    readonly authenticator: Authenticator | undefined;
    /** `push:` of endpoints.yml. */
    readonly push: PushSettings | undefined;
    readonly directory: string;
    readonly logger: Logger;
  },
): ServeOptions {
  return {
    ...serverOptionsOf(server, { push, directory, logger }),
    // Orchestrators expect 409 for a duplicate of a message in flight, streaming or not.
    duplicateStreams: 'refuse',
    setsContextHints: true,
    ...(authenticator !== undefined && { auth: authenticator }),
    ...(server.auth !== undefined && { protectsCard: true }),
  };
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
    const reason = errorMessage(error);
    throw invalidConfiguration(
      `a2a_server.agent_card_path: ${path} is not a valid agent card: ${reason}`,
      error,
    );
  }
}

/**
 * Creates the card of a model: the card file, or a card made from its flows. Without a model, a
 * placeholder without skills. The server adds its own URL.
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

/** The card file with the URL, security schemes and capabilities of the server. */
function asServed(fixed: AgentCard, served: AgentCard): AgentCard {
  const { securitySchemes: _schemes, securityRequirements: _requirements, ...rest } = fixed;
  const { supportedInterfaces, capabilities, securitySchemes, securityRequirements } = served;
  const { streaming, pushNotifications } = capabilities;
  return {
    ...rest,
    supportedInterfaces,
    capabilities: {
      ...fixed.capabilities,
      // The card file can disable a capability of the server, but not add one.
      streaming: streaming === true && fixed.capabilities.streaming !== false,
      pushNotifications:
        pushNotifications === true && fixed.capabilities.pushNotifications !== false,
    },
    ...(securitySchemes !== undefined && { securitySchemes }),
    ...(securityRequirements !== undefined && { securityRequirements }),
  };
}

/**
 * The skills on the card: each flow that a user can start, and with `includeConversationRepair` the
 * patterns. Flows with the guard `false` are left out: only other flows can start them.
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
