import { isObject, type Wire } from '../decode/reader.ts';
import { isUnset } from '../decode/scalars.ts';

/** One thing that is not as it should be, and how to fix it. */
export interface CardProblem {
  readonly level: 'error' | 'warning';
  /** As a path: `skills[0].tags`. */
  readonly path: string;
  readonly problem: string;
  readonly fix: string;
}

/** What a card of 1.0 may hold, and what 0.3 readers find beside it. */
const known = new Set([
  'name',
  'description',
  'supportedInterfaces',
  'provider',
  'version',
  'documentationUrl',
  'capabilities',
  'securitySchemes',
  'securityRequirements',
  'defaultInputModes',
  'defaultOutputModes',
  'skills',
  'signatures',
  'iconUrl',
  'url',
  'protocolVersion',
  'preferredTransport',
  'additionalInterfaces',
  'security',
  'supportsAuthenticatedExtendedCard',
]);

/** Problems beyond these would only repeat each other. */
const maxProblems = 100;
const maxItems = 1_000;

/** Everything that is wrong with a card as it came (specification 4.4, 8). */
export function cardProblems(card: unknown): readonly CardProblem[] {
  if (!isObject(card)) {
    return [error('', 'is not an object', 'answer with the card as a JSON object')];
  }
  const found = [
    ...(isLegacyCard(card) ? [] : types(card, agentCard, '')),
    ...texts(card),
    ...interfaces(card),
    ...capabilities(card),
    ...modes(card),
    ...skills(card),
    ...security(card),
    ...extras(card),
  ];
  // What is wrong with a member is said once, by the first that finds it.
  return [...new Map(found.toReversed().map((one) => [one.path, one])).values()]
    .toReversed()
    .slice(0, maxProblems);
}

/** Whether a card is of 0.3 alone. */
export function isLegacyCard(card: unknown): boolean {
  return isObject(card) && card['supportedInterfaces'] === undefined && isText(card['url']);
}

/** How the proto types a value: `[]` is the type of the items of a list, `*` that of the values of a map. */
type Type = 'string' | 'bool' | 'object' | { readonly [field: string]: Type };

const strings = list('string');
const flow = { tokenUrl: 'string', refreshUrl: 'string', scopes: { '*': 'string' } } as const;
const requirement = { schemes: { '*': { list: strings } } } as const;

/** `AgentCard` of a2a.proto. */
const agentCard: Type = {
  name: 'string',
  description: 'string',
  supportedInterfaces: list({
    url: 'string',
    protocolBinding: 'string',
    tenant: 'string',
    protocolVersion: 'string',
  }),
  provider: { url: 'string', organization: 'string' },
  version: 'string',
  documentationUrl: 'string',
  capabilities: {
    streaming: 'bool',
    pushNotifications: 'bool',
    extendedAgentCard: 'bool',
    extensions: list({ uri: 'string', description: 'string', required: 'bool', params: 'object' }),
  },
  securitySchemes: {
    '*': {
      apiKeySecurityScheme: { description: 'string', location: 'string', name: 'string' },
      httpAuthSecurityScheme: { description: 'string', scheme: 'string', bearerFormat: 'string' },
      oauth2SecurityScheme: {
        description: 'string',
        oauth2MetadataUrl: 'string',
        flows: {
          authorizationCode: { ...flow, authorizationUrl: 'string', pkceRequired: 'bool' },
          clientCredentials: flow,
          implicit: { ...flow, authorizationUrl: 'string' },
          password: flow,
          deviceCode: { ...flow, deviceAuthorizationUrl: 'string' },
        },
      },
      openIdConnectSecurityScheme: { description: 'string', openIdConnectUrl: 'string' },
      mtlsSecurityScheme: { description: 'string' },
    },
  },
  securityRequirements: list(requirement),
  defaultInputModes: strings,
  defaultOutputModes: strings,
  skills: list({
    id: 'string',
    name: 'string',
    description: 'string',
    tags: strings,
    examples: strings,
    inputModes: strings,
    outputModes: strings,
    securityRequirements: list(requirement),
  }),
  signatures: list({ protected: 'string', signature: 'string', header: 'object' }),
  iconUrl: 'string',
};

function list(item: Type): Type {
  return { '[]': item };
}

/** Values that ProtoJSON does not accept; null is an absent field. */
function* types(value: unknown, type: Type, path: string): Generator<CardProblem> {
  if (value === undefined || value === null) return;
  if (type === 'string' || type === 'bool') {
    const wanted = type === 'string' ? 'string' : 'boolean';
    if (typeof value !== wanted) yield error(path, `is not a ${wanted}`, `give a ${wanted}`);
  } else if (type !== 'object' && type['[]'] !== undefined) {
    if (!Array.isArray(value)) return yield error(path, 'is not a list', 'give a list');
    for (const [index, item] of value.slice(0, maxItems).entries()) {
      yield* types(item, type['[]'], `${path}[${index}]`);
    }
  } else if (!isObject(value)) {
    const inside = type === 'object' ? '' : ` with ${Object.keys(type).join(', ')}`;
    const fix = inside.endsWith('*') ? 'give an object' : `give an object${inside}`;
    yield error(path, 'is not an object', fix);
  } else if (type !== 'object') {
    for (const [name, item] of Object.entries(value).slice(0, maxItems)) {
      const field = type['*'] ?? type[name];
      const place = path === '' ? name : `${path}.${name.slice(0, 80)}`;
      if (field !== undefined) yield* types(item, field, place);
      // Members of the card itself and of its schemes may be those of 0.3.
      else if (type === requirement) {
        yield error(place, 'is not a member of a security requirement', 'put it into schemes');
      }
    }
  }
  return undefined;
}

function* texts(card: Wire): Generator<CardProblem> {
  for (const name of ['name', 'description', 'version']) {
    if (!isText(card[name])) yield error(name, 'is missing', `give the card a ${name}`);
  }
  for (const name of ['documentationUrl', 'iconUrl']) {
    if (!isUnset(card[name]) && !isAddress(card[name])) {
      yield warning(name, 'is not a URL', 'give an absolute http or https URL, or leave it out');
    }
  }
  const { provider } = card;
  if (isUnset(provider)) return;
  if (!isObject(provider) || !isText(provider['organization']) || !isAddress(provider['url'])) {
    yield error('provider', 'is incomplete', 'give it organization and url, or leave it out');
  }
}

function* interfaces(card: Wire): Generator<CardProblem> {
  const { supportedInterfaces, url } = card;
  if (isLegacyCard(card)) {
    if (!isAddress(url)) yield error('url', 'is not a URL', 'give an absolute http or https URL');
    yield warning(
      'supportedInterfaces',
      'is missing: the card is of 0.3 alone',
      'list the interfaces of 1.0, so that newer clients can call',
    );
    return;
  }
  if (!Array.isArray(supportedInterfaces) || supportedInterfaces.length === 0) {
    yield error('supportedInterfaces', 'is missing or empty', 'list at least one interface');
    return;
  }
  for (const [index, one] of supportedInterfaces.slice(0, maxItems).entries()) {
    const path = `supportedInterfaces[${index}]`;
    if (!isObject(one)) {
      yield error(path, 'is not an object', 'give url, protocolBinding and protocolVersion');
      continue;
    }
    const isGrpc = one['protocolBinding'] === 'GRPC';
    if (!isText(one['url']) || (!isGrpc && !isAddress(one['url']))) {
      yield error(`${path}.url`, 'is not an absolute URL', 'give the address that clients call');
    } else if (!isGrpc && isExposed(String(one['url']))) {
      yield warning(
        `${path}.url`,
        'is plain http beyond this machine',
        'serve https: tasks and credentials travel here',
      );
    }
    if (!isText(one['protocolBinding'])) {
      yield error(`${path}.protocolBinding`, 'is missing', 'say JSONRPC, HTTP+JSON or GRPC');
    }
    if (!isText(one['protocolVersion'])) {
      yield error(`${path}.protocolVersion`, 'is missing', 'say for instance 1.0');
    } else if (!isVersion(one['protocolVersion'])) {
      yield warning(`${path}.protocolVersion`, 'is not Major.Minor', 'say for instance 1.0');
    }
  }
}

function* capabilities(card: Wire): Generator<CardProblem> {
  const given = card['capabilities'];
  if (!isObject(given)) {
    yield error('capabilities', 'is missing', 'give an object, empty where there are none');
    return;
  }
  const { extensions } = given;
  if (extensions === undefined) return;
  if (
    !Array.isArray(extensions) ||
    extensions.some((one) => !isObject(one) || !isText(one['uri']))
  ) {
    yield error('capabilities.extensions', 'has an entry without uri', 'name each by its uri');
  }
}

function* modes(card: Wire): Generator<CardProblem> {
  for (const name of ['defaultInputModes', 'defaultOutputModes']) {
    const given = card[name];
    if (!Array.isArray(given) || given.length === 0) {
      yield error(name, 'is missing or empty', 'list media types, for instance text/plain');
    } else if (
      !given.every((mode) => typeof mode === 'string' && /^[^\s/]+\/[^\s/]+$/.test(mode))
    ) {
      yield warning(name, 'has an entry that is not a media type', 'write type/subtype');
    }
  }
}

function* skills(card: Wire): Generator<CardProblem> {
  const given = card['skills'];
  if (!Array.isArray(given)) {
    yield error('skills', 'is missing', 'list what the agent can do');
    return;
  }
  if (given.length === 0) yield warning('skills', 'is empty', 'say what the agent can do');
  const ids = new Set<unknown>();
  for (const [index, skill] of given.slice(0, maxItems).entries()) {
    const path = `skills[${index}]`;
    if (!isObject(skill)) {
      yield error(path, 'is not an object', 'give id, name, description and tags');
      continue;
    }
    for (const name of ['id', 'name', 'description']) {
      if (!isText(skill[name])) yield error(`${path}.${name}`, 'is missing', `give it a ${name}`);
    }
    if (!Array.isArray(skill['tags'])) yield error(`${path}.tags`, 'is missing', 'give a list');
    if (ids.has(skill['id'])) {
      yield warning(`${path}.id`, 'is the id of another skill', 'give each skill an id of its own');
    }
    ids.add(skill['id']);
  }
}

const schemeKinds = [
  'apiKeySecurityScheme',
  'httpAuthSecurityScheme',
  'oauth2SecurityScheme',
  'openIdConnectSecurityScheme',
  'mtlsSecurityScheme',
];

function* security(card: Wire): Generator<CardProblem> {
  const schemes = card['securitySchemes'];
  if (schemes !== undefined && !isObject(schemes)) {
    yield error('securitySchemes', 'is not an object', 'name each scheme');
    return;
  }
  const names = Object.keys(schemes ?? {});
  for (const name of names.slice(0, maxItems)) {
    const scheme: unknown = schemes?.[name];
    const isOld = isLegacyCard(card) && isObject(scheme) && isText(scheme['type']);
    const kinds = isObject(scheme) ? schemeKinds.filter((kind) => isObject(scheme[kind])) : [];
    if (isOld || kinds.length === 1) continue;
    yield error(
      `securitySchemes.${name}`,
      'has no known kind',
      `give it one of ${schemeKinds.join(', ')}`,
    );
  }
  const requirements = card['securityRequirements'] ?? [];
  for (const [index, one] of (Array.isArray(requirements) ? requirements : []).entries()) {
    const wanted: unknown = isObject(one) ? one['schemes'] : undefined;
    for (const name of Object.keys(isObject(wanted) ? wanted : {})) {
      if (names.includes(name)) continue;
      yield warning(
        `securityRequirements[${index}]`,
        `names ${JSON.stringify(name.slice(0, 80))}, which no scheme has`,
        'declare the scheme in securitySchemes',
      );
    }
  }
}

function* extras(card: Wire): Generator<CardProblem> {
  for (const name of Object.keys(card)) {
    if (known.has(name)) continue;
    const shown = name.slice(0, 80);
    yield warning(shown, 'is not a member of a card', 'use an extension for what is your own');
  }
}

function error(path: string, problem: string, fix: string): CardProblem {
  return { level: 'error', path, problem, fix };
}

function warning(path: string, problem: string, fix: string): CardProblem {
  return { level: 'warning', path, problem, fix };
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== '';
}

function isVersion(value: unknown): boolean {
  return typeof value === 'string' && /^\d+\.\d+$/.test(value);
}

function isAddress(value: unknown): boolean {
  return typeof value === 'string' && /^https?:$/.test(URL.parse(value)?.protocol ?? '');
}

function isExposed(url: string): boolean {
  const parsed = URL.parse(url);
  return (
    parsed?.protocol === 'http:' &&
    !/^(?:localhost|\[::1\]|127\.\d+\.\d+\.\d+)$/.test(parsed.hostname)
  );
}
