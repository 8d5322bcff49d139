import type { Field } from './field.ts';

/** A host, or `*.name` for all names below it. In lower case. */
export const allowedName = /^(?:\*\.)?[^*/:\s]+$|^\[[\da-f:.]+\]$/;

/**
 * Reads `allowed_names:`, a list of trusted hosts.
 * @example const names = readAllowedNames(jwtSection.get('allowed_names'));
 */
export function readAllowedNames(list: Field | undefined): readonly string[] {
  return (list?.list() ?? []).flatMap((field) => {
    const name = field.name()?.toLowerCase();
    if (name === undefined) return [];
    if (allowedName.test(name) && name !== '*.') return [name];
    field.error('must be a host name, or *.name for all names below it', 'no scheme, port or path');
    return [];
  });
}
