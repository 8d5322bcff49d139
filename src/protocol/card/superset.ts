import type {
  AgentCard,
  AgentInterface,
  OAuthFlows,
  SecurityRequirement,
  SecurityScheme,
} from '../card-model.ts';
import type { JsonObject } from '../model.ts';

/**
 * A card that clients of 0.3 and of 1.x can both read: the 1.x card with the fields of 0.3 beside them on
 * every level. A card without a 0.3 interface is returned unchanged.
 *
 * Readers of 0.3 don't see interfaces of other versions, tenants, the device-code flow and
 * `pkceRequired`.
 */
export function supersetCard(card: AgentCard): AgentCard {
  const interfaces = card.supportedInterfaces.filter((item) => item.protocolVersion === '0.3');
  const main = interfaces[0];
  if (main === undefined) return card;
  const { securitySchemes, securityRequirements } = card;
  const superset = {
    ...card,
    ...(securitySchemes && {
      securitySchemes: Object.fromEntries(
        Object.entries(securitySchemes).map(([name, scheme]) => [name, bothForms(scheme)]),
      ),
    }),
    skills: card.skills.map((skill) =>
      skill.securityRequirements === undefined
        ? skill
        : { ...skill, security: skill.securityRequirements.map(legacyRequirement) },
    ),
    protocolVersion: '0.3.0',
    url: main.url,
    preferredTransport: main.protocolBinding,
    additionalInterfaces: interfaces.map(legacyInterface),
    ...(securityRequirements && { security: securityRequirements.map(legacyRequirement) }),
    ...(card.capabilities.extendedAgentCard !== undefined && {
      supportsAuthenticatedExtendedCard: card.capabilities.extendedAgentCard,
    }),
  };
  return superset;
}

function legacyInterface(item: AgentInterface): JsonObject {
  return { url: item.url, transport: item.protocolBinding };
}

function legacyRequirement(requirement: SecurityRequirement): JsonObject {
  return Object.fromEntries(
    Object.entries(requirement.schemes).map(([name, scopes]) => [name, scopes.list]),
  );
}

function bothForms(scheme: SecurityScheme): SecurityScheme {
  return { ...scheme, ...legacyScheme(scheme) };
}

function legacyScheme(scheme: SecurityScheme): object {
  if ('apiKeySecurityScheme' in scheme) {
    const { location, ...rest } = scheme.apiKeySecurityScheme;
    return { type: 'apiKey', in: location, ...rest };
  }
  if ('httpAuthSecurityScheme' in scheme) {
    return { type: 'http', ...scheme.httpAuthSecurityScheme };
  }
  if ('oauth2SecurityScheme' in scheme) {
    const { flows, ...rest } = scheme.oauth2SecurityScheme;
    return { type: 'oauth2', flows: legacyFlows(flows), ...rest };
  }
  if ('openIdConnectSecurityScheme' in scheme) {
    return { type: 'openIdConnect', ...scheme.openIdConnectSecurityScheme };
  }
  return { type: 'mutualTLS', ...scheme.mtlsSecurityScheme };
}

/** 0.3 has neither the device-code flow nor `pkceRequired`. */
function legacyFlows(flows: OAuthFlows): object {
  if ('deviceCode' in flows) return {};
  if (!('authorizationCode' in flows)) return flows;
  const { pkceRequired: _, ...flow } = flows.authorizationCode;
  return { authorizationCode: flow };
}
