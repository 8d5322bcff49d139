import { suggest } from '../config/index.ts';
import { LegateError } from '../protocol/index.ts';

/** The names of all options of a type: the compiler reports a missing or a misspelt one. */
export type OptionNames<Options> = { readonly [Name in keyof Required<Options>]: true };

/**
 * Refuses unknown options, which TypeScript does not see in spread objects and JavaScript not at all.
 * @example checkOptions('agent "clerk"', options, optionNames);
 */
export function checkOptions(
  owner: string,
  options: object,
  names: Readonly<Record<string, true>>,
): void {
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(names, name));
  if (unknown === undefined) return;
  const known = Object.keys(names);
  const hint = suggest(unknown, known, `known are ${known.join(', ')}`);
  throw new LegateError(
    'CONFIGURATION_INVALID',
    `${owner}: unknown option "${unknown}"; ${hint ?? ''}`,
  );
}
