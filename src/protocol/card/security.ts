import { isObject, optionalList, type Reader, type Wire } from '../decode/reader.ts';
import { isUnset, optionalStrings } from '../decode/scalars.ts';
import { optionalMap } from '../decode/values.ts';
import type { SecurityRequirement, SecurityScheme } from '../card-model.ts';
import { readSecurityScheme } from './security-schemes.ts';

export interface SecuritySchemes {
  readonly schemes: { readonly [name: string]: SecurityScheme } | undefined;
  /** By the name of a scheme that was split: the names of all its pieces, its own first. */
  readonly pieces: ReadonlyMap<string, readonly string[]>;
}

/**
 * The named schemes of a card. The model has one OAuth flow to a scheme, 0.3 several: such a scheme
 * becomes several, of which the first keeps the name and the others add that of their flow.
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

/** Beyond this many alternatives a requirement of split schemes is not spelled out any further. */
const maxAlternatives = 64;

/**
 * Requirements in the form of 1.x, `{ schemes: { name: { list } } }`, or of 0.3, `{ name: [scope] }`.
 * Where a scheme was split, each of its pieces satisfies the requirement.
 */
export function readSecurityRequirements(
  reader: Reader,
  value: unknown,
  field: string,
  { pieces }: Pick<SecuritySchemes, 'pieces'>,
): readonly SecurityRequirement[] | undefined {
  const requirements = optionalList(reader, value, field, readRequirement);
  if (requirements === undefined || pieces.size === 0) return requirements;
  return requirements.flatMap((requirement) => alternativesOf(requirement, pieces));
}

function readRequirement(reader: Reader, wire: Wire): SecurityRequirement {
  // In 0.3 a scheme may itself be called "schemes": then it has a list of scopes.
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
): readonly SecurityRequirement[] {
  let alternatives: { [name: string]: { readonly list: readonly string[] } }[] = [{}];
  for (const [name, scopes] of Object.entries(requirement.schemes)) {
    const names = pieces.get(name) ?? [name];
    const usable = alternatives.length * names.length > maxAlternatives ? [name] : names;
    alternatives = usable.flatMap((piece) =>
      alternatives.map((alternative) => ({ ...alternative, [piece]: scopes })),
    );
  }
  return alternatives.map((schemes) => ({ schemes }));
}
