import { z } from 'zod';
import { type AgentCard, type AgentSkill } from '../../protocol/index.ts';
import { plainBinding } from './transport-kind.ts';

const defaultModes = ['text/plain', 'application/json'] as const;

/** A card with an address and no skills. */
export function skeletonCard(
  name: string,
  supportedInterfaces: AgentCard['supportedInterfaces'],
): AgentCard {
  return {
    name,
    description: '',
    version: '',
    supportedInterfaces,
    capabilities: {},
    defaultInputModes: defaultModes,
    defaultOutputModes: defaultModes,
    skills: [],
  };
}

const text = z.string().max(8_192);
const texts = z.array(text).max(256);

/** A skill in the format of plain agents and directory files. */
const plainSkill = z.looseObject({
  id: z.string().min(1).max(256),
  name: text.nullish(),
  description: text.nullish(),
  tags: texts.nullish(),
  examples: texts.nullish(),
});

/** The card of an agent that is called at `/tasks/send`, and of entries in directory files. */
export const plainCard = z.looseObject({
  agentName: z.string().min(1).max(256),
  description: text.nullish(),
  version: text.nullish(),
  skills: z.array(plainSkill).max(1_024).nullish(),
  url: text.nullish(),
});

export function toSkill(skill: z.infer<typeof plainSkill>): AgentSkill {
  const { id, name, description, tags, examples } = skill;
  return {
    id,
    name: name ?? id,
    description: description ?? '',
    tags: tags ?? [],
    ...(examples !== null && examples !== undefined && { examples }),
  };
}

/** Decodes the card of a plain agent at an address; undefined for anything else. */
export function readPlainCard(json: unknown, url: string): AgentCard | undefined {
  const parsed = plainCard.safeParse(json);
  if (!parsed.success) return undefined;
  const { agentName, description, version, skills } = parsed.data;
  return {
    ...skeletonCard(agentName, [{ url, protocolBinding: plainBinding, protocolVersion: '1.0' }]),
    description: description ?? '',
    version: version ?? '',
    skills: (skills ?? []).map(toSkill),
  };
}
