import { isObject, type Wire } from '../decode/reader.ts';
import { isUnset } from '../decode/scalars.ts';
import { isEncryptedOrLocal } from '../encrypted-or-local.ts';
import { agentCard, type Fields, legacyCard, securityScheme, type Type } from './card-type.ts';

/** One problem of a card, with its fix. */
export interface CardProblem {
  readonly level: 'error' | 'warning';
  /** As a path: `skills[0].tags`. */
  readonly path: string;
  readonly problem: string;
  readonly fix: string;
}

/** Bounds the report: further problems mostly repeat the first ones. */
const maxProblems = 100;
const maxItems = 1_000;

/**
 * Returns the problems of a raw card. Errors are values that `AgentCard` of the proto rejects
 * (specification 5.7) and URLs that clients cannot call. All other problems are warnings.
 */
export function cardProblems(card: unknown): readonly CardProblem[] {
  if (!isObject(card)) {
    return [error('', 'is not an object', 'answer with the card as a JSON object')];
  }
  const isLegacy = isLegacyCard(card);
  const found = [
    ...valueProblems(card, isLegacy ? legacyCard : agentCard, '', { allowsEmptyLists: isLegacy }),
    ...addresses(card),
    ...interfaces(card),
    ...extensions(card),
    ...modes(card),
    ...skills(card),
    ...security(card),
    ...extras(card),
  ];
  // Several checks can report the same path: the first report wins.
  return [...new Map(found.toReversed().map((one) => [one.path, one])).values()]
    .toReversed()
    .slice(0, maxProblems);
}

/** Whether a card is of 0.3 only. */
export function isLegacyCard(card: unknown): boolean {
  return isObject(card) && card['supportedInterfaces'] === undefined && isText(card['url']);
}

interface Strictness {
  /** Whether a required list may be empty: in 1.0 it has at least one element. */
  readonly allowsEmptyLists: boolean;
}

/** Reports values that ProtoJSON rejects, and missing required values. `null` is an absent field. */
function* valueProblems(
  value: unknown,
  type: Type,
  path: string,
  how: Strictness,
): Generator<CardProblem> {
  if (type === 'string' || type === 'bool') {
    const wanted = type === 'string' ? 'string' : 'boolean';
    if (typeof value !== wanted) yield error(path, `is not a ${wanted}`, `give a ${wanted}`);
  } else if (type !== 'struct' && 'list' in type) {
    if (!Array.isArray(value)) return yield error(path, 'is not a list', 'give a list');
    for (const [index, item] of value.slice(0, maxItems).entries()) {
      yield* valueProblems(item, type.list, `${path}[${index}]`, how);
    }
  } else if (!isObject(value)) {
    const inside =
      type === 'struct' || 'map' in type ? '' : ` with ${Object.keys(type.fields).join(', ')}`;
    yield error(path, 'is not an object', `give an object${inside}`);
  } else if (type !== 'struct' && 'map' in type) {
    for (const [name, item] of Object.entries(value).slice(0, maxItems)) {
      yield* valueProblems(item, type.map, `${path}.${name.slice(0, 80)}`, how);
    }
  } else if (type !== 'struct') yield* memberProblems(value, type, path, how);
  return undefined;
}

function* memberProblems(
  value: Wire,
  { fields, required, isClosed = false }: Fields,
  path: string,
  how: Strictness,
): Generator<CardProblem> {
  const placeOf = (name: string): string => (path === '' ? name : `${path}.${name.slice(0, 80)}`);
  for (const name of required) {
    const given = value[name];
    const fix = hints[name] ?? `give ${path === '' ? 'the card' : 'it'} a ${name}`;
    if (isUnset(given) || given === '') yield error(placeOf(name), 'is missing', fix);
    else if (Array.isArray(given) && given.length === 0 && !how.allowsEmptyLists) {
      yield error(placeOf(name), 'is empty', fix);
    }
  }
  for (const [name, item] of Object.entries(value).slice(0, maxItems)) {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (field === undefined && isClosed) {
      yield error(
        placeOf(name),
        'is not a member of a security requirement',
        'put it into schemes',
      );
    }
    if (field !== undefined && !isUnset(item)) {
      yield* valueProblems(item, field, placeOf(name), how);
    }
  }
}

const hints: Readonly<Record<string, string>> = {
  supportedInterfaces: 'list at least one interface',
  protocolBinding: 'use JSONRPC, HTTP+JSON or GRPC',
  protocolVersion: 'use for instance 1.0',
  capabilities: 'give an object, empty where there are none',
  defaultInputModes: 'list media types, for instance text/plain',
  defaultOutputModes: 'list media types, for instance text/plain',
  skills: 'list what the agent can do',
  tags: 'list at least one tag',
  provider: 'give it organization and url, or leave it out',
};

function* addresses(card: Wire): Generator<CardProblem> {
  const { provider } = card;
  const named = {
    documentationUrl: card['documentationUrl'],
    iconUrl: card['iconUrl'],
    'provider.url': isObject(provider) ? provider['url'] : undefined,
  };
  for (const [path, url] of Object.entries(named)) {
    if (!isUnset(url) && url !== '' && !isAddress(url)) {
      yield warning(path, 'is not a URL', 'give an absolute http or https URL, or leave it out');
    }
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
  for (const [index, one] of listOf(supportedInterfaces)) {
    const path = `supportedInterfaces[${index}]`;
    if (one['protocolBinding'] !== 'GRPC') {
      if (!isAddress(one['url'])) {
        yield error(`${path}.url`, 'is not an absolute URL', 'give the address that clients call');
      } else if (isExposed(String(one['url']))) {
        yield warning(
          `${path}.url`,
          'is unencrypted http to another machine',
          'serve https: tasks and credentials travel here',
        );
      }
    }
    if (!isVersion(one['protocolVersion'])) {
      yield warning(`${path}.protocolVersion`, 'is not Major.Minor', 'use for instance 1.0');
    }
  }
}

function* extensions({ capabilities }: Wire): Generator<CardProblem> {
  for (const [index, one] of listOf(isObject(capabilities) ? capabilities['extensions'] : [])) {
    if (isText(one['uri'])) continue;
    yield warning(`capabilities.extensions[${index}].uri`, 'is missing', 'name it by its uri');
  }
}

function* modes(card: Wire): Generator<CardProblem> {
  for (const name of ['defaultInputModes', 'defaultOutputModes']) {
    const given = card[name];
    if (!Array.isArray(given)) continue;
    if (given.some((mode) => typeof mode === 'string' && !/^[^\s/]+\/[^\s/]+$/.test(mode))) {
      yield warning(name, 'has an entry that is not a media type', 'write type/subtype');
    }
  }
}

function* skills(card: Wire): Generator<CardProblem> {
  const given = card['skills'];
  if (Array.isArray(given) && given.length === 0) {
    yield warning('skills', 'is empty', 'say what the agent can do');
  }
  const ids = new Set<unknown>();
  for (const [index, skill] of listOf(given)) {
    if (ids.has(skill['id'])) {
      yield warning(
        `skills[${index}].id`,
        'is the id of another skill',
        'give each skill an id of its own',
      );
    }
    ids.add(skill['id']);
  }
}

const schemeKinds = Object.keys(securityScheme.fields);

function* security(card: Wire): Generator<CardProblem> {
  const schemes = isObject(card['securitySchemes']) ? card['securitySchemes'] : {};
  const names = Object.keys(schemes);
  for (const name of names.slice(0, maxItems)) {
    const scheme = schemes[name];
    if (!isObject(scheme) || (isLegacyCard(card) && isText(scheme['type']))) continue;
    const path = `securitySchemes.${name.slice(0, 80)}`;
    const kinds = schemeKinds.filter((kind) => isObject(scheme[kind]));
    const fix = `give it one of ${schemeKinds.join(', ')}`;
    if (kinds.length === 0) yield warning(path, 'has no known kind', fix);
    else if (kinds.length > 1) yield error(path, `is ${kinds.join(' and ')} at once`, fix);
  }
  for (const [index, { schemes: wanted }] of listOf(card['securityRequirements'])) {
    for (const name of Object.keys(isObject(wanted) ? wanted : {})) {
      if (Object.hasOwn(schemes, name)) continue;
      yield warning(
        `securityRequirements[${index}]`,
        `names ${JSON.stringify(name.slice(0, 80))}, which securitySchemes does not declare`,
        'declare the scheme in securitySchemes',
      );
    }
  }
}

const known = new Set([...Object.keys(agentCard.fields), ...Object.keys(legacyCard.fields)]);

function* extras(card: Wire): Generator<CardProblem> {
  for (const name of Object.keys(card)) {
    if (known.has(name)) continue;
    const shown = name.slice(0, 80);
    yield warning(shown, 'is not a member of a card', 'use an extension for what is your own');
  }
}

/** The objects of a list with their indexes. The type check reports the other entries. */
function listOf(value: unknown): readonly (readonly [number, Wire])[] {
  const items: readonly unknown[] = Array.isArray(value) ? value.slice(0, maxItems) : [];
  return items.flatMap((item, index) => (isObject(item) ? [[index, item] as const] : []));
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
  return parsed?.protocol === 'http:' && !isEncryptedOrLocal(parsed);
}
