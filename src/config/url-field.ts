import type { Field } from './field.ts';

/** Reads an absolute http or https URL without credentials. */
export function readUrl(field: Field | undefined): string | undefined {
  const text = field?.name();
  // The unset variable has been reported; without it the URL is incomplete.
  if (field === undefined || text === undefined || field.isUnset) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    field.error('must be a URL that starts with http:// or https://');
    return undefined;
  }
  if (url.username === '' && url.password === '') return text;
  field.error('must not hold a user name or a password', 'configure authentication instead');
  return undefined;
}
