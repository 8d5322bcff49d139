import type { AgentCard, SecurityScheme } from '../../../src/protocol/index.ts';

/** A security scheme in words. */
export function securityWords(card: AgentCard | undefined): readonly string[] {
  return Object.values(card?.securitySchemes ?? {}).map(wordsOf);
}

function wordsOf(scheme: SecurityScheme): string {
  if ('apiKeySecurityScheme' in scheme) {
    const { name, location } = scheme.apiKeySecurityScheme;
    return `an API key, ${name} in the ${location}`;
  }
  if ('httpAuthSecurityScheme' in scheme) {
    const { scheme: name, bearerFormat } = scheme.httpAuthSecurityScheme;
    const format = bearerFormat === undefined ? '' : ` (${bearerFormat})`;
    return name.toLowerCase() === 'bearer' ? `a bearer token${format}` : `${name} authentication`;
  }
  if ('oauth2SecurityScheme' in scheme) return 'a bearer token of OAuth 2';
  if ('openIdConnectSecurityScheme' in scheme) return 'a bearer token of OpenID Connect';
  return 'a client certificate';
}
