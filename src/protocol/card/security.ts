import { boundedList, isObject, type Reader, type Wire } from '../decode/reader.ts';
import { isUnset, optionalStrings } from '../decode/scalars.ts';
import { optionalMap } from '../decode/values.ts';
import type { SecurityRequirement, SecurityScheme } from '../card-model.ts';
import { readSecurityScheme } from './security-schemes.ts';

export interface SecuritySchemes {
  readonly schemes: { readonly [name: string]: SecurityScheme } | undefined;
  /** By the name of a scheme that was split: the names of the resulting schemes, the original first. */
  readonly pieces: ReadonlyMap<string, readonly string[]>;
}

/**
 * Reads the named schemes of a card. A scheme of the model has one OAuth flow, a scheme of 0.3 can have
 * several. Such a scheme is split: the first flow keeps the name, the others append the name of their
 * flow.
 */
export function readSecuritySchemes(reader: Reader, value: unknown): SecuritySchemes {
  const pieces = new Map<string, readonly string[]>();
  const read = optionalMap(reader, value, 'securitySchemes', (inner, item, name) => {
    if (!isObject(item)) {
      inner.fail(name, 'must be an object');
      return undefined;
    }
    inner.enter(name);
    const schemes = readSecurityScheme(inner, item);
    inner.leave();
    return schemes;
  });
  if (read === undefined) return { schemes: undefined, pieces };

  const schemes: { [name: string]: SecurityScheme } = {};
  for (const [name, list] of Object.entries(read)) {
    if (list[0] !== undefined) schemes[name] = list[0];
  }
  for (const [name, list] of Object.entries(read)) {
    if (list.length < 2) continue;
    const names = [name];
    for (const scheme of list.slice(1)) {
      const flow = 'oauth2SecurityScheme' in scheme ? scheme.oauth2SecurityScheme.flows : {};
      let own = `${name}_${Object.keys(flow)[0]}`;
      while (Object.hasOwn(schemes, own)) own += '_';
      schemes[own] = scheme;
      names.push(own);
    }
    pieces.set(name, names);
  }
  return { schemes, pieces };
}

/**
 * Beyond these counts, requirements name only the first flow of a split scheme: alternatives of one list,
 * and names in the alternatives of one requirement. A small card could otherwise cause a large model.
 */
const maxAlternatives = 64;
const maxNames = 256;

/**
 * Requirements in the form of 1.x, `{ schemes: { name: { list } } }`, or of 0.3, `{ name: [scope] }`.
 * Each of the schemes that a scheme was split into satisfies the requirement.
 */
export function readSecurityRequirements(
  reader: Reader,
  value: unknown,
  field: string,
  { pieces }: Pick<SecuritySchemes, 'pieces'>,
): readonly SecurityRequirement[] | undefined {
  const requirements = boundedList(reader, value, field, readRequirement);
  if (requirements === undefined || pieces.size === 0) return requirements;
  const alternatives: SecurityRequirement[] = [];
  for (const requirement of requirements) {
    const names = Object.keys(requirement.schemes).length;
    const limit = Math.min(maxAlternatives - alternatives.length, Math.floor(maxNames / names));
    alternatives.push(...alternativesOf(requirement, pieces, limit));
  }
  return alternatives;
}

function readRequirement(reader: Reader, wire: Wire): SecurityRequirement {
  // In 0.3 a scheme can itself be called "schemes": then its value is a list of scopes.
  const isWrapped = isObject(wire.schemes);
  if (isWrapped) return { schemes: optionalMap(reader, wire.schemes, 'schemes', readScopes) ?? {} };
  return { schemes: optionalMap(reader, wire, '', readScopes) ?? {} };
}

function readScopes(reader: Reader, value: unknown, name: string) {
  const list = isObject(value) ? value.list : value;
  return { list: isUnset(list) ? [] : (optionalStrings(reader, list, name) ?? []) };
}

function alternativesOf(
  requirement: SecurityRequirement,
  pieces: SecuritySchemes['pieces'],
  limit: number,
): readonly SecurityRequirement[] {
  // With one alternative, each split scheme keeps its name, which is that of its first flow.
  if (limit < 2) return [requirement];
  const fixed: { [name: string]: { readonly list: readonly string[] } } = {};
  let alternatives: (typeof fixed)[] = [{}];
  for (const [name, scopes] of Object.entries(requirement.schemes)) {
    const names = pieces.get(name);
    if (names === undefined || alternatives.length * names.length > limit) fixed[name] = scopes;
    else {
      alternatives = names.flatMap((piece) =>
        alternatives.map((alternative) => ({ ...alternative, [piece]: scopes })),
      );
    }
  }
  return alternatives.map((split) => ({ schemes: { ...split, ...fixed } }));
}
