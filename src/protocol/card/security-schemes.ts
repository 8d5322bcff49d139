import { optionalObject, type Reader, requiredObject, type Wire } from '../decode/reader.ts';
import {
  optionalBoolean,
  optionalString,
  optionalText,
  requiredString,
} from '../decode/scalars.ts';
import { optionalMap } from '../decode/values.ts';
import type { OAuthFlows, SecurityScheme } from '../card-model.ts';

/**
 * Security schemes as 1.x writes them (one member, named for the kind) and as 0.3 does (a `type`).
 * Cards of either version come in either form, and a superset card has both in one object.
 */

/** One scheme of the wire: several of the model when it has several OAuth flows, none when unknown. */
export function readSecurityScheme(reader: Reader, wire: Wire): readonly SecurityScheme[] {
  const member = memberOf(wire);
  if (member === undefined) return [];
  const fields = member.wire;
  switch (member.kind) {
    case 'apiKey':
      return [{ apiKeySecurityScheme: readApiKey(reader, fields) }];
    case 'http':
      return [{ httpAuthSecurityScheme: readHttpAuth(reader, fields) }];
    case 'oauth2':
      return readOAuth2(reader, fields);
    case 'openIdConnect': {
      const url = fields.openIdConnectUrl ?? fields.open_id_connect_url;
      const openIdConnectUrl = requiredString(reader, url, 'openIdConnectUrl');
      return [{ openIdConnectSecurityScheme: { openIdConnectUrl, ...described(reader, fields) } }];
    }
    case 'mutualTLS':
      return [{ mtlsSecurityScheme: described(reader, fields) }];
  }
}

const kinds = {
  apiKeySecurityScheme: 'apiKey',
  api_key_security_scheme: 'apiKey',
  httpAuthSecurityScheme: 'http',
  http_auth_security_scheme: 'http',
  oauth2SecurityScheme: 'oauth2',
  oauth2_security_scheme: 'oauth2',
  openIdConnectSecurityScheme: 'openIdConnect',
  open_id_connect_security_scheme: 'openIdConnect',
  mtlsSecurityScheme: 'mutualTLS',
  mtls_security_scheme: 'mutualTLS',
} as const;
type SchemeKind = (typeof kinds)[keyof typeof kinds];

function memberOf(wire: Wire): { readonly kind: SchemeKind; readonly wire: Wire } | undefined {
  for (const [name, kind] of Object.entries(kinds)) {
    const fields = wire[name];
    if (typeof fields === 'object' && fields !== null) return { kind, wire: fields as Wire };
  }
  const kind = Object.values(kinds).find((known) => known === wire.type);
  return kind === undefined ? undefined : { kind, wire };
}

function described(reader: Reader, wire: Wire): { readonly description?: string } {
  const description = optionalText(reader, wire.description, 'description');
  return description === undefined ? {} : { description };
}

function readApiKey(reader: Reader, wire: Wire) {
  const location = wire.location ?? wire.in;
  if (location !== 'query' && location !== 'header' && location !== 'cookie') {
    return reader.stop('location', 'must be query, header or cookie');
  }
  const name = requiredString(reader, wire.name, 'name');
  return { location, name, ...described(reader, wire) } as const;
}

function readHttpAuth(reader: Reader, wire: Wire) {
  const format = optionalString(reader, wire.bearerFormat ?? wire.bearer_format, 'bearerFormat');
  return {
    scheme: requiredString(reader, wire.scheme, 'scheme'),
    ...(format === undefined ? {} : { bearerFormat: format }),
    ...described(reader, wire),
  };
}

function readOAuth2(reader: Reader, wire: Wire): readonly SecurityScheme[] {
  const metadata = wire.oauth2MetadataUrl ?? wire.oauth2_metadata_url;
  const url = optionalString(reader, metadata, 'oauth2MetadataUrl');
  return requiredObject(reader, wire.flows, 'flows', readFlows).map((flows) => ({
    oauth2SecurityScheme: {
      flows,
      ...(url === undefined ? {} : { oauth2MetadataUrl: url }),
      ...described(reader, wire),
    },
  }));
}

/** In the order of preference: the first flow keeps the name of its scheme. */
function readFlows(reader: Reader, wire: Wire): readonly OAuthFlows[] {
  const flows: OAuthFlows[] = [];
  const add = (value: unknown, name: string, read: (inner: Reader, flow: Wire) => OAuthFlows) => {
    const flow = optionalObject(reader, value, name, read);
    if (flow !== undefined) flows.push(flow);
  };
  add(wire.authorizationCode ?? wire.authorization_code, 'authorizationCode', (inner, flow) => {
    const pkce = optionalBoolean(inner, flow.pkceRequired ?? flow.pkce_required, 'pkceRequired');
    return {
      authorizationCode: {
        authorizationUrl: authorizationUrl(inner, flow),
        tokenUrl: tokenUrl(inner, flow),
        ...common(inner, flow),
        ...(pkce === undefined ? {} : { pkceRequired: pkce }),
      },
    };
  });
  add(wire.clientCredentials ?? wire.client_credentials, 'clientCredentials', (inner, flow) => ({
    clientCredentials: { tokenUrl: tokenUrl(inner, flow), ...common(inner, flow) },
  }));
  add(wire.deviceCode ?? wire.device_code, 'deviceCode', (inner, flow) => {
    const url = flow.deviceAuthorizationUrl ?? flow.device_authorization_url;
    return {
      deviceCode: {
        deviceAuthorizationUrl: requiredString(inner, url, 'deviceAuthorizationUrl'),
        tokenUrl: tokenUrl(inner, flow),
        ...common(inner, flow),
      },
    };
  });
  add(wire.implicit, 'implicit', (inner, flow) => ({
    implicit: { authorizationUrl: authorizationUrl(inner, flow), ...common(inner, flow) },
  }));
  add(wire.password, 'password', (inner, flow) => ({
    password: { tokenUrl: tokenUrl(inner, flow), ...common(inner, flow) },
  }));
  return flows;
}

function authorizationUrl(reader: Reader, flow: Wire): string {
  return requiredString(
    reader,
    flow.authorizationUrl ?? flow.authorization_url,
    'authorizationUrl',
  );
}

function tokenUrl(reader: Reader, flow: Wire): string {
  return requiredString(reader, flow.tokenUrl ?? flow.token_url, 'tokenUrl');
}

function common(reader: Reader, flow: Wire) {
  const refreshUrl = optionalString(reader, flow.refreshUrl ?? flow.refresh_url, 'refreshUrl');
  const scopes = optionalMap(reader, flow.scopes, 'scopes', (inner, value, name) => {
    if (typeof value === 'string') return value;
    inner.fail(name, 'must be a string');
    return undefined;
  });
  return { scopes: scopes ?? {}, ...(refreshUrl === undefined ? {} : { refreshUrl }) };
}
