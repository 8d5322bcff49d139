import type { Field } from './field.ts';

/** An absolute http or https URL without credentials in it. */
export function readUrl(field: Field | undefined): string | undefined {
  const text = field?.name();
  if (field === undefined || text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    field.error('must be a URL that begins with http:// or https://');
    return undefined;
  }
  if (url.username === '' && url.password === '') return text;
  field.error('must not hold a user name or a password', 'configure authentication instead');
  return undefined;
}
