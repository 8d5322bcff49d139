import type { DecodeOptions } from '../decode/options.ts';
import { decode, type Reader, type Wire } from '../decode/reader.ts';
import {
  optionalBoolean,
  optionalString,
  optionalStrings,
  optionalText,
  requiredString,
} from '../decode/scalars.ts';
import { nested, object, orElse, shortList } from '../decode/table.ts';
import { optionalStruct } from '../decode/values.ts';
import type {
  AgentCapabilities,
  AgentCard,
  AgentCardSignature,
  AgentExtension,
  AgentProvider,
  AgentSkill,
} from '../card-model.ts';
import { readInterfaces } from './interfaces.ts';
import { readSecurityRequirements, readSecuritySchemes, type SecuritySchemes } from './security.ts';

/**
 * Reads an agent card of any version (1.x, 0.3, 0.2, or a superset of several) into the model, with
 * the protocol version of each interface. Throws `INVALID_PARAMS` with the paths of the invalid fields.
 * Optional fields, empty lists and empty texts can be missing, as they are in many cards.
 * @example const card = readAgentCard(await response.json())
 */
export function readAgentCard(json: unknown, options?: DecodeOptions): AgentCard {
  return decode(json, options, readCard);
}

const capabilities = object<AgentCapabilities>({
  streaming: optionalBoolean,
  pushNotifications: optionalBoolean,
  extensions: shortList(
    object<AgentExtension>({
      uri: requiredString,
      description: optionalText,
      required: optionalBoolean,
      params: optionalStruct,
    }),
  ),
  extendedAgentCard: optionalBoolean,
});

const legacyCapabilities = object<{ readonly supportsAuthenticatedExtendedCard?: boolean }>({
  supportsAuthenticatedExtendedCard: optionalBoolean,
});

type SkillField = Exclude<keyof AgentSkill, 'securityRequirements'>;

const skill = object<Pick<AgentSkill, SkillField>>({
  id: requiredString,
  name: orElse(optionalString, ''),
  description: orElse(optionalText, ''),
  tags: orElse(optionalStrings, []),
  examples: optionalStrings,
  inputModes: optionalStrings,
  outputModes: optionalStrings,
});

type DerivedField =
  | 'supportedInterfaces'
  | 'capabilities'
  | 'skills'
  | 'securitySchemes'
  | 'securityRequirements';

const plainFields = object<Omit<AgentCard, DerivedField>>({
  name: requiredString,
  description: orElse(optionalText, ''),
  version: orElse(optionalString, ''),
  defaultInputModes: orElse(optionalStrings, []),
  defaultOutputModes: orElse(optionalStrings, []),
  provider: nested(
    object<AgentProvider>({ url: orElse(optionalString, ''), organization: requiredString }),
  ),
  documentationUrl: optionalString,
  signatures: shortList(
    object<AgentCardSignature>({
      protected: requiredString,
      signature: requiredString,
      header: optionalStruct,
    }),
  ),
  iconUrl: optionalText,
});

export function readCard(reader: Reader, wire: Wire): AgentCard {
  const security = readSecuritySchemes(reader, wire.securitySchemes ?? wire.security_schemes);
  const skills = shortList((inner, item) => ({
    ...skill(inner, item),
    ...readRequirementsOf(inner, item, security),
  }));
  return {
    ...plainFields(reader, wire),
    supportedInterfaces: readInterfaces(reader, wire),
    capabilities: readCapabilities(reader, wire),
    skills: skills(reader, wire.skills, 'skills') ?? [],
    ...(security.schemes && { securitySchemes: security.schemes }),
    ...readRequirementsOf(reader, wire, security),
  };
}

function readRequirementsOf(
  reader: Reader,
  wire: Wire,
  security: SecuritySchemes,
): Pick<AgentCard, 'securityRequirements'> {
  const value = wire.securityRequirements ?? wire.security_requirements;
  const securityRequirements =
    readSecurityRequirements(reader, value, 'securityRequirements', security) ??
    readSecurityRequirements(reader, wire.security, 'security', security);
  return securityRequirements === undefined ? {} : { securityRequirements };
}

function readCapabilities(reader: Reader, wire: Wire): AgentCapabilities {
  const stated = nested(capabilities)(reader, wire.capabilities, 'capabilities') ?? {};
  if (stated.extendedAgentCard !== undefined) return stated;
  // 0.3 has this flag beside the capabilities.
  const { supportsAuthenticatedExtendedCard: extendedAgentCard } = legacyCapabilities(reader, wire);
  return extendedAgentCard === undefined ? stated : { ...stated, extendedAgentCard };
}

/** The well-known paths of an agent card: of 1.0 and 0.3, and of versions before 0.3. */
export const cardPaths = ['/.well-known/agent-card.json', '/.well-known/agent.json'] as const;

/** The URLs at which a client looks for the card of an agent, in that order. */
export function cardUrls(address: URL): readonly URL[] {
  const { pathname, search } = address;
  if (pathname.endsWith('.json') || pathname.includes('/.well-known/')) return [address];
  const base = pathname.replace(/\/+$/, '');
  const wellKnown = cardPaths.map((path) => new URL(`${base}${path}${search}`, address));
  // An address with a path can also be the URL of a card, for instance in a registry.
  return base === '' ? wellKnown : [...wellKnown, address];
}
