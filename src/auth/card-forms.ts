import { isJsonObject, type JsonObject, type JsonValue } from '../protocol/index.ts';

/**
 * A signature covers the card in canonical form. There are three readings of which fields that form
 * omits:
 *
 * - `specification` (8.4.1): keeps required fields and optional fields that are set; omits any other
 *   field with its default value, and every field that is not in the schema;
 * - `sdk`, like the official SDKs: omits every empty string, list and object as well;
 * - `raw`: omits nothing.
 *
 * A card without empty values is the same in all three.
 */
export const cardForms = ['specification', 'sdk', 'raw'] as const;
/**
 * The canonical form of a card that a signature covers.
 * @example const isLiteral = (form: CardForm) => form === 'raw';
 */
export type CardForm = (typeof cardForms)[number];

/** The signed part of the card, in one of the forms. */
export function cardForm(card: JsonObject, form: CardForm): JsonObject {
  const { signatures: _signatures, ...rest } = card;
  switch (form) {
    case 'specification':
      return withPresence(rest, agentCard);
    case 'sdk': {
      const left = withoutEmpty(withPresence(rest, agentCard));
      return isJsonObject(left) ? left : {};
    }
    case 'raw':
      return rest;
  }
}

/**
 * How a field behaves: `kept` fields stay when set, also with their default value (required and optional
 * fields, and whole messages); other fields are dropped while they have their default value.
 */
interface Field {
  readonly kept: boolean;
  /** The schema of an object, of the items of a list or of the values of a map. */
  readonly schema?: Schema;
  readonly isMap?: boolean;
}

type Schema = Readonly<Record<string, Field>>;

const kept: Field = { kept: true };
const plain: Field = { kept: false };

function message(schema: Schema): Field {
  return { kept: true, schema };
}

function list(schema: Schema, options: { readonly required: boolean }): Field {
  return { kept: options.required, schema };
}

function map(schema: Schema): Field {
  return { kept: false, schema, isMap: true };
}

const requirement: Schema = { schemes: map({ list: plain }) };

const oauthFlow: Schema = {
  authorizationUrl: kept,
  deviceAuthorizationUrl: kept,
  tokenUrl: kept,
  scopes: kept,
  refreshUrl: plain,
  pkceRequired: plain,
};
/** The two deprecated flows require nothing. */
const oldOauthFlow: Schema = {
  authorizationUrl: plain,
  tokenUrl: plain,
  scopes: plain,
  refreshUrl: plain,
};

const securityScheme: Schema = {
  apiKeySecurityScheme: message({ description: plain, location: kept, name: kept }),
  httpAuthSecurityScheme: message({ description: plain, scheme: kept, bearerFormat: plain }),
  oauth2SecurityScheme: message({
    description: plain,
    oauth2MetadataUrl: plain,
    flows: message({
      authorizationCode: message(oauthFlow),
      clientCredentials: message(oauthFlow),
      deviceCode: message(oauthFlow),
      implicit: message(oldOauthFlow),
      password: message(oldOauthFlow),
    }),
  }),
  openIdConnectSecurityScheme: message({ description: plain, openIdConnectUrl: kept }),
  mtlsSecurityScheme: message({ description: plain }),
};

const agentCard: Schema = {
  name: kept,
  description: kept,
  supportedInterfaces: list(
    { url: kept, protocolBinding: kept, tenant: plain, protocolVersion: kept },
    { required: true },
  ),
  provider: message({ url: kept, organization: kept }),
  version: kept,
  documentationUrl: kept,
  capabilities: message({
    streaming: kept,
    pushNotifications: kept,
    extendedAgentCard: kept,
    extensions: list(
      { uri: plain, description: plain, required: plain, params: kept },
      { required: false },
    ),
  }),
  securitySchemes: map(securityScheme),
  securityRequirements: list(requirement, { required: false }),
  defaultInputModes: kept,
  defaultOutputModes: kept,
  skills: list(
    {
      id: kept,
      name: kept,
      description: kept,
      tags: kept,
      examples: plain,
      inputModes: plain,
      outputModes: plain,
      securityRequirements: list(requirement, { required: false }),
    },
    { required: true },
  ),
  iconUrl: kept,
};

function withPresence(value: JsonObject, schema: Schema): JsonObject {
  const members: [string, JsonValue][] = [];
  for (const [name, field] of Object.entries(schema)) {
    const member = Object.hasOwn(value, name) ? value[name] : undefined;
    // On the wire, null is the same as absent.
    if (member === undefined || member === null) continue;
    if (!field.kept && isDefault(member)) continue;
    members.push([name, apply(member, field)]);
  }
  return Object.fromEntries(members);
}

function apply(member: JsonValue, { schema, isMap = false }: Field): JsonValue {
  if (schema === undefined) return member;
  if (Array.isArray(member))
    return member.map((item: JsonValue) => apply(item, { kept: true, schema }));
  if (!isJsonObject(member)) return member;
  if (!isMap) return withPresence(member, schema);
  const entries = Object.entries(member).map(([key, entry]): [string, JsonValue] => [
    key,
    apply(entry, { kept: true, schema }),
  ]);
  return Object.fromEntries(entries);
}

function isDefault(value: JsonValue): boolean {
  return value === '' || value === false || value === 0 || isEmptyContainer(value);
}

/** Undefined when nothing is left. */
function withoutEmpty(value: JsonValue): JsonValue | undefined {
  if (value === '' || value === null) return undefined;
  if (Array.isArray(value)) {
    const items = value.map(withoutEmpty).filter((item) => item !== undefined);
    return items.length === 0 ? undefined : items;
  }
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value)
    .map(([name, member]) => [name, withoutEmpty(member)] as const)
    .filter((entry): entry is readonly [string, JsonValue] => entry[1] !== undefined);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function isEmptyContainer(value: JsonValue): boolean {
  if (Array.isArray(value)) return value.length === 0;
  return isJsonObject(value) && Object.keys(value).length === 0;
}
