import type { DecodeOptions } from '../decode/options.ts';
import { decode, optionalList, optionalObject, type Reader, type Wire } from '../decode/reader.ts';
import {
  optionalBoolean,
  optionalString,
  optionalStrings,
  optionalText,
  requiredString,
} from '../decode/scalars.ts';
import type { Mutable } from '../decode/shape.ts';
import { optionalStruct } from '../decode/values.ts';
import type {
  AgentCapabilities,
  AgentCard,
  AgentCardSignature,
  AgentExtension,
  AgentSkill,
} from '../card-model.ts';
import { readInterfaces } from './interfaces.ts';
import { readSecurityRequirements, readSecuritySchemes, type SecuritySchemes } from './security.ts';

/**
 * Reads an agent card of any version (1.x, 0.3, 0.2, or a superset of several) into the model, with
 * the protocol version of each interface. Throws `INVALID_PARAMS` with the paths of the fields at
 * fault. Lenient where cards in the wild are: what is empty may be left out.
 * @example const card = readAgentCard(await response.json())
 */
export function readAgentCard(json: unknown, options?: DecodeOptions): AgentCard {
  return decode(json, options, readCard);
}

export function readCard(reader: Reader, wire: Wire): AgentCard {
  const security = readSecuritySchemes(reader, wire.securitySchemes ?? wire.security_schemes);
  const inputModes = wire.defaultInputModes ?? wire.default_input_modes;
  const outputModes = wire.defaultOutputModes ?? wire.default_output_modes;
  const card: Mutable<AgentCard> = {
    name: requiredString(reader, wire.name, 'name'),
    description: optionalText(reader, wire.description, 'description') ?? '',
    supportedInterfaces: readInterfaces(reader, wire),
    version: optionalString(reader, wire.version, 'version') ?? '',
    capabilities: readCapabilities(reader, wire),
    defaultInputModes: optionalStrings(reader, inputModes, 'defaultInputModes') ?? [],
    defaultOutputModes: optionalStrings(reader, outputModes, 'defaultOutputModes') ?? [],
    skills:
      optionalList(reader, wire.skills, 'skills', (inner, item) =>
        readSkill(inner, item, security),
      ) ?? [],
  };
  const provider = optionalObject(reader, wire.provider, 'provider', (inner, item) => ({
    url: optionalString(inner, item.url, 'url') ?? '',
    organization: requiredString(inner, item.organization, 'organization'),
  }));
  if (provider !== undefined) card.provider = provider;
  const documentation = wire.documentationUrl ?? wire.documentation_url;
  const documentationUrl = optionalString(reader, documentation, 'documentationUrl');
  if (documentationUrl !== undefined) card.documentationUrl = documentationUrl;
  if (security.schemes !== undefined) card.securitySchemes = security.schemes;
  const requirements = readRequirementsOf(reader, wire, security);
  if (requirements !== undefined) card.securityRequirements = requirements;
  const signatures = optionalList(reader, wire.signatures, 'signatures', readSignature);
  if (signatures !== undefined) card.signatures = signatures;
  const iconUrl = optionalText(reader, wire.iconUrl ?? wire.icon_url, 'iconUrl');
  if (iconUrl !== undefined) card.iconUrl = iconUrl;
  return card;
}

function readRequirementsOf(reader: Reader, wire: Wire, security: SecuritySchemes) {
  const requirements = wire.securityRequirements ?? wire.security_requirements;
  return (
    readSecurityRequirements(reader, requirements, 'securityRequirements', security) ??
    readSecurityRequirements(reader, wire.security, 'security', security)
  );
}

function readCapabilities(reader: Reader, wire: Wire): AgentCapabilities {
  const capabilities =
    optionalObject(reader, wire.capabilities, 'capabilities', (inner, item) => {
      const result: Mutable<AgentCapabilities> = {};
      const streaming = optionalBoolean(inner, item.streaming, 'streaming');
      if (streaming !== undefined) result.streaming = streaming;
      const push = item.pushNotifications ?? item.push_notifications;
      const pushNotifications = optionalBoolean(inner, push, 'pushNotifications');
      if (pushNotifications !== undefined) result.pushNotifications = pushNotifications;
      const extensions = optionalList(inner, item.extensions, 'extensions', readExtension);
      if (extensions !== undefined) result.extensions = extensions;
      const extended = item.extendedAgentCard ?? item.extended_agent_card;
      const extendedAgentCard = optionalBoolean(inner, extended, 'extendedAgentCard');
      if (extendedAgentCard !== undefined) result.extendedAgentCard = extendedAgentCard;
      return result;
    }) ?? {};
  if (capabilities.extendedAgentCard !== undefined) return capabilities;
  // 0.3 says it beside the capabilities.
  const extended =
    wire.supportsAuthenticatedExtendedCard ?? wire.supports_authenticated_extended_card;
  const extendedAgentCard = optionalBoolean(reader, extended, 'supportsAuthenticatedExtendedCard');
  return extendedAgentCard === undefined ? capabilities : { ...capabilities, extendedAgentCard };
}

function readExtension(reader: Reader, wire: Wire): AgentExtension {
  const extension: Mutable<AgentExtension> = { uri: requiredString(reader, wire.uri, 'uri') };
  const description = optionalText(reader, wire.description, 'description');
  if (description !== undefined) extension.description = description;
  const required = optionalBoolean(reader, wire.required, 'required');
  if (required !== undefined) extension.required = required;
  const params = optionalStruct(reader, wire.params, 'params');
  if (params !== undefined) extension.params = params;
  return extension;
}

function readSkill(reader: Reader, wire: Wire, security: SecuritySchemes): AgentSkill {
  const skill: Mutable<AgentSkill> = {
    id: requiredString(reader, wire.id, 'id'),
    name: optionalString(reader, wire.name, 'name') ?? '',
    description: optionalText(reader, wire.description, 'description') ?? '',
    tags: optionalStrings(reader, wire.tags, 'tags') ?? [],
  };
  const examples = optionalStrings(reader, wire.examples, 'examples');
  if (examples !== undefined) skill.examples = examples;
  const inputModes = optionalStrings(reader, wire.inputModes ?? wire.input_modes, 'inputModes');
  if (inputModes !== undefined) skill.inputModes = inputModes;
  const outputModes = optionalStrings(reader, wire.outputModes ?? wire.output_modes, 'outputModes');
  if (outputModes !== undefined) skill.outputModes = outputModes;
  const requirements = readRequirementsOf(reader, wire, security);
  if (requirements !== undefined) skill.securityRequirements = requirements;
  return skill;
}

function readSignature(reader: Reader, wire: Wire): AgentCardSignature {
  const header = optionalStruct(reader, wire.header, 'header');
  return {
    protected: requiredString(reader, wire.protected, 'protected'),
    signature: requiredString(reader, wire.signature, 'signature'),
    ...(header === undefined ? {} : { header }),
  };
}
