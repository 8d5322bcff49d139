import { isObject, type Reader, requiredObject, type Wire } from '../decode/reader.ts';
import {
  optionalBoolean,
  optionalString,
  optionalText,
  requiredString,
} from '../decode/scalars.ts';
import { nested, object, type ObjectReader, orElse, snakeCase } from '../decode/table.ts';
import { optionalMap } from '../decode/values.ts';
import type { OAuthFlows, SecurityScheme } from '../card-model.ts';

/**
 * Security schemes in the form of 1.x (one member, named for the kind) and of 0.3 (a `type`). Cards of
 * either version use either form, and a superset card has both in one object.
 */

type Members<T> = T extends unknown ? keyof T : never;
/** The value of one member of a union whose members have one key each. */
type Inside<T, K extends Members<T>> = Extract<T, Record<K, unknown>>[K];
type Scheme<K extends Members<SecurityScheme>> = Inside<SecurityScheme, K>;
type Flow<K extends Members<OAuthFlows>> = Inside<OAuthFlows, K>;

const tokenUrl = requiredString;
const authorizationUrl = requiredString;
const common = { scopes: orElse(readScopes, {}), refreshUrl: optionalString };

/** In order of preference: the first flow keeps the name of its scheme. */
const flowReaders: { readonly [K in Members<OAuthFlows>]: ObjectReader<Flow<K>> } = {
  authorizationCode: object<Flow<'authorizationCode'>>({
    authorizationUrl,
    tokenUrl,
    ...common,
    pkceRequired: optionalBoolean,
  }),
  clientCredentials: object<Flow<'clientCredentials'>>({ tokenUrl, ...common }),
  deviceCode: object<Flow<'deviceCode'>>({
    deviceAuthorizationUrl: requiredString,
    tokenUrl,
    ...common,
  }),
  implicit: object<Flow<'implicit'>>({ authorizationUrl, ...common }),
  password: object<Flow<'password'>>({ tokenUrl, ...common }),
};

const description = optionalText;

/** By the member of 1.x: the `type` of 0.3, and the reader of the value. */
const schemeReaders = {
  apiKeySecurityScheme: {
    type: 'apiKey',
    read: object<Scheme<'apiKeySecurityScheme'>>({
      location: [readLocation, 'in'],
      name: requiredString,
      description,
    }),
  },
  httpAuthSecurityScheme: {
    type: 'http',
    read: object<Scheme<'httpAuthSecurityScheme'>>({
      scheme: requiredString,
      bearerFormat: optionalString,
      description,
    }),
  },
  oauth2SecurityScheme: {
    type: 'oauth2',
    read: object<Omit<Scheme<'oauth2SecurityScheme'>, 'flows'>>({
      oauth2MetadataUrl: optionalString,
      description,
    }),
  },
  openIdConnectSecurityScheme: {
    type: 'openIdConnect',
    read: object<Scheme<'openIdConnectSecurityScheme'>>({
      openIdConnectUrl: requiredString,
      description,
    }),
  },
  mtlsSecurityScheme: {
    type: 'mutualTLS',
    read: object<Scheme<'mtlsSecurityScheme'>>({ description }),
  },
};

const schemes = Object.entries(schemeReaders).map(([member, scheme]) => ({
  ...scheme,
  member,
  names: [member, snakeCase(member)],
}));

/** Reads one scheme of the wire. Returns one scheme for each OAuth flow, or none for an unknown kind. */
export function readSecurityScheme(reader: Reader, wire: Wire): readonly SecurityScheme[] {
  const inside = ({ names }: { names: readonly string[] }) =>
    names.map((name) => wire[name]).find(isObject);
  const found =
    schemes.find((each) => inside(each) !== undefined) ??
    schemes.find(({ type }) => type === wire.type);
  if (found === undefined) return [];
  const { member, type, read } = found;
  const fields = inside(found) ?? wire;
  const scheme = read(reader, fields);
  if (type !== 'oauth2') return [{ [member]: scheme } as SecurityScheme];
  const flows = requiredObject(reader, fields.flows, 'flows', readFlows);
  return flows.map((flow) => ({ oauth2SecurityScheme: { flows: flow, ...scheme } }));
}

function readFlows(reader: Reader, wire: Wire): readonly OAuthFlows[] {
  return Object.entries<ObjectReader<unknown>>(flowReaders).flatMap(([name, read]) => {
    const flow = nested(read)(reader, wire[name] ?? wire[snakeCase(name)], name);
    return flow === undefined ? [] : [{ [name]: flow } as OAuthFlows];
  });
}

function readLocation(reader: Reader, value: unknown, field: string) {
  if (value === 'query' || value === 'header' || value === 'cookie') return value;
  return reader.stop(field, 'must be query, header or cookie');
}

function readScopes(reader: Reader, value: unknown, field: string) {
  return optionalMap(reader, value, field, (inner, scope, name) => {
    if (typeof scope === 'string') return scope;
    inner.fail(name, 'must be a string');
    return undefined;
  });
}
