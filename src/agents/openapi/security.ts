import { isJsonObject, type JsonObject, LegateError } from '../../protocol/index.ts';
import { requireSecureTransport } from '../../mcp/index.ts';
import type { Credential } from '../tools/credentials.ts';
import type { Operation } from './operation.ts';
import type { SchemaResolver } from './resolve-schema.ts';
import type { ApiRequest } from './send.ts';

/** How a credential is put on a request. */
export interface Scheme {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly placement:
    | { readonly kind: 'bearer' }
    | { readonly kind: 'basic' }
    | {
        readonly kind: 'api-key';
        readonly location: 'header' | 'query' | 'cookie';
        readonly name: string;
      };
}

/**
 * The schemes that an operation needs: the first alternative with supported schemes only. An
 * alternative without schemes wins.
 */
export function schemesOf(
  operation: Operation,
  document: JsonObject,
  resolver: SchemaResolver,
): readonly Scheme[] {
  const { security, name } = operation;
  if (security.length === 0 || security.some((each) => Object.keys(each).length === 0)) return [];
  const components = isJsonObject(document['components']) ? document['components'] : {};
  const declared = isJsonObject(components['securitySchemes']) ? components['securitySchemes'] : {};
  for (const alternative of security) {
    const schemes = Object.entries(alternative).map(([scheme, scopes]) => {
      const found = Object.hasOwn(declared, scheme) ? resolver.follow(declared[scheme]) : undefined;
      const placement = found && placementOf(found);
      return placement && { name: scheme, scopes, placement };
    });
    if (schemes.every((each) => each !== undefined)) return schemes;
  }
  throw new LegateError(
    'CONFIGURATION_INVALID',
    `operation ${name} needs credentials of a kind that cannot be sent: use bearer, basic, an API key, OAuth 2 or OpenID Connect`,
  );
}

function placementOf(scheme: JsonObject): Scheme['placement'] | undefined {
  switch (scheme['type']) {
    case 'apiKey': {
      const { in: location, name } = scheme;
      if (location !== 'header' && location !== 'query' && location !== 'cookie') return undefined;
      return typeof name === 'string' ? { kind: 'api-key', location, name } : undefined;
    }
    case 'http': {
      const kind = typeof scheme['scheme'] === 'string' ? scheme['scheme'].toLowerCase() : '';
      return kind === 'bearer' || kind === 'basic' ? { kind } : undefined;
    }
    case 'oauth2':
    case 'openIdConnect':
      return { kind: 'bearer' };
    default:
      return undefined;
  }
}

/** Adds a credential to a request; refuses plain http to other machines. */
export function applyCredential(
  scheme: Scheme,
  credential: Credential,
  { url, headers }: Pick<ApiRequest, 'url' | 'headers'>,
): void {
  requireSecureTransport(url.href, `credentials for ${scheme.name}`);
  const { placement } = scheme;
  if (placement.kind === 'basic' && credential.type === 'basic') {
    const pair = Buffer.from(`${credential.username}:${credential.password}`).toString('base64');
    headers.set('Authorization', `Basic ${pair}`);
    return;
  }
  const secret =
    credential.type === 'bearer'
      ? credential.token
      : credential.type === 'api-key'
        ? credential.value
        : undefined;
  if (secret === undefined || placement.kind === 'basic') {
    throw new LegateError(
      'CONFIGURATION_INVALID',
      `the credential given for ${scheme.name} is of another kind than the API asks for (${placement.kind})`,
    );
  }
  if (placement.kind === 'bearer') headers.set('Authorization', `Bearer ${secret}`);
  else if (placement.location === 'header') headers.set(placement.name, secret);
  else if (placement.location === 'query') url.searchParams.set(placement.name, secret);
  else headers.append('Cookie', `${placement.name}=${encodeURIComponent(secret)}`);
}
